#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/system.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/nn/models.h>

#include "command_line.h"
#include "commands.h"
#include "content_hash.h"
#include "mistakes.h"
#include "record_source.h"
#include "table_data.h"
#include "text_data.h"
#include "training_data.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr const char* kDataFooter =
    "Examples:\n"
    "  plimsoll data bench train --size 224 --batch 128 --budget 256MiB\n"
    "  plimsoll data bench digits --model mlp --batch 32\n"
    "  plimsoll data bench train --budget 1GiB --json | jq .images_per_second\n"
    "  plimsoll data inspect train\n"
    "  plimsoll data pack train records --format webdataset --shards 16\n"
    "  plimsoll data cache ls cache\n"
    "\n"
    "`data inspect` exits 2 if an image or a record is bad.";

constexpr const char* kBenchFooter =
    "Examples:\n"
    "  plimsoll data bench train --size 224 --batch 128 --budget 256MiB\n"
    "  plimsoll data bench digits --model mlp --batch 32\n"
    "  plimsoll data bench train --budget 1GiB --json | jq .images_per_second\n"
    "\n"
    "What the columns mean:\n"
    "  busy     seconds of work, all threads together\n"
    "  input    seconds without anything to work on\n"
    "  room     seconds without a place for results\n"
    "  memory   the part of room for which memory was missing\n"
    "  setting  what the pipeline chose where it was left open";

constexpr int kSize = 224;

struct BenchOptions {
  std::string data;
  std::string model;  ///< empty: pictures of a folder as they are, for no model
  std::string augment;
  int size = 0;  ///< 0: as the model has it, or 224
  std::int64_t batch = 128;
  std::int64_t elements = 0;
  std::string budget = "256MiB";
  std::string threads = "auto";
  std::string dct = "fast";
  bool scaled = false;
  int epochs = 1;
  std::uint64_t seed = 0;
  std::int64_t skip_errors = 0;
  bool json = false;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The same function with a hash of the picture as a last component: taken where the pixels have
/// just been written and are still in a cache, it costs next to nothing.
data::MapFunction with_hash(data::MapFunction function) {
  function.output->components.push_back(data::TensorSpec::scalar(DType::i64));
  function.output->names.emplace_back("hash");
  function.run = [load = std::move(function.run)](const data::Element& element,
                                                  data::MapContext& context) {
    data::Element loaded = load(element, context);
    ContentHash hash;
    hash.add(loaded[0].tensor().raw_data(), loaded[0].tensor().nbytes());
    loaded.push_back(static_cast<std::int64_t>(hash.value()));
    return loaded;
  };
  return function;
}

/// Of the stream: two runs with the same hash gave the same batches. Of pictures that have been
/// hashed where they were made, the hashes are among the rest.
class StreamHash {
 public:
  explicit StreamHash(bool hashed) : first_(hashed ? 1 : 0) {}
  void add(const data::Element& batch) {
    for (std::size_t i = first_; i < batch.size(); ++i) {
      const Tensor tensor = batch[i].tensor().contiguous();
      hash_.add(tensor.raw_data(), tensor.nbytes());
    }
  }
  std::string text() const { return fmt::format("{:016x}", hash_.value()); }

 private:
  const std::size_t first_;
  ContentHash hash_;
};

/// A bar on a terminal; nothing elsewhere.
class Progress {
 public:
  Progress(const char* unit, std::int64_t total)
      : unit_(unit), total_(total), shown_(::isatty(STDERR_FILENO) != 0) {}
  void show(std::int64_t done, double rate) {
    if (!shown_ || total_ <= 0 || seconds_since(last_) < 0.1) return;
    last_ = Clock::now();
    const auto filled = static_cast<std::size_t>(40 * done / total_);
    fmt::print(stderr, "\r[{:<40}] {:>3}%  {:.0f} {}/s ", std::string(filled, '#'),
               100 * done / total_, rate, unit_);
  }
  void end() {
    if (shown_) fmt::print(stderr, "\r{:70}\r", "");
  }

 private:
  const char* unit_;
  std::int64_t total_;
  bool shown_;
  Clock::time_point last_;
};

/// 0: as many as there are CPUs.
int parse_threads(const std::string& text) {
  if (text == "auto") return 0;
  std::int64_t threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1) {
    throw InvalidArgument(
        fmt::format("--threads: \"{}\" is not a number; give 1 or more, or auto", text));
  }
  check_threads(threads);
  return static_cast<int>(threads);
}

image::LoadOptions load_options(const BenchOptions& bench) {
  image::LoadOptions options;
  options.height = options.width = bench.size > 0 ? bench.size : kSize;
  options.dct = bench.dct == "fast" ? image::Dct::fast : image::Dct::accurate;
  options.allow_scaled = bench.scaled;
  return options;
}

/// The pictures of a folder, or of its training part, or of records.
data::Dataset pictures(const BenchOptions& bench) {
  const data::MapOptions parallel{.parallel = data::kAutotune};
  const image::LoadOptions options = load_options(bench);
  if (const auto found = find_records(bench.data)) {
    return shuffled(picture_records(*found))
        .map(with_hash(data::decode_images(options)), parallel)
        .batch(bench.batch)
        .prefetch();
  }
  std::error_code error;
  const fs::path inner = fs::path(bench.data) / "train";
  const std::string folder = fs::is_directory(inner, error) ? inner.string() : bench.data;
  bool classes = false;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    classes = classes || at->is_directory(unknown);
  }
  if (error) {
    throw DataError(
        fmt::format("{}: {}; give a folder of images, records, a .txt file, a table, digits or "
                    "synthetic",
                    printable(folder), error.message()));
  }
  const data::Dataset files = classes ? data::Dataset::image_folder(folder)
                                      : data::Dataset::list_files(folder + "/*.[jpJP]*[gG]");
  return files.shuffle()
      .map(with_hash(data::load_images(options, classes)), parallel)
      .batch(bench.batch)
      .prefetch();
}

/// What `train` would be told to train.
std::string measured_model(const BenchOptions& bench) {
  if (!bench.model.empty()) return bench.model;
  if (bench.data == "digits" || bench.data == "synthetic") return "lenet";
  if (is_text_file(bench.data)) return "gpt2_tiny";
  return find_table(bench.data) ? "mlp" : "";
}

/// What `train` would read with the same options.
TrainingData as_trained(const BenchOptions& bench, const std::string& name) {
  const auto model = training_model(bench.data, name, {.size = bench.size});
  const std::int64_t elements = bench.elements > 0 ? bench.elements : 8 * bench.batch;
  return training_data(bench.data, model,
                       {.elements = elements,
                        .seed = bench.seed,
                        .validates = false,
                        .augment = Augmentation(bench.augment)});
}

Json stage_json(const data::StageStats& stage, double seconds) {
  return {{"stage", stage.stage},
          {"elements", stage.elements},
          {"elements_per_second", static_cast<double>(stage.elements) / seconds},
          {"bytes", stage.bytes},
          {"bytes_per_second", static_cast<double>(stage.bytes) / seconds},
          {"bytes_held", stage.held},
          {"busy_seconds", stage.busy_s},
          {"wait_input_seconds", stage.wait_input_s},
          {"wait_room_seconds", stage.wait_room_s},
          {"wait_memory_seconds", stage.wait_memory_s},
          {"setting", stage.setting}};
}

/// A stage as people call it: "map(load_images)" of "map(load_images 2: 64x64x3 layout=1 ...)",
/// whose details are for signatures.
std::string short_name(const std::string& stage) {
  const std::size_t open = stage.find('(');
  if (open == std::string::npos) return stage;
  std::string inner = stage.substr(open + 1, stage.find_first_of(":,()", open + 1) - open - 1);
  const std::size_t last = inner.find_last_not_of("0123456789");
  if (last != std::string::npos && inner[last] == ' ') inner.resize(last);  // a version
  return fmt::format("{}({})", stage.substr(0, open), printable(inner));
}

void print_table(const std::vector<data::StageStats>& stages, double seconds) {
  fmt::print("{:<27}{:>8}{:>11}{:>8}{:>7}{:>7}{:>7}  {}\n", "stage", "per s", "bytes/s", "busy s",
             "input", "room", "memory", "setting");
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    std::string name(static_cast<std::size_t>(stage->depth), ' ');
    name += short_name(stage->stage);
    if (name.size() > 26) name = name.substr(0, 23) + "...";
    fmt::print("{:<27}{:>8.0f}{:>11}{:>8.2f}{:>7.2f}{:>7.2f}{:>7.2f}  {}\n", name,
               static_cast<double>(stage->elements) / seconds,
               format_bytes(static_cast<Bytes>(static_cast<double>(stage->bytes) / seconds)),
               stage->busy_s, stage->wait_input_s, stage->wait_room_s, stage->wait_memory_s,
               stage->setting);
  }
}

void bench(const BenchOptions& options) {
  const int threads = parse_threads(options.threads);
  const std::string model = measured_model(options);
  const bool hashed = model.empty();
  Bytes held = 0;
  const data::Dataset dataset = [&] {
    if (hashed) return pictures(options);
    const TrainingData data = as_trained(options, model);
    held = data.held;
    return data.train->batch(options.batch).prefetch();
  }();
  const bool rows = model == "mlp" || is_text_file(options.data) || options.data == "synthetic";
  const char* const unit = rows ? "examples" : "images";
  const Device device =
      Device::open("cpu:0", {.limit = Limit(parse_bytes(options.budget, "--budget"))});
  const Charge charged = device.budget().charge(Tag::input, options.data, held);
  data::PipelineOptions running;
  running.threads = threads;
  running.seed = options.seed;
  running.skip_errors = options.skip_errors;
  data::Pipeline pipeline(dataset, device, running);
  StreamHash hash(hashed);
  std::int64_t images = 0;
  Progress progress(
      unit, dataset.cardinality() < 0 ? 0 : dataset.cardinality() * options.batch * options.epochs);
  const auto begin = Clock::now();
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    if (epoch > 0) pipeline.rewind();
    while (const auto batch = pipeline.next()) {
      hash.add(*batch);
      images += batch->at(0).tensor().dim(0);
      progress.show(images, static_cast<double>(images) / seconds_since(begin));
    }
  }
  const double seconds = seconds_since(begin);
  progress.end();
  const auto stages = pipeline.stats();
  const auto worst = pipeline.bottleneck();
  const Bytes peak = device.budget().peak();
  if (!options.json) {
    print_table(stages, seconds);
    fmt::print("{} {} in {}: {}; budget peak {} of {}, RSS peak {}\n", format_count(images), unit,
               format_duration(seconds), format_rate(static_cast<double>(images) / seconds, unit),
               format_bytes(peak), format_bytes(device.budget().limit()),
               format_bytes(peak_resident_bytes()));
    if (worst) {
      fmt::print("bottleneck: {}; {}\n", short_name(worst->stage), worst->remedy);
    }
    for (const auto& skipped : pipeline.skipped()) fmt::print("skipped: {}\n", skipped.message);
    fmt::print("stream {}\n", hash.text());
    return;
  }
  Json list = Json::array();
  for (const auto& stage : stages) list.push_back(stage_json(stage, seconds));
  const Json all = {{"images", images},
                    {"images_per_second", static_cast<double>(images) / seconds},
                    {"seconds", seconds},
                    {"rss_peak", peak_resident_bytes()},
                    {"budget_peak", peak},
                    {"stream_hash", hash.text()},
                    {"skipped", pipeline.skipped_count()},
                    {"bottleneck", worst ? worst->stage + ": " + worst->remedy : ""},
                    {"stages", list}};
  fmt::print("{}\n", all.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void add_bench(Command& data) {
  Command* const command = data.add_subcommand("bench", "Measure how fast data is read and decoded")
                               ->footer(kBenchFooter);
  const auto options = std::make_shared<BenchOptions>();
  command
      ->add_option("DATA,--data", options->data,
                   "A folder of images, or one with a folder per class; records; a .txt file; a "
                   "table (.csv, "
                   "or a folder with x.npy and y.npy); digits; synthetic")
      ->required()
      ->type_name("");
  std::vector<std::string> models;
  for (const nn::ModelInfo& info : nn::list_models()) models.emplace_back(info.name);
  command
      ->add_option("--model", options->model,
                   "Prepare elements for this model; default: images as they are, mlp for tables, "
                   "gpt2_tiny for text, else lenet")
      ->check(OneOf{std::move(models)})
      ->type_name("NAME");
  command
      ->add_option("--augment", options->augment,
                   "With --model: change images at random; any of these, with commas between: " +
                       Augmentation::names())
      ->type_name("LIST");
  command
      ->add_option("--size", options->size,
                   "Height and width of images, or number of tokens; default: the model's, or 224")
      ->check(is_count)
      ->type_name("N");
  command->add_option("--batch", options->batch, "Elements per batch")
      ->check(is_count)
      ->type_name("N")
      ->show_default();
  command
      ->add_option("--elements", options->elements,
                   "Elements of synthetic data; default: eight batches")
      ->check(is_count)
      ->type_name("N");
  command->add_option("--budget", options->budget, "Memory that the pipeline may use")
      ->type_name("SIZE")
      ->show_default();
  command->add_option("--threads", options->threads, "Threads of the pipeline; auto: one per CPU")
      ->type_name("N")
      ->show_default();
  command
      ->add_option("--dct", options->dct,
                   "How JPEG blocks are transformed: fast, or accurate to the last bit")
      ->check(OneOf{{"fast", "accurate"}})
      ->type_name("NAME")
      ->show_default();
  command->add_flag("--scaled", options->scaled,
                    "Decode JPEG at 1/2, 1/4 or 1/8 of its size where that is enough");
  command->add_option("--epochs", options->epochs, "Read the data N times")
      ->check(is_count)
      ->type_name("N")
      ->show_default();
  command->add_option("--seed", options->seed, "Seed of the shuffled order")
      ->check(is_count_or_zero)
      ->type_name("N")
      ->show_default();
  command
      ->add_option("--skip-errors", options->skip_errors,
                   "Skip up to N files per epoch that cannot be read; -1: any number")
      ->check(is_skip_count)
      ->type_name("N")
      ->show_default();
  command->add_flag("--json", options->json, "Print one JSON object, sizes in bytes");
  command->callback([options] { bench(*options); });
}

}  // namespace

void add_data(Command& app) {
  Command* const command = app.add_subcommand("data", "Measure, inspect, pack and unpack data");
  command->footer(kDataFooter);
  command->require_subcommand();
  add_bench(*command);
  add_data_inspect(*command);
  add_data_pack(*command);
  add_data_cache(*command);
}

}  // namespace plimsoll::tools
