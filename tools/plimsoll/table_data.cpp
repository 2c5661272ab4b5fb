#include "table_data.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/data/program_ops.h>
#include <plimsoll/data/records.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/shape_ops.h>

#include "record_source.h"
#include "wide_rows.h"

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;
using data::Dataset;
using data::Feature;
using data::Features;
using data::Symbolic;

constexpr double kTrainingShare = 0.9;
/// Fewer rows are all for training.
constexpr std::int64_t kLeastRows = 20;
/// Bytes at the beginning of a table that say how it is written.
constexpr std::size_t kHead = 65536;
/// Rows that are looked at in one go.
constexpr std::int64_t kLookedAt = 1024;

/// What each column takes of the process's own heap: its name and type in the stages, its values in
/// rows on their way. Measured: 1.1 KiB of 20,000. The first are part of what a process may take
/// beside its budget.
constexpr Bytes kBytesPerColumn = 1280;
constexpr std::size_t kColumnsNotCharged = 4096;

bool is_label_name(const std::string& name) {
  return name == "label" || name == "class" || name == "target" || name == "y";
}

bool is_number(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\"");
  if (first == std::string_view::npos) return false;
  text = text.substr(first, text.find_last_not_of(" \t\r\"") + 1 - first);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.begin(), text.end(), value);
  return error == std::errc() && stop == text.end();
}

/// Which cells of a row are numbers.
std::vector<bool> numbers_in(const std::string& row) {
  std::vector<bool> result;
  std::istringstream fields(row);
  for (std::string field; std::getline(fields, field, ',');) result.push_back(is_number(field));
  return result;
}

/// Throws for what looks like a table to its user and is none that can be read: a pipe, which
/// gives its rows only once, UTF-16, and rows that end as those of old Macs do.
void check_text(const std::string& path) {
  const std::string first = data::Shards(path).files().front();
  std::error_code error;
  if (fs::exists(first, error) && !fs::is_regular_file(first, error)) {
    throw InvalidArgument(
        fmt::format("--data {}: not a regular file; write the table to one", printable(first)));
  }
  std::ifstream file(first, std::ios::binary);
  std::string head(kHead, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) {
    throw DataError(
        fmt::format("--data {}: it is encoded as UTF-16; save it as UTF-8", printable(first)));
  }
  if (head.find('\r') != std::string::npos && head.find('\n') == std::string::npos) {
    throw DataError(fmt::format(
        "--data {}: its lines end with a carriage return alone; save it with line feeds (\\n)",
        printable(first)));
  }
}

/// Whether the first row has names. One of numbers alone is taken for data, and so is one that has
/// its numbers where the second has them.
bool has_header(const std::string& path) {
  std::ifstream file(data::Shards(path).files().front());
  std::string row;
  std::getline(file, row);
  const std::vector<bool> first = numbers_in(row);
  if (std::find(first.begin(), first.end(), false) == first.end()) return row.empty();
  const bool some = std::find(first.begin(), first.end(), true) != first.end();
  return !some || !std::getline(file, row) || numbers_in(row) != first;
}

/// Reads all of a table and gives each batch of labels to `look`. DataError naming the cell that is
/// no number.
template <typename Look>
void look_at_labels(const Dataset& rows, const Look& look) {
  try {
    data::Pipeline pipeline(rows.batch(kLookedAt), Device::open("cpu:0"), {});
    while (const auto batch = pipeline.next()) look(batch->at(1).tensor());
  } catch (const DataError& error) {
    throw DataError(
        fmt::format("--data: {}; in a table no cell is empty, features are numbers, and the label "
                    "is a whole number from 0 on, a number with a fraction, or a name",
                    error.what()));
  }
}

std::int64_t elements_of(const Feature& column) {
  return Shape(std::span<const std::int64_t>(*column.spec.dims)).elements();
}

/// The numbers of a row as one vector.
Symbolic row_of(const Features& columns, const data::Symbolics& in, std::size_t label) {
  const bool scalars = std::all_of(columns.begin(), columns.end(),
                                   [](const Feature& each) { return each.spec.dims->empty(); });
  std::vector<Symbolic> numbers;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (i == label) continue;
    const Symbolic number = data::cast(in[i], DType::f32);
    numbers.push_back(scalars ? number : data::reshape(number, {elements_of(columns[i])}));
  }
  return scalars ? data::stack(numbers) : data::concat(numbers, 0);
}

/// The table that `open` reads with columns of the types it is given: those of CSV files may be
/// asked for as others than they look like.
template <typename Open>
Table table_of(const std::string& path, Features columns, std::int64_t unlabelled,
               const Open& open) {
  auto label = std::find_if(columns.begin(), columns.end(),
                            [](const Feature& each) { return is_label_name(each.name); });
  std::int64_t all = 0;
  for (const Feature& each : columns) all += elements_of(each);
  const bool labelled = label != columns.end() || all != unlabelled;
  if (labelled && label == columns.end()) label = std::prev(columns.end());
  Table::Labels labels = labelled ? Table::Labels::numbers : Table::Labels::none;
  bool fits = true;
  std::int64_t features = 0;
  for (auto at = columns.begin(); at != columns.end(); ++at) {
    if (at != label) {
      fits = fits && at->spec.dtype != DType::bytes;
      features += elements_of(*at);
    } else if (at->spec.dtype == DType::bytes) {
      labels = Table::Labels::names;
    } else if (at->spec.dtype != DType::i64) {
      labels = Table::Labels::values;
    }
  }
  const auto place = static_cast<std::size_t>(label - columns.begin());
  const Dataset records = open(columns, place);
  auto gather = gather_row(records.element_spec(), labelled ? std::optional(place) : std::nullopt);
  const data::ElementSpec& spec = gather ? *gather->output : records.element_spec();
  const auto program = data::trace_program(spec, [&](const data::Symbolics& in) {
    const Symbolic row = gather ? in[0] : row_of(columns, in, place);
    if (!labelled)
      return data::Symbolics{row, gather ? in[1] : data::cast(in[0] * 0.0, DType::i64)};
    const Symbolic& class_of = in[gather ? 1 : place];
    return data::Symbolics{
        row, labels == Table::Labels::values ? data::cast(class_of, DType::f32) : class_of};
  });
  Table table{
      path,
      records,
      program,
      Shape{features},
      fmt::format(
          "{} of {}{}\n", counted(records.cardinality(), "row"), counted(features, "feature"),
          labelled ? fmt::format(", {} by column {}",
                                 labels == Table::Labels::values ? "with values" : "labelled",
                                 printable(columns[place].name))
                   : ", without labels"),
      labels,
      std::move(gather),
      labelled ? columns[place].name : std::string()};
  // The first rows say that a cell does not fit; reading says which.
  if (!fits) look_at_labels(table.rows_of(records), [](const Tensor&) {});
  return table;
}

Table csv_table(const std::string& path, const Features& columns, const data::CsvOptions& csv,
                std::int64_t unlabelled) {
  return table_of(path, columns, unlabelled, [&](Features typed, std::size_t label) {
    for (std::size_t i = 0; i < typed.size(); ++i) {
      DType& dtype = typed[i].spec.dtype;
      const bool whole_label = i == label && (dtype == DType::i64 || dtype == DType::bytes);
      if (!whole_label) dtype = DType::f32;
    }
    return Dataset::csv(path, typed, csv);
  });
}

/// Records whose features are all numbers, except that the label may be a name; nullopt otherwise.
std::optional<Table> record_table(const std::string& path, std::int64_t unlabelled) {
  const auto source = find_records(path);
  if (!source || source->kind == "csv" || source->features.size() < 2) return std::nullopt;
  for (const Feature& each : source->features) {
    const auto& dims = each.spec.dims;
    const bool known =
        dims && std::find(dims->begin(), dims->end(), data::kAnyExtent) == dims->end();
    const bool name = each.spec.dtype == DType::bytes && is_label_name(each.name);
    if (!known || (each.spec.dtype == DType::bytes && !name)) return std::nullopt;
    if (is_label_name(each.name) && !dims->empty()) return std::nullopt;
  }
  std::int64_t all = 0;
  bool labelled = false;
  for (const Feature& each : source->features) {
    all += elements_of(each);
    labelled = labelled || is_label_name(each.name);
  }
  if (!labelled && all != unlabelled) return std::nullopt;
  return table_of(path, source->features, unlabelled,
                  [&](const Features&, std::size_t) { return all_records(*source); });
}

/// Whether one of these numbers is not whole.
bool has_fractions(const Dataset& numbers) {
  const Dataset batches = numbers.batch(kLookedAt).map(
      [](const Symbolic& batch) { return data::Symbolics{data::cast(batch, DType::f32)}; });
  data::Pipeline pipeline(batches, Device::open("cpu:0"), {});
  while (const auto batch = pipeline.next()) {
    for (const float value : batch->at(0).tensor().to_vector<float>()) {
      if (value != std::floor(value)) return true;
    }
  }
  return false;
}

Table npy_table(const std::string& path, const fs::path& x, const fs::path& y) {
  const Dataset arrays =
      Dataset::zip({Dataset::from_npy(x.string()), Dataset::from_npy(y.string())});
  if (const auto [rows, labels] = std::pair{Dataset::from_npy(x.string()).cardinality(),
                                            Dataset::from_npy(y.string()).cardinality()};
      rows != labels) {
    throw InvalidArgument(fmt::format("--data {}: x.npy has {} rows and y.npy {} labels",
                                      printable(path), rows, labels));
  }
  const data::ElementSpec& spec = arrays.element_spec();
  const auto& dims = spec.components.at(0).dims;
  if (!dims || dims->empty() || !spec.components.at(1).dims ||
      !spec.components.at(1).dims->empty()) {
    throw InvalidArgument(fmt::format(
        "--data {}: each element is {} in x.npy and {} in y.npy; it must be a row of numbers and "
        "one label",
        printable(path), spec.components.at(0).to_string(), spec.components.at(1).to_string()));
  }
  for (const std::size_t i : {0, 1}) {
    if (spec.components.at(i).dtype == DType::bytes) {
      throw InvalidArgument(fmt::format("--data {}: {} has byte strings; save numbers{}",
                                        printable(path), i == 0 ? "x.npy" : "y.npy",
                                        i == 0 ? "" : ", the classes numbered from 0 on"));
    }
  }
  if (std::find(dims->begin(), dims->end(), 0) != dims->end()) {
    throw InvalidArgument(fmt::format("--data {}: the rows of x.npy have no features ({})",
                                      printable(path), spec.components.at(0).to_string()));
  }
  const bool values =
      is_floating(spec.components.at(1).dtype) && has_fractions(Dataset::from_npy(y.string()));
  const auto program = data::trace_program(spec, [&](const Symbolic& row, const Symbolic& label) {
    return data::Symbolics{data::cast(row, DType::f32),
                           data::cast(label, values ? DType::f32 : DType::i64)};
  });
  const Shape row{std::span<const std::int64_t>(*dims)};
  return {path,
          arrays,
          program,
          row,
          fmt::format("{} of {}\n", counted(arrays.cardinality(), "row"), row.to_string()),
          values ? Table::Labels::values : Table::Labels::numbers};
}

/// " (column price)", or nothing.
std::string column_of_labels(const Table& table) {
  return table.label.empty() ? "" : fmt::format(" (column {})", printable(table.label));
}

/// The names that labels have, each once, in order.
std::vector<std::string> label_names(const Table& table) {
  std::set<std::string> names;
  look_at_labels(table.rows_of(table.records), [&](const Tensor& labels) {
    for (std::int64_t i = 0; i < labels.elements(); ++i) names.emplace(labels.string_at(i));
  });
  return {names.begin(), names.end()};
}

/// The number of a label among `names`.
data::MapFunction number_names(const std::string& path, data::ElementSpec spec,
                               const std::vector<std::string>& names) {
  data::MapFunction lookup;
  lookup.name = fmt::format("labels of {}", fmt::join(names, " "));
  lookup.random = false;
  spec.components.at(1) = data::TensorSpec::scalar(DType::i64);
  lookup.output = spec;
  lookup.run = [path, names](const data::Element& element, data::MapContext&) {
    const std::string_view name = element.at(1).text();
    const auto found = std::lower_bound(names.begin(), names.end(), name);
    if (found == names.end() || *found != name) {
      throw DataError(fmt::format("--data {}: a label is {}, and the model knows {}",
                                  printable(path), printable(name), fmt::join(names, ", ")));
    }
    return data::Element{element.at(0), static_cast<std::int64_t>(found - names.begin())};
  };
  return lookup;
}

/// Tells one number of each row.
class ValueModel final : public nn::Module {
 public:
  explicit ValueModel(std::int64_t features)
      : features_(features), body_(add("mlp", nn::mlp({.in = features, .classes = 1}))) {}
  std::vector<TensorType> batch_types(std::int64_t n) const override {
    return {{DType::f32, {n, features_}}, {DType::f32, {n}}};
  }
  Tensor forward(const Tensor& x) const override { return ops::reshape(body_(x), Shape{x.dim(0)}); }
  Tensor loss(const Tensor& input, const Tensor& target) const override {
    return nn::mean_squared_error(forward(input), target);
  }

 private:
  std::int64_t features_;
  nn::Model body_;
};

/// A label that the model has no class for is the row's mistake.
data::MapFunction row_label_check(const std::string& path, const data::ElementSpec& spec,
                                  std::int64_t classes) {
  data::MapFunction check;
  check.name = fmt::format("labels below {}", classes);
  check.random = false;
  check.output = spec;
  check.run = [path, classes](const data::Element& element, data::MapContext&) {
    const auto label = element.at(1).as<std::int64_t>();
    if (label < 0 || label >= classes) {
      throw DataError(
          fmt::format("--data {}: a label is {}, and the model has {} classes from 0 on; use a "
                      "larger --classes, or leave it out when training",
                      printable(path), label, classes));
    }
    return element;
  };
  return check;
}

/// Labels that the model cannot learn or be judged by are refused.
void require_labels(const Table& table, bool values, bool named) {
  using Labels = Table::Labels;
  if (table.labels == Labels::none) return;
  const char* wanted = nullptr;
  if (values && table.labels == Labels::names) wanted = "numbers";
  if (!values && table.labels == Labels::values) wanted = "classes";
  if (!values && named && table.labels == Labels::numbers) wanted = "classes by name";
  if (wanted == nullptr) return;
  throw InvalidArgument(fmt::format("--data {}: the model tells {}, and the labels are {}",
                                    printable(table.path), wanted,
                                    table.labels == Labels::names    ? "names"
                                    : table.labels == Labels::values ? "numbers with fractions"
                                                                     : "whole numbers"));
}

}  // namespace

/// The part of a name that a message shows: in a file that is not a table it may be of any length.
constexpr std::size_t kShownName = 60;

std::optional<Table> find_table(const std::string& path, std::int64_t unlabelled) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const fs::path x = fs::path(path) / "x.npy";
    const fs::path y = fs::path(path) / "y.npy";
    if (fs::exists(x, error) && fs::exists(y, error)) return npy_table(path, x, y);
    return record_table(path, unlabelled);
  }
  if (lower_extension(path) != ".csv") return record_table(path, unlabelled);
  if (path.find_first_of("*?[{") == std::string::npos && !fs::exists(path, error)) {
    throw InvalidArgument(
        fmt::format("--data {}: there is no such file; give the path of a .csv "
                    "file",
                    printable(path)));
  }
  check_text(path);
  const data::CsvOptions csv{.header = has_header(path)};
  const Features columns = data::csv_columns(path, csv);
  const bool pictures = std::any_of(columns.begin(), columns.end(), [](const Feature& each) {
    return each.name == "image" || each.name == "jpg";
  });
  if (pictures) return std::nullopt;
  if (columns.size() == 1 && columns[0].name.empty()) {
    throw InvalidArgument(fmt::format("--data {}: it is empty", printable(path)));
  }
  if (columns.size() < 2 && unlabelled != 1) {
    throw InvalidArgument(fmt::format(
        "--data {}: it has one column, {}; a table has features and a label, with commas between "
        "them",
        printable(path), printable(columns[0].name.substr(0, kShownName))));
  }
  return csv_table(path, columns, csv, unlabelled);
}

nn::Model value_model(std::int64_t features) { return ValueModel(features); }

std::int64_t count_classes(const Table& table) {
  if (table.labels == Table::Labels::values) return 0;
  if (table.labels == Table::Labels::names) {
    const auto names = static_cast<std::int64_t>(label_names(table).size());
    if (names >= 2) return names;
    throw DataError(
        names == 0 ? fmt::format("--data {}: it has a header and no rows", printable(table.path))
                   : fmt::format("--data {}: all labels{} are the same, and a model needs two "
                                 "classes or more to tell apart; name the column with the labels "
                                 "label, class, target or y, or put it last",
                                 printable(table.path), column_of_labels(table)));
  }
  std::int64_t most = 0;
  std::int64_t least = 0;
  look_at_labels(table.rows_of(table.records), [&](const Tensor& labels) {
    for (const std::int64_t label : labels.to_vector<std::int64_t>()) {
      most = std::max(most, label);
      least = std::min(least, label);
    }
  });
  const std::int64_t rows = table.records.cardinality();
  if (least < 0 || most >= std::max<std::int64_t>(rows, 2)) {
    throw DataError(fmt::format(
        "--data {}: one of its {} labels{} is {}; number the classes from 0 on, or use --classes; "
        "write numbers that are not classes with a decimal point",
        printable(table.path), rows, column_of_labels(table), least < 0 ? least : most));
  }
  return std::max<std::int64_t>(most + 1, 2);
}

TrainingData table_data(const Table& table, const nn::Model& model, std::int64_t classes,
                        const TrainingDataOptions& options) {
  const TensorType input = model.input_type(1);
  if (input.dtype != DType::f32 || input.elements() != table.row.elements() ||
      model.target_type(1).shape.rank() != 1) {
    throw InvalidArgument(fmt::format(
        "--data {}: a row has {}, and the model reads {} ({}); use a table with that many, or "
        "train with --model mlp, which takes any number",
        printable(table.path), counted(table.row.elements(), "feature"),
        format_count(input.elements()), input.to_string()));
  }
  const std::vector<std::int64_t> shape(input.shape.begin() + 1, input.shape.end());
  TrainingData all;
  all.summary = table.summary;
  const std::size_t columns = table.records.element_spec().components.size();
  all.held = (columns - std::min(columns, kColumnsNotCharged)) * kBytesPerColumn;
  const bool values = classes == 0;
  require_labels(table, values, !options.names.empty());
  if (table.labels == Table::Labels::names) {
    all.names = options.names.empty() ? label_names(table) : options.names;
  }
  const auto shaped = [&](const Dataset& records) {
    Dataset rows = table.rows_of(records);
    if (!all.names.empty()) {
      rows = rows.map(number_names(table.path, rows.element_spec(), all.names));
    }
    if (!values) rows = rows.map(row_label_check(table.path, rows.element_spec(), classes));
    return rows.map([&](const Symbolic& row, const Symbolic& label) {
      return data::Symbolics{data::reshape(row, shape),
                             values ? data::cast(label, DType::f32) : label};
    });
  };
  const Dataset& records = table.records;
  const std::int64_t count = records.cardinality();
  if (!options.validates || count < kLeastRows) {
    all.train_count = count;
    all.train = shaped(options.in_order ? records : shuffled(records));
    return all;
  }
  const auto [train, validation] = records.split(kTrainingShare);
  all.train_count = train.cardinality();
  all.validation_count = validation.cardinality();
  all.train = shaped(train.shuffle());
  all.validation = shaped(validation);
  return all;
}

}  // namespace plimsoll::tools
