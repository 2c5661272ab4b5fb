// Records against what they could be: 100,000 small Examples parsed and batched, bytes alone
// against read(), and a second epoch out of cache(folder) against decoding. bench/records.sh puts
// tf.data beside it.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/system.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/data/record_writer.h>

namespace {

namespace fs = std::filesystem;
namespace pm = plimsoll;
namespace pd = plimsoll::data;
using Clock = std::chrono::steady_clock;

/// Processor time of all threads; on a machine that others use as well it says more than the clock.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

pd::Dataset named(std::int64_t count, const std::string& name, std::int64_t floats,
                  std::int64_t bytes) {
  pd::MapFunction make;
  make.name = name;
  make.random = false;
  make.output = pd::ElementSpec{
      true,
      {pd::TensorSpec::scalar(pm::DType::i64), pd::TensorSpec::of(pm::DType::f32, {floats}),
       pd::TensorSpec::scalar(pm::DType::bytes)},
      {"label", "values", "text"}};
  make.run = [=](const pd::Element& element, pd::MapContext& context) {
    const auto n = element[0].as<std::int64_t>();
    pm::Tensor values = context.output(1);
    for (std::int64_t i = 0; i < floats; ++i) {
      values.mutable_data<float>()[i] = static_cast<float>(n + i) * 0.5F;
    }
    return pd::Element{n % 1000, values,
                       context.text(std::string(static_cast<std::size_t>(bytes), 'x'))};
  };
  return pd::Dataset::range(count).map(make, {.parallel = pd::kAutotune});
}

/// Elements per second of the first component of what comes out.
double rate(const pd::Dataset& dataset, const pm::Device& device) {
  pd::Pipeline pipeline(dataset, device);
  std::int64_t count = 0;
  const auto begin = Clock::now();
  while (const auto batch = pipeline.next()) count += batch->at(0).tensor().dim(0);
  return static_cast<double>(count) / seconds_since(begin);
}

/// Bytes per second of read() on a file in the page cache, 1 MiB at a time by one thread, to where
/// pages begin: some processors take five times as long to a few bytes after that.
double plain_read(const std::string& path) {
  constexpr std::size_t kBuffer = 1 << 20;
  constexpr std::size_t kPage = 4096;
  std::vector<char> memory(kBuffer + kPage);
  void* begin_of_pages = memory.data();
  std::size_t room = memory.size();
  void* const buffer = std::align(kPage, kBuffer, begin_of_pages, room);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  pm::Bytes total = 0;
  const auto begin = Clock::now();
  for (::ssize_t got = 0; (got = ::read(file, buffer, kBuffer)) > 0;) {
    total += static_cast<pm::Bytes>(got);
  }
  const double seconds = seconds_since(begin);
  ::close(file);
  return static_cast<double>(total) / seconds;
}

double raw_records(const std::string& path, const pm::Device& device, bool verify) {
  pd::Pipeline pipeline(pd::Dataset::tfrecords(path, {}, {.verify = verify}), device);
  pm::Bytes total = 0;
  const auto begin = Clock::now();
  while (const auto element = pipeline.next()) total += element->at(0).nbytes();
  return static_cast<double>(total) / seconds_since(begin);
}

/// What `measure` reads per second of processor time: `bytes` in each of `rounds`.
template <typename Measure>
double by_cpu(int rounds, pm::Bytes bytes, Measure measure) {
  const double before = cpu_seconds();
  for (int i = 0; i < rounds; ++i) measure();
  return static_cast<double>(bytes) * rounds / (cpu_seconds() - before);
}

template <typename Measure>
double best_of(int rounds, Measure measure) {
  double best = 0;
  for (int i = 0; i < rounds; ++i) best = std::max(best, measure());
  return best;
}

/// Bytes of records of other sizes against read() on the same file, checked, plain and by gzip.
void sweep(const std::string& folder, const pm::Device& device, int rounds) {
  for (const std::int64_t size : {100, 1'000, 10'000, 1'000'000, 10'000'000}) {
    const std::string name = fmt::format("{}/raw-{}", folder, size);
    const std::int64_t count = std::max<std::int64_t>(10, 50'000'000 / (size + 100));
    const auto make = named(count, fmt::format("raw {}", size), 1, size);
    if (!fs::exists(name)) write_records(make, name, device, {.shards = 1});
    const std::string zipped = name + "-gzip";
    if (!fs::exists(zipped) && size <= 10'000) {
      write_records(make, zipped, device, {.shards = 1, .compression = pd::Compression::gzip});
    }
    const std::string file = name + "/shard-00000.tfrecord";
    const double plain = best_of(rounds, [&] { return plain_read(file); });
    const double records = best_of(rounds, [&] { return raw_records(file, device, true); });
    fmt::print("raw_{}_share {:.2f}\n", size, records / plain);
    fmt::print("raw_{}_records {:.0f}\n", size, records / static_cast<double>(size));
    if (!fs::exists(zipped)) continue;
    fmt::print("raw_{}_gzip {:.0f}\n", size, best_of(1, [&] {
                 return raw_records(zipped + "/shard-00000.tfrecord", device, true);
               }));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("TFRecord, raw bytes and the cache on disk");
  std::string folder;
  std::string pictures;
  std::int64_t count = 100'000;
  int rounds = 3;
  int budget = 256;
  app.add_option("--folder", folder, "Where files are made and left")->required();
  app.add_option("--pictures", pictures, "A folder per class, for the cache's part");
  app.add_option("--count", count);
  app.add_option("--rounds", rounds);
  app.add_option("--budget", budget, "MiB");
  bool other_sizes = false;
  app.add_flag("--sweep", other_sizes, "Bytes of records from 100 B to 10 MB, and nothing else");
  CLI11_PARSE(app, argc, argv);
  const auto device = pm::Device::open("cpu:0", {.limit = pm::MiB(static_cast<pm::Bytes>(budget))});

  if (other_sizes) {
    sweep(folder, device, rounds);
    fmt::print("rss_peak {}\n", pm::peak_resident_bytes());
    return 0;
  }
  const std::string small = folder + "/small";
  const std::string large = folder + "/large";
  if (!fs::exists(small))
    write_records(named(count, "small", 16, 20), small, device, {.shards = 1});
  if (!fs::exists(large))
    write_records(named(2'000, "large", 1, 100'000), large, device, {.shards = 1});
  const std::string small_file = small + "/shard-00000.tfrecord";
  const std::string large_file = large + "/shard-00000.tfrecord";

  const pd::Dataset examples = pd::Dataset::tfrecords(
      small_file,
      {{"label", pm::DType::i64}, {"values", pm::DType::f32, {16}}, {"text", pm::DType::bytes}});
  fmt::print("parsed_batched {:.0f}\n",
             best_of(rounds, [&] { return rate(examples.batch(256).prefetch(), device); }));
  fmt::print("parsed_shuffled_batched {:.0f}\n", best_of(rounds, [&] {
               return rate(examples.shuffle().batch(256).prefetch(), device);
             }));
  fmt::print("read_bytes {:.0f}\n", best_of(rounds, [&] { return plain_read(large_file); }));
  fmt::print("raw_bytes {:.0f}\n",
             best_of(rounds, [&] { return raw_records(large_file, device, true); }));
  const auto size = static_cast<pm::Bytes>(fs::file_size(large_file));
  fmt::print("read_bytes_by_cpu {:.0f}\n",
             by_cpu(2 * rounds, size, [&] { plain_read(large_file); }));
  fmt::print("raw_bytes_by_cpu {:.0f}\n",
             by_cpu(2 * rounds, size, [&] { raw_records(large_file, device, true); }));
  fmt::print("raw_bytes_unverified {:.0f}\n",
             best_of(rounds, [&] { return raw_records(large_file, device, false); }));

  if (!pictures.empty()) {
    const std::string cache = folder + "/cache";
    fs::remove_all(cache);
    const pd::Dataset decoded = pd::Dataset::image_folder(pictures).map(
        pd::load_images({.height = 224, .width = 224}), {.parallel = pd::kAutotune});
    fmt::print("decoded {:.0f}\n",
               best_of(rounds, [&] { return rate(decoded.batch(32).prefetch(), device); }));
    rate(decoded.cache(cache).batch(32).prefetch(), device);
    fmt::print("cached {:.0f}\n", best_of(rounds, [&] {
                 return rate(decoded.cache(cache).batch(32).prefetch(), device);
               }));
  }
  fmt::print("rss_peak {}\n", pm::peak_resident_bytes());
  return 0;
}
