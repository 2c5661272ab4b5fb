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

#include <jpeglib.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/data/pipeline.h>

namespace {

namespace fs = std::filesystem;
namespace image = plimsoll::image;
namespace pd = plimsoll::data;
using Clock = std::chrono::steady_clock;
using File = std::vector<std::byte>;

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
  std::vector<unsigned char> pixels = draw(seed);
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &buffer, &size);
  cinfo.image_width = kWidth;
  cinfo.image_height = kHeight;
  cinfo.input_components = 3;
  cinfo.in_color_space = JCS_RGB;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, 90, TRUE);
  jpeg_start_compress(&cinfo, TRUE);
  while (cinfo.next_scanline < cinfo.image_height) {
    JSAMPROW row = &pixels[std::size_t{cinfo.next_scanline} * kWidth * 3];
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
  File file(bytes, bytes + size);
  std::free(buffer);
  return file;
}

void decode_alone(const File& file, std::vector<unsigned char>& row) {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.out_color_space = JCS_RGB;
  cinfo.dct_method = JDCT_IFAST;
  jpeg_start_decompress(&cinfo);
  row.resize(std::size_t{cinfo.output_width} * 3);
  JSAMPROW target = row.data();
  while (cinfo.output_scanline < cinfo.output_height) jpeg_read_scanlines(&cinfo, &target, 1);
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
}

class ReusedScratch final : public image::Scratch {
 public:
  void* allocate(plimsoll::Bytes bytes) override {
    if (block_.size() < bytes) block_.resize(bytes);
    return block_.data();
  }
  void free(void*) noexcept override {}

 private:
  std::vector<std::byte> block_;
};

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

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "plimsoll_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A pipeline of pictures against decoding alone and against its loader");
  int threads = 2;
  int rounds = 5;
  int count = 1024;
  std::string budget = "256MiB";
  app.add_option("--threads", threads);
  app.add_option("--rounds", rounds, "rounds, taken in turn; the best of each counts");
  app.add_option("--images", count);
  app.add_option("--budget", budget);
  CLI11_PARSE(app, argc, argv);

  const Folder folder;
  constexpr unsigned kDistinct = 64;
  std::vector<File> distinct;
  for (unsigned i = 0; i < kDistinct; ++i) distinct.push_back(encode(i));
  fs::create_directory(folder.path() / "a");
  std::vector<const File*> files;
  for (int i = 0; i < count; ++i) {
    const File& file = distinct[static_cast<std::size_t>(i) % kDistinct];
    files.push_back(&file);
    std::ofstream(folder.path() / "a" / fmt::format("{:06}.jpg", i), std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
  }
  image::LoadOptions options;
  options.height = options.width = 224;
  const auto dataset = pd::Dataset::image_folder(folder.path())
                           .shuffle({})
                           .map(pd::load_images(options), {.parallel = pd::kAutotune})
                           .batch(128)
                           .prefetch();
  // As large as a batch: results go to memory, not to a cache.
  constexpr std::size_t kRow = std::size_t{224} * 224 * 3;
  constexpr std::size_t kRows = 128;
  std::vector<float> rows(kRows * kRow);
  const auto alone = [&] {
    return [&, row = std::vector<unsigned char>()](std::size_t at) mutable {
      decode_alone(*files[at], row);
    };
  };
  const auto fused = [&] {
    return [&, scratch = ReusedScratch()](std::size_t at) mutable {
      const image::ImageInfo info = image::probe(*files[at]);
      image::load(*files[at], info, options, scratch, &rows[at % kRows * kRow]);
    };
  };
  // Stays open, so that the first round alone pays for new pages.
  const auto device = plimsoll::Device::open("cpu:0", {.limit = plimsoll::parse_bytes(budget)});
  Seconds best_alone;
  Seconds best_fused;
  Seconds best_pipeline;
  for (int round = 0; round < rounds; ++round) {
    best_alone.improve(timed([&] { in_threads(threads, files.size(), alone); }));
    best_fused.improve(timed([&] { in_threads(threads, files.size(), fused); }));
    best_pipeline.improve(timed([&] { run_pipeline(dataset, threads, device); }));
  }
  const auto n = static_cast<double>(count);
  fmt::print("decode alone {:.0f} images/s, loader {:.0f}, pipeline {:.0f}\n", n / best_alone.wall,
             n / best_fused.wall, n / best_pipeline.wall);
  fmt::print("pipeline: {:.3f} of decode alone, {:.3f} of its loader\n",
             best_alone.wall / best_pipeline.wall, best_fused.wall / best_pipeline.wall);
  fmt::print("the same by processor time: {:.3f}, {:.3f}; loader {:.3f} of decode alone\n",
             best_alone.cpu / best_pipeline.cpu, best_fused.cpu / best_pipeline.cpu,
             best_alone.cpu / best_fused.cpu);
  return 0;
}
