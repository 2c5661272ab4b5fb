// What a pipeline costs on top of its loader: images per second of read, decode, resize, float and
// batch, as shares of libjpeg-turbo's decode alone and of the fused loader without a pipeline (both
// with files in memory, the same number of threads, nothing else).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <stdlib.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/data/pipeline.h>
#include <plimsoll/data/program_ops.h>

#include "data/image_files.h"
#include "decode_alone.h"

namespace {

namespace fs = std::filesystem;
namespace image = plimsoll::image;
namespace pd = plimsoll::data;
using Clock = std::chrono::steady_clock;
using image::testing::File;
using plimsoll::bench::decode_alone;
using plimsoll::bench::ReusedScratch;

constexpr int kWidth = 500;
constexpr int kHeight = 375;

/// By the clock, and of processors: the second is what a busy machine does not change.
struct Seconds {
  double wall = 1e9;
  double cpu = 1e9;
  void improve(const Seconds& other) {
    wall = std::min(wall, other.wall);
    cpu = std::min(cpu, other.cpu);
  }
};

template <typename Work>
Seconds timed(Work&& work) {
  const auto begin = Clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double>(Clock::now() - begin).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

/// A photograph's worth of detail: soft colours under noise.
std::vector<unsigned char> draw(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> pixels(std::size_t{kWidth} * kHeight * 3);
  const unsigned red = random() % 256;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto x = static_cast<unsigned>(i / 3 % kWidth);
    const auto y = static_cast<unsigned>(i / 3 / kWidth);
    const unsigned soft = (i % 3 == 0 ? red + x / 4 : i % 3 == 1 ? y / 2 : x / 8 + y / 4) % 256;
    const auto noisy = static_cast<int>(soft) + static_cast<int>(random() % 41) - 20;
    pixels[i] = static_cast<unsigned char>(std::clamp(noisy, 0, 255));
  }
  return pixels;
}

File encode(unsigned seed) {
  return image::testing::encode_jpeg({.width = kWidth, .height = kHeight, .quality = 90},
                                     draw(seed));
}

/// Has `threads` threads do all files, each taking the next one.
template <typename PerThread>
void in_threads(int threads, std::size_t count, PerThread make_worker) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      auto worker = make_worker();
      for (std::size_t at = next++; at < count; at = next++) worker(at);
    });
  }
  for (std::thread& each : all) each.join();
}

void run_pipeline(const pd::Dataset& dataset, int threads, const plimsoll::Device& device) {
  pd::Pipeline pipeline(dataset, device, {.threads = threads});
  while (pipeline.next()) {
  }
}

/// A folder that goes with the object, unless it was given.
class Folder {
 public:
  explicit Folder(const std::string& given) : path_(given), kept_(!given.empty()) {
    if (kept_) return;
    std::string name = (fs::temp_directory_path() / "plimsoll_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (!kept_) fs::remove_all(path_);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  bool kept_;
};

/// Pictures as files of one class, and in memory.
std::vector<const File*> write_pictures(const fs::path& folder, const std::vector<File>& distinct,
                                        int count) {
  fs::create_directories(folder / "a");
  std::vector<const File*> files;
  for (int i = 0; i < count; ++i) {
    const File& file = distinct[static_cast<std::size_t>(i) % distinct.size()];
    files.push_back(&file);
    const fs::path path = folder / "a" / fmt::format("{:06}.jpg", i);
    std::error_code none;
    if (fs::file_size(path, none) == file.size()) continue;  // of an earlier run
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
  }
  return files;
}

struct Settings {
  int threads = 2;
  int rounds = 5;
  int count = 1024;
  std::string budget = "256MiB";
  std::string folder;
  std::string dct = "fast";
  bool json = false;
};

void print(const Settings& settings, const Seconds& alone, const Seconds& fused,
           const Seconds& pipeline, const Seconds& program) {
  const auto n = static_cast<double>(settings.count);
  if (settings.json) {
    fmt::print(
        "{{\"alone\": {{\"wall\": {:.2f}, \"cpu\": {:.2f}}}, \"loader\": {{\"wall\": {:.2f}, "
        "\"cpu\": {:.2f}}}, \"pipeline\": {{\"wall\": {:.2f}, \"cpu\": {:.2f}}}}}\n",
        n / alone.wall, n / alone.cpu, n / fused.wall, n / fused.cpu, n / pipeline.wall,
        n / pipeline.cpu);
    return;
  }
  fmt::print("decode alone {:.0f} images/s, loader {:.0f}, pipeline {:.0f}\n", n / alone.wall,
             n / fused.wall, n / pipeline.wall);
  fmt::print("pipeline: {:.3f} of decode alone, {:.3f} of its loader\n", alone.wall / pipeline.wall,
             fused.wall / pipeline.wall);
  fmt::print("the same by processor time: {:.3f}, {:.3f}; loader {:.3f} of decode alone\n",
             alone.cpu / pipeline.cpu, fused.cpu / pipeline.cpu, alone.cpu / fused.cpu);
  fmt::print("a program that does the same: {:.3f} of load_images, {:.3f} by processor time\n",
             pipeline.wall / program.wall, pipeline.cpu / program.cpu);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A pipeline of pictures against decoding alone and against its loader");
  Settings settings;
  app.add_option("--threads", settings.threads);
  app.add_option("--rounds", settings.rounds, "rounds, taken in turn; the best of each counts");
  app.add_option("--images", settings.count);
  app.add_option("--budget", settings.budget);
  app.add_option("--folder", settings.folder, "write the pictures there and leave them");
  app.add_option("--dct", settings.dct)->check(CLI::IsMember({"fast", "accurate"}));
  app.add_flag("--json", settings.json, "print one line, images per second of wall and CPU time");
  CLI11_PARSE(app, argc, argv);

  const Folder folder(settings.folder);
  constexpr unsigned kDistinct = 128;
  std::vector<File> distinct;
  for (unsigned i = 0; i < kDistinct; ++i) distinct.push_back(encode(i));
  const std::vector<const File*> files = write_pictures(folder.path(), distinct, settings.count);

  const bool fast = settings.dct == "fast";
  image::LoadOptions options;
  options.height = options.width = 224;
  options.dct = fast ? image::Dct::fast : image::Dct::accurate;
  const auto dataset = pd::Dataset::image_folder(folder.path())
                           .shuffle({})
                           .map(pd::load_images(options), {.parallel = pd::kAutotune})
                           .batch(128)
                           .prefetch();
  const auto described = pd::Dataset::image_folder(folder.path(), {.dct = options.dct})
                             .shuffle({})
                             .map([](pd::Symbolic picture, pd::Symbolic label) {
                               return pd::Symbolics{image::resize(picture, 224, 224) / 255, label};
                             })
                             .batch(128)
                             .prefetch();
  // As large as a batch: results go to memory, not to a cache.
  constexpr std::size_t kRow = std::size_t{224} * 224 * 3;
  constexpr std::size_t kRows = 128;
  std::vector<float> rows(kRows * kRow);
  const auto alone = [&] {
    return [&, row = std::vector<unsigned char>()](std::size_t at) mutable {
      decode_alone(*files[at], fast ? JDCT_IFAST : JDCT_ISLOW, row);
    };
  };
  const auto fused = [&] {
    return [&, scratch = ReusedScratch()](std::size_t at) mutable {
      const image::ImageInfo info = image::probe(*files[at]);
      image::load(*files[at], info, options, scratch, &rows[at % kRows * kRow]);
    };
  };
  // Stays open, so that the first round alone pays for new pages.
  const auto device =
      plimsoll::Device::open("cpu:0", {.limit = plimsoll::parse_bytes(settings.budget)});
  Seconds best_alone;
  Seconds best_fused;
  Seconds best_pipeline;
  Seconds best_program;
  const int threads = settings.threads;
  for (int round = 0; round < settings.rounds; ++round) {
    best_alone.improve(timed([&] { in_threads(threads, files.size(), alone); }));
    best_fused.improve(timed([&] { in_threads(threads, files.size(), fused); }));
    best_pipeline.improve(timed([&] { run_pipeline(dataset, threads, device); }));
    best_program.improve(timed([&] { run_pipeline(described, threads, device); }));
  }
  print(settings, best_alone, best_fused, best_pipeline, best_program);
  return 0;
}
