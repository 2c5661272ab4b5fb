// How fast files in memory become 224 x 224 float pictures on one thread, as shares of what
// libjpeg-turbo needs to decode them alone (same dct, one reused row).

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/data/image/load.h>

#include "data/image_files.h"
#include "decode_alone.h"

namespace {

namespace image = plimsoll::image;
using image::testing::File;
using image::testing::JpegKind;
using image::testing::Pixels;
using image::testing::Scene;
using plimsoll::bench::decode_alone;
using plimsoll::bench::ReusedScratch;

/// Processor time of this thread: what other programs take does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Rates {
  double alone, full, scaled;
};

/// Images per second of each way; the best of several rounds, taken in turn so that a busy machine
/// disturbs all alike.
Rates measure(const std::vector<File>& files, int target, int rounds) {
  std::vector<unsigned char> row;
  std::vector<float> out(static_cast<std::size_t>(target) * target * 3);
  ReusedScratch scratch;
  const auto load = [&](const File& file, bool scaled) {
    const image::ImageInfo info = image::probe(file);
    image::LoadOptions options;
    options.height = options.width = target;
    options.allow_scaled = scaled;
    image::load(file, info, options, scratch, out.data());
  };
  const auto seconds = [&](auto&& work) {
    const double start = thread_seconds();
    for (const auto& file : files) work(file);
    return thread_seconds() - start;
  };
  double alone = 1e9;
  double full = 1e9;
  double scaled = 1e9;
  for (int i = 0; i < rounds; ++i) {
    alone = std::min(alone, seconds([&](const auto& f) { decode_alone(f, JDCT_IFAST, row); }));
    full = std::min(full, seconds([&](const auto& f) { load(f, false); }));
    scaled = std::min(scaled, seconds([&](const auto& f) { load(f, true); }));
  }
  const auto n = static_cast<double>(files.size());
  return {n / alone, n / full, n / scaled};
}

struct Sampling {
  const char* name;
  int horizontal, vertical;
};
constexpr Sampling kSamplings[] = {{"4:2:0", 2, 2}, {"4:2:2", 2, 1}, {"4:4:4", 1, 1}};

std::string name_of(const Scene& scene, const Sampling& sampling, const JpegKind& kind) {
  return fmt::format("{}x{} {} q{} {}{}{}", scene.width, scene.height, sampling.name, kind.quality,
                     scene.textured ? "textured" : "soft", kind.restart != 0 ? " restarts" : "",
                     kind.progressive ? " progressive" : "");
}

struct Settings {
  int target = 224;
  int rounds = 7;
  std::string only;
};

void report(const Settings& settings, const std::string& name, const JpegKind& kind,
            const std::vector<Pixels>& pictures) {
  if (name.find(settings.only) == std::string::npos) return;
  std::vector<File> files;
  double size = 0;
  for (const Pixels& picture : pictures) {
    files.push_back(encode_jpeg(kind, picture));
    size += static_cast<double>(files.back().size()) / 1024;
  }
  image::LoadOptions options;
  options.height = options.width = settings.target;
  options.allow_scaled = true;
  const int eighths = image::plan_load(image::probe(files[0]), options).eighths;
  const Rates r = measure(files, settings.target, settings.rounds);
  fmt::print("{:40} {:7.0f} {:8.1f} | {:8.1f} {:6.2f} | {:8.1f} {:6.2f} {:4}\n", name,
             size / static_cast<double>(files.size()), r.alone, r.full, r.full / r.alone, r.scaled,
             r.scaled / r.alone, eighths);
}

void report_scene(const Settings& settings, Scene scene) {
  std::vector<Pixels> pictures;
  for (unsigned i = 0, count = scene.width > 700 ? 1 : 4; i < count; ++i) {
    scene.seed = 1 + i;
    pictures.push_back(draw(scene));
  }
  for (const Sampling& sampling : kSamplings) {
    JpegKind kind{.width = scene.width,
                  .height = scene.height,
                  .sampling = {{sampling.horizontal, sampling.vertical}, {1, 1}, {1, 1}}};
    const auto one = [&] { report(settings, name_of(scene, sampling, kind), kind, pictures); };
    for (kind.quality = 75; kind.quality <= 95; kind.quality += kind.quality == 75 ? 15 : 5) one();
    kind.quality = 90;
    kind.restart = 20;
    one();
    kind.restart = 0;
    kind.progressive = true;
    if (sampling.horizontal == 2 && sampling.vertical == 2) one();
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Decode and resize on one thread, against libjpeg-turbo's decode alone");
  Settings settings;
  app.add_option("--size", settings.target, "edge of the result in pixels");
  app.add_option("--rounds", settings.rounds, "rounds; the best one counts");
  app.add_option("--only", settings.only, "measure the kinds whose name contains this");
  CLI11_PARSE(app, argc, argv);

  fmt::print("{:40} {:>7} {:>8} | {:>8} {:>6} | {:>8} {:>6} {:>4}\n", "jpeg", "KiB", "alone/s",
             "full/s", "ratio", "scaled/s", "ratio", "x/8");
  for (const bool textured : {false, true}) {
    for (const int width : {500, 1000, 1200, 2000, 4000}) {
      // Shrinking averages noise away.
      const float grain = width == 500 ? 10 : 5;
      report_scene(settings, {width, width * 3 / 4, textured, grain});
    }
  }
  return 0;
}
