#include "training_data.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/digits.h>
#include <plimsoll/data/map_function.h>
#include <plimsoll/data/needs.h>
#include <plimsoll/data/program_ops.h>
#include <plimsoll/nn/models.h>

#include "class_folders.h"
#include "recommender_data.h"
#include "record_source.h"
#include "table_data.h"
#include "text_data.h"

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;
using data::Dataset;
using data::Symbolic;

constexpr std::int64_t kDigits = 1797;
/// Every so many-th is for validation: the digits lie in the order of who wrote them.
constexpr std::int64_t kHeldOut = 5;
constexpr std::int64_t kDigitSize = 8;
constexpr std::int64_t kDigitClasses = 10;
/// What is counted on where not all headers have been read.
constexpr Bytes kDecode = MiB(16);
constexpr Bytes kLeastDecode = MiB(1);

Shape row(const TensorType& batch) {
  const std::vector<std::int64_t> dims(batch.shape.begin() + 1, batch.shape.end());
  return Shape(std::span<const std::int64_t>(dims));
}

data::ElementSpec spec_of(const nn::Model& model) {
  const TensorType x = model.input_type(1);
  const TensorType y = model.target_type(1);
  return {true,
          {data::TensorSpec::of(x.dtype, row(x)), data::TensorSpec::of(y.dtype, row(y))},
          {"input", "target"}};
}

float noise(std::uint64_t bits) {
  return static_cast<float>(bits >> 40) / static_cast<float>(1 << 24) - 0.5F;
}

/// Random elements, each a function of the seed and its index; a target can be told from its input.
data::MapFunction synthetic(const nn::Model& model, std::uint64_t seed) {
  data::MapFunction make;
  make.name = fmt::format("synthetic(seed={})", seed);
  make.output = spec_of(model);
  const bool ids = !is_floating(model.input_type(1).dtype);
  const bool scalar = model.target_type(1).shape.rank() == 1;
  const auto classes = static_cast<std::uint64_t>(classes_of(model));
  make.run = [=](const data::Element& element, data::MapContext& context) {
    const std::uint64_t key =
        data::mix_ids(seed, static_cast<std::uint64_t>(element[0].as<std::int64_t>()));
    const std::uint64_t label = key % classes;
    Tensor x = context.output(0);
    if (ids) {
      // Tokens that follow each other by a rule.
      auto* const values = x.mutable_data<std::int64_t>();
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        values[i] = static_cast<std::int64_t>((label + static_cast<std::uint64_t>(i)) % classes);
      }
      Tensor y = context.output(1);
      auto* const next = y.mutable_data<std::int64_t>();
      for (std::int64_t i = 0; i < y.elements(); ++i) {
        next[i] = static_cast<std::int64_t>((label + static_cast<std::uint64_t>(i) + 1) % classes);
      }
      return data::Element{x, y};
    }
    auto* const values = x.mutable_data<float>();
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      values[i] = noise(data::mix_ids(key, at)) + noise(data::mix_ids(label, at));
    }
    if (scalar) return data::Element{x, static_cast<std::int64_t>(label)};
    Tensor y = context.output(1);
    auto* const labels = y.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; i < y.elements(); ++i) labels[i] = static_cast<std::int64_t>(label);
    return data::Element{x, y};
  };
  return make;
}

struct DigitBytes {
  std::vector<std::uint8_t> images;
  std::vector<std::int64_t> labels;
};

/// Digits for validation, or the others, as floats of the size the model wants.
data::MapFunction digit(const nn::Model& model, const std::shared_ptr<const DigitBytes>& digits,
                        bool validation) {
  data::MapFunction make;
  make.name = validation ? "digit(validation)" : "digit(train)";
  make.output = spec_of(model);
  const std::int64_t elements = model.input_type(1).elements();
  std::int64_t size = 1;
  while (size * size < elements) ++size;
  if (size * size != elements || size < kDigitSize) {
    throw InvalidArgument(
        fmt::format("--data digits: the model reads {}, and digits are squares of 8x8 or more with "
                    "one channel; {}",
                    model.input_type(1).to_string(),
                    size * size == elements ? "use --size 8 or more"
                                            : "use a model that takes images of one channel"));
  }
  make.run = [=](const data::Element& element, data::MapContext& context) {
    const auto number = element[0].as<std::int64_t>();
    const std::int64_t index = validation
                                   ? number * kHeldOut + kHeldOut - 1
                                   : number / (kHeldOut - 1) * kHeldOut + number % (kHeldOut - 1);
    Tensor x = context.output(0);
    auto* const values = x.mutable_data<float>();
    for (std::int64_t r = 0; r < size; ++r) {
      for (std::int64_t c = 0; c < size; ++c) {
        const std::int64_t from = index * kDigitSize * kDigitSize +
                                  r * kDigitSize / size * kDigitSize + c * kDigitSize / size;
        values[r * size + c] =
            static_cast<float>(digits->images[static_cast<std::size_t>(from)]) / 16.0F;
      }
    }
    return data::Element{x, digits->labels[static_cast<std::size_t>(index)]};
  };
  return make;
}

/// For training in a drawn order.
Dataset mixed(const Dataset& elements, const TrainingDataOptions& options) {
  return options.in_order ? elements : elements.shuffle();
}

TrainingData digits(const nn::Model& model, const TrainingDataOptions& options) {
  const Device device = Device::open("cpu:0");
  const data::Digits loaded = data::load_digits(device);
  auto bytes = std::make_shared<DigitBytes>();
  bytes->images = loaded.images.to_vector<std::uint8_t>();
  bytes->labels = loaded.labels.to_vector<std::int64_t>();
  TrainingData all;
  all.validation_count = kDigits / kHeldOut;
  all.train_count = kDigits - all.validation_count;
  all.train = mixed(Dataset::range(all.train_count), options).map(digit(model, bytes, false));
  all.validation = Dataset::range(all.validation_count).map(digit(model, bytes, true));
  all.held = bytes->images.size() + bytes->labels.size() * sizeof(std::int64_t);
  return all;
}

TrainingData made_up(const nn::Model& model, const TrainingDataOptions& options) {
  TrainingData all;
  all.train_count = options.elements;
  const data::MapFunction make = is_recommender(model)
                                     ? synthetic_choices(model, spec_of(model), options.seed)
                                     : synthetic(model, options.seed);
  all.train =
      mixed(Dataset::range(options.elements), options).map(make, {.parallel = data::kAutotune});
  return all;
}

/// A folder where a table was meant: one of its two arrays is missing.
void check_arrays(const std::string& path) {
  std::error_code error;
  const bool x = fs::exists(fs::path(path) / "x.npy", error);
  const bool y = fs::exists(fs::path(path) / "y.npy", error);
  if (x == y) return;
  throw InvalidArgument(fmt::format("--data {}: it has {} but not {}; a table needs both",
                                    printable(path), x ? "x.npy" : "y.npy",
                                    x ? "y.npy, the labels" : "x.npy, the features"));
}

/// How pictures become what the model reads.
image::LoadOptions load_for(const std::string& path, const nn::Model& model) {
  check_arrays(path);
  const Shape shape = row(model.input_type(1));
  if (shape.rank() != 3) {
    throw InvalidArgument(
        fmt::format("--data {}: the model reads {}, not images; use a model for images, such as "
                    "resnet18, or a .txt file or a table with this one",
                    printable(path), model.input_type(1).to_string()));
  }
  if (model.target_type(1).shape.rank() != 1) {
    throw InvalidArgument(
        fmt::format("--data {}: the model learns {} for each image, and the data has one label; "
                    "use a model that classifies, such as resnet18",
                    printable(path), model.target_type(1).to_string()));
  }
  image::LoadOptions load;
  load.channels = static_cast<int>(shape.dim(0));
  load.height = static_cast<int>(shape.dim(1));
  load.width = static_cast<int>(shape.dim(2));
  load.layout = Layout::channels_first;
  return load;
}

/// A label that the model has no class for is the record's mistake.
data::MapFunction checked(data::MapFunction decode, std::int64_t classes) {
  decode.name += fmt::format(" classes={}", classes);
  decode.run = [run = std::move(decode.run), classes](const data::Element& element,
                                                      data::MapContext& context) {
    const auto label = element.at(1).as<std::int64_t>();
    if (label < 0 || label >= classes) {
      throw DataError(fmt::format("its label is {}, and the model has {}; use --classes", label,
                                  counted(classes, "class", "classes")));
    }
    return run(element, context);
  };
  return decode;
}

/// (picture or its path, label) for training: augmented.
Dataset augmented(const Dataset& elements, const Augmentation& augment,
                  const image::LoadOptions& load, bool paths) {
  return elements.map(
      [&](const Symbolic& source, const Symbolic& label) {
        const Symbolic bytes = paths ? data::read_file(source) : source;
        const Symbolic picture = image::decode(bytes, {.channels = load.channels});
        return data::Symbolics{augment.apply(picture, load), label};
      },
      {.parallel = data::kAutotune});
}

/// The same elements, their labels looked at.
data::MapFunction labels_below(const Dataset& elements, std::int64_t classes) {
  data::MapFunction same;
  same.name = "labels";
  same.output = elements.element_spec();
  same.random = false;
  same.run = [](const data::Element& element, data::MapContext&) { return element; };
  return checked(same, classes);
}

/// "2 tfrecord files".
std::string files_of(const RecordSource& source) {
  return counted(static_cast<std::int64_t>(source.files.size()), source.kind + " file");
}

TrainingData recorded(const std::string& path, const RecordSource& train, const nn::Model& model,
                      const TrainingDataOptions& options) {
  const data::MapOptions parallel{.parallel = data::kAutotune};
  const auto decode = checked(data::decode_images(load_for(path, model)), classes_of(model));
  TrainingData all;
  const Dataset set = picture_records(train);
  all.train_count = set.cardinality();
  const Dataset order = options.in_order ? set : shuffled(set);
  all.train = options.augment.empty() ? order.map(decode, parallel)
                                      : augmented(order.map(labels_below(set, classes_of(model))),
                                                  options.augment, load_for(path, model), false);
  all.summary = fmt::format("{} in {}\n", counted(set.cardinality(), "record"), files_of(train));
  all.decode = kDecode;
  const fs::path others = first_of(path, {"val", "validation", "test"});
  if (others.empty() || !(options.validates || options.in_order)) return all;
  const auto validation = find_records(others.string());
  if (!validation) {
    throw InvalidArgument(fmt::format("--data {}: no records in it", printable(others.string())));
  }
  const Dataset held_out = picture_records(*validation);
  all.validation_count = held_out.cardinality();
  all.validation = held_out.map(decode, parallel);
  all.summary += fmt::format("validation: {} in {}\n", counted(held_out.cardinality(), "record"),
                             files_of(*validation));
  return all;
}

/// The records that --data names: its own, or those of a folder `train` in it.
std::optional<RecordSource> training_records(const std::string& path) {
  const fs::path inner = first_of(path, {"train"});
  return find_records(inner.empty() ? path : inner.string());
}

TrainingData folder(const std::string& path, const nn::Model& model,
                    const TrainingDataOptions& options) {
  const fs::path inner = first_of(path, {"train"});
  const fs::path validation =
      inner.empty() ? fs::path() : first_of(path, {"val", "validation", "test"});
  const image::LoadOptions load = load_for(path, model);
  const std::vector<std::string> names = class_names(inner.empty() ? fs::path(path) : inner);
  check_classes(inner.empty() ? fs::path(path) : inner, names, classes_of(model));
  const data::MapOptions parallel{.parallel = data::kAutotune};
  TrainingData all;
  const std::string training = inner.empty() ? path : inner.string();
  const Dataset files = Dataset::image_folder(training);
  warn_of_empty_classes(training, files);
  all.class_folders = training;
  all.train_count = files.cardinality();
  all.train =
      options.augment.empty()
          ? mixed(files, options).map(data::load_images(load, true), parallel)
          : augmented(Dataset::image_paths(training).shuffle(), options.augment, load, true);
  all.summary = counts_of(files) + "\n";
  if (!validation.empty() && (options.validates || options.in_order)) {
    check_same(validation, class_names(validation), names);
    const Dataset others = Dataset::image_folder(validation.string());
    all.validation_count = others.cardinality();
    all.validation = others.map(data::load_images(load, true), parallel);
    all.summary += "validation: " + counts_of(others) + "\n";
  }
  for (const auto& set : {all.train, all.validation}) {
    if (!set) continue;
    const data::DecodeNeeds needs = data::decode_needs(*set);
    all.decode = std::max({all.decode, needs.complete ? kLeastDecode : kDecode, needs.largest});
    if (all.decode == needs.largest) all.decode_file = needs.largest_file;
  }
  return all;
}

/// One that sees the token it is to tell learns nothing of a text.
void refuse_masked(const std::string& data, const std::string& model) {
  if (!model.starts_with("bert")) return;
  throw InvalidArgument(
      fmt::format("--data {}: {} sees the whole text, the byte to predict included, and would "
                  "learn to copy it; use a language model that reads from left to right: gpt2_tiny",
                  printable(data), model));
}

}  // namespace

nn::ModelOptions model_options_for(const std::string& data, const std::string& model,
                                   nn::ModelOptions given) {
  if (data == "digits") {
    if (given.classes == 0) given.classes = kDigitClasses;
    if (given.classes < kDigitClasses) {
      throw InvalidArgument(fmt::format(
          "--classes {}: digits have {} classes; use that many or more, or leave it out",
          given.classes, kDigitClasses));
    }
    if (given.channels == 0) given.channels = 1;
    if (given.size == 0) given.size = model == "mlp" || model == "lenet" ? kDigitSize : 32;
  } else if (is_text_file(data)) {
    if (given.classes == 0) given.classes = kTextTokens;
  } else if (const auto table = data == "synthetic" ? std::nullopt : find_table(data)) {
    if (given.classes == 0) given.classes = count_classes(*table);
  } else if (data != "synthetic") {
    const fs::path inner = first_of(data, {"train"});
    if (const auto records = training_records(data); records && given.classes == 0) {
      if (records->classes.empty()) {
        throw InvalidArgument(fmt::format(
            "--data {}: the records do not say how many classes there are; use --classes",
            printable(data)));
      }
      given.classes = std::max<std::int64_t>(static_cast<std::int64_t>(records->classes.size()), 2);
    }
    if (given.classes == 0) {
      // One alone is refused when its pictures are wanted.
      const auto names = class_names(inner.empty() ? fs::path(data) : inner);
      given.classes = std::max<std::int64_t>(static_cast<std::int64_t>(names.size()), 2);
    }
    if (given.channels == 0) given.channels = 3;
  }
  return given;
}

nn::Model training_model(const std::string& data, const std::string& model,
                         const nn::ModelOptions& given) {
  const nn::ModelOptions options = model_options_for(data, model, given);
  const bool own = data == "digits" || data == "synthetic";
  if (is_text_file(data)) refuse_masked(data, model);
  const auto table = own || is_text_file(data) ? std::nullopt : find_table(data);
  if (table && table->labels == Table::Labels::values) {
    if (model != "mlp" || given.classes != 0) {
      throw InvalidArgument(
          fmt::format("--data {}: its targets have fractions and are not classes; use --model mlp "
                      "without --classes, which predicts numbers, or number the classes from 0 on",
                      printable(data)));
    }
    return value_model(table->row.elements());
  }
  if (model == "mlp" && table) {
    return nn::mlp({.in = table->row.elements(), .classes = options.classes});
  }
  return nn::make_model(model, options);
}

TrainingData training_data(const std::string& name, const nn::Model& model,
                           const TrainingDataOptions& options) {
  const bool own = name == "digits" || name == "synthetic";
  if (own && !options.augment.empty()) {
    throw InvalidArgument(fmt::format(
        "--augment: it is for images of a folder or of records, not for --data {}", name));
  }
  if (name == "digits" && !is_recommender(model)) return digits(model, options);
  if (name == "synthetic") return made_up(model, options);
  if (is_recommender(model)) {
    throw InvalidArgument(
        fmt::format("--data {}: it has no ids for the tables of a recommender; use --data "
                    "synthetic, or the library with your own dataset",
                    printable(name)));
  }
  const bool text = is_text_file(name);
  const std::int64_t unlabelled = options.unlabelled ? model.input_type(1).elements() : 0;
  const auto table = text ? std::nullopt : find_table(name, unlabelled);
  if ((text || table) && !options.augment.empty()) {
    throw InvalidArgument(
        fmt::format("--augment: {} has no images; leave --augment out", printable(name)));
  }
  if (text) return text_data(name, model, classes_of(model), options);
  if (table) {
    const bool values = model.target_type(1).dtype == DType::f32;
    return table_data(*table, model, values ? 0 : classes_of(model), options);
  }
  if (const auto records = training_records(name)) {
    return recorded(name, *records, model, options);
  }
  return folder(name, model, options);
}

std::string absolute_data(const std::string& name) {
  if (name.empty() || name == "digits" || name == "synthetic") return name;
  std::error_code error;
  const fs::path full = fs::absolute(name, error);
  return error ? name : full.lexically_normal().string();
}

}  // namespace plimsoll::tools
