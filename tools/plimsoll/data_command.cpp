#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>
#include <plimsoll/data/pipeline.h>

#include "commands.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr const char* kFooter =
    "Examples:\n"
    "  plimsoll data bench train --size 224 --batch 128 --budget 256MiB\n"
    "  plimsoll data bench train --budget 1GiB --json | tail -n 1 | jq .images_per_second\n"
    "  plimsoll data inspect train\n";

struct BenchOptions {
  std::string path;
  int size = 224;
  std::int64_t batch = 128;
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

/// A hash of bytes. Eight lanes of a multiplication and additions each, which compilers vectorise:
/// hashing must not take what is being measured.
class ContentHash {
 public:
  void add(const void* data, Bytes count) {
    const auto* const bytes = static_cast<const unsigned char*>(data);
    Lanes lanes = lanes_;  // in registers: bytes may lie anywhere, members included
    Bytes at = 0;
    for (; at + kBlock <= count; at += kBlock) {
      for (Bytes i = 0; i < kBlock; i += kStep) accumulate(lanes, bytes + at + i);
      scramble(lanes);
    }
    std::array<unsigned char, kStep> rest{};
    for (; at < count; at += kStep) {
      rest.fill(0);
      std::memcpy(rest.data(), bytes + at, std::min(kStep, count - at));
      accumulate(lanes, rest.data());
      scramble(lanes);
    }
    lanes[0] += count;
    scramble(lanes);
    lanes_ = lanes;
  }
  std::uint64_t value() const {
    std::uint64_t all = 0;
    for (const std::uint64_t lane : lanes_) all = mixed(all, lane);
    return all;
  }

 private:
  static constexpr std::size_t kLanes = 8;
  static constexpr Bytes kStep = kLanes * sizeof(std::uint64_t);
  static constexpr Bytes kBlock = 16 * kStep;
  using Lanes = std::array<std::uint64_t, kLanes>;

  static void accumulate(Lanes& lanes, const unsigned char* bytes) {
    Lanes words;
    std::memcpy(words.data(), bytes, kStep);
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::uint64_t keyed = words[i] ^ 0x9FB21C651E98DF25U;
      lanes[i] =
          (lanes[i] << 1) + (lanes[i] >> 63) + words[i] + (keyed & 0xFFFFFFFFU) * (keyed >> 32);
    }
  }
  /// Products lose their middle; mixing all bits now and then makes up for it.
  static void scramble(Lanes& lanes) {
    for (std::uint64_t& lane : lanes) lane = mixed(lane, 0x165667B19E3779F9U);
  }
  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    return hash ^ (hash >> 32);
  }
  Lanes lanes_{1, 2, 3, 4, 5, 6, 7, 8};
};

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

/// Of the stream: two runs with the same hash gave the same batches. All but the pictures, whose
/// hashes are among the rest.
class StreamHash {
 public:
  void add(const data::Element& batch) {
    for (std::size_t i = 1; i < batch.size(); ++i) {
      const Tensor tensor = batch[i].tensor().contiguous();
      hash_.add(tensor.raw_data(), tensor.nbytes());
    }
  }
  std::string text() const { return fmt::format("{:016x}", hash_.value()); }

 private:
  ContentHash hash_;
};

/// A bar on a terminal; nothing elsewhere.
class Progress {
 public:
  explicit Progress(std::int64_t total) : total_(total), shown_(::isatty(STDERR_FILENO) != 0) {}
  void show(std::int64_t done, double rate) {
    if (!shown_ || total_ <= 0 || seconds_since(last_) < 0.1) return;
    last_ = Clock::now();
    const auto filled = static_cast<std::size_t>(40 * done / total_);
    fmt::print(stderr, "\r[{:<40}] {:>3}%  {:.0f} images/s ", std::string(filled, '#'),
               100 * done / total_, rate);
  }
  void end() {
    if (shown_) fmt::print(stderr, "\r{:70}\r", "");
  }

 private:
  std::int64_t total_;
  bool shown_;
  Clock::time_point last_;
};

int parse_threads(const std::string& text) {
  if (text == "auto") return 0;
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1) {
    throw InvalidArgument(fmt::format("--threads: \"{}\" is neither auto nor 1 or more", text));
  }
  return threads;
}

image::LoadOptions load_options(const BenchOptions& bench) {
  image::LoadOptions options;
  options.height = options.width = bench.size;
  options.dct = bench.dct == "fast" ? image::Dct::fast : image::Dct::accurate;
  options.allow_scaled = bench.scaled;
  return options;
}

data::Dataset describe(const BenchOptions& bench) {
  const data::MapOptions parallel{.parallel = data::kAutotune};
  const image::LoadOptions options = load_options(bench);
  bool classes = false;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(bench.path, error)) {
    classes = classes || entry.is_directory();
  }
  if (error) throw DataError(fmt::format("{}: {}", bench.path, error.message()));
  const data::Dataset files = classes ? data::Dataset::image_folder(bench.path)
                                      : data::Dataset::list_files(bench.path + "/*.[jpJP]*[gG]");
  return files.shuffle({.elements = data::kWholeSet})
      .map(with_hash(data::load_images(options, classes)), parallel)
      .batch(bench.batch)
      .prefetch();
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

void print_table(const std::vector<data::StageStats>& stages, double seconds) {
  fmt::print("{:<27}{:>8}{:>11}{:>8}{:>7}{:>7}{:>7}  {}\n", "stage", "per s", "bytes/s", "busy s",
             "input", "room", "memory", "setting");
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    std::string name(static_cast<std::size_t>(stage->depth), ' ');
    name += stage->stage;
    if (name.size() > 26) name = name.substr(0, 23) + "...";
    fmt::print("{:<27}{:>8.0f}{:>11}{:>8.2f}{:>7.2f}{:>7.2f}{:>7.2f}  {}\n", name,
               static_cast<double>(stage->elements) / seconds,
               format_bytes(static_cast<Bytes>(static_cast<double>(stage->bytes) / seconds)),
               stage->busy_s, stage->wait_input_s, stage->wait_room_s, stage->wait_memory_s,
               stage->setting);
  }
}

void bench(const BenchOptions& options) {
  if (options.size < 1 || options.epochs < 1) {
    throw InvalidArgument("--size and --epochs must be 1 or more");
  }
  const data::Dataset dataset = describe(options);
  const Device device =
      Device::open("cpu:0", {.limit = Limit(parse_bytes(options.budget, "--budget"))});
  data::PipelineOptions running;
  running.threads = parse_threads(options.threads);
  running.seed = options.seed;
  running.skip_errors = options.skip_errors;
  data::Pipeline pipeline(dataset, device, running);
  StreamHash hash;
  std::int64_t images = 0;
  Progress progress(
      dataset.cardinality() < 0 ? 0 : dataset.cardinality() * options.batch * options.epochs);
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
    fmt::print("{} images in {:.2f} s: {:.0f} images/s; budget peak {} of {}, RSS peak {}\n",
               images, seconds, static_cast<double>(images) / seconds, format_bytes(peak),
               format_bytes(device.budget().limit()), format_bytes(peak_resident_bytes()));
    if (worst) {
      fmt::print("bottleneck: {}; {}\n", worst->stage.substr(0, 40), worst->remedy);
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
                    {"skipped", pipeline.skipped().size()},
                    {"bottleneck", worst ? worst->stage + ": " + worst->remedy : ""},
                    {"stages", list}};
  fmt::print("{}\n", all.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void add_bench(CLI::App& data) {
  CLI::App* const command =
      data.add_subcommand("bench", "Read, decode, resize and batch a folder of pictures");
  const auto options = std::make_shared<BenchOptions>();
  command->add_option("path", options->path, "A folder of pictures, or of a folder per class")
      ->required();
  command->add_option("--size", options->size, "Pixels of height and width")->capture_default_str();
  command->add_option("--batch", options->batch)->capture_default_str();
  command->add_option("--budget", options->budget, "All memory the pipeline may take")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "A number, or auto")->capture_default_str();
  command->add_option("--dct", options->dct)
      ->check(CLI::IsMember({"fast", "accurate"}))
      ->capture_default_str();
  command->add_flag("--scaled", options->scaled, "Decode at 1/2, 1/4, 1/8 where that is faster");
  command->add_option("--epochs", options->epochs)->capture_default_str();
  command->add_option("--seed", options->seed)->capture_default_str();
  command->add_option("--skip-errors", options->skip_errors, "Broken files to leave out; -1: any")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object, sizes in bytes");
  command->callback([options] { bench(*options); });
}

}  // namespace

void add_data(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("data", "Measure input pipelines, look at data");
  command->footer(kFooter);
  command->require_subcommand(1);
  add_bench(*command);
  add_data_inspect(*command);
}

}  // namespace plimsoll::tools
