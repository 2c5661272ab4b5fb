// Pictures with a random resized crop, a flip and colours, to batches of floats:
// bench_augment --pictures FOLDER [--resize plain] [--threads 2] [--epochs 3] [--budget 256]
//
// Prints images per second, of the best epoch, and the peak RSS as JSON. `--resize antialias` is
// what torchvision does, `plain` what tf.image does.

#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/system.h>
#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;
namespace pd = plimsoll::data;

namespace {

double rate(const std::string& folder, bool antialias, int threads, int epochs, pm::Bytes budget) {
  const auto host = pm::Device::open("cpu:0", {.limit = budget});
  pm::image::ResizedCropOptions crop;
  crop.resize.antialias = antialias;
  const auto dataset =
      pd::Dataset::image_folder(folder)
          .shuffle()
          .map([&](pm::Symbolic image, pm::Symbolic label) {
            const auto cropped =
                pm::image::random_flip(pm::image::random_resized_crop(image, 224, 224, crop));
            return pm::Symbolics{
                pm::image::to_unit(pm::image::color_jitter(
                    cropped, {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1})),
                label};
          })
          .batch(64)
          .prefetch();
  pd::Pipeline pipeline(dataset, host, {.threads = threads, .seed = 1});
  double best = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t count = 0;
    while (const auto batch = pipeline.next()) count += (*batch)[1].tensor().dim(0);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(count) / taken.count());
    pipeline.rewind();
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Augmentation");
  std::string folder;
  std::string resize = "plain";
  int budget = 256;
  int threads = 2;
  int epochs = 3;
  app.add_option("--pictures", folder)->required();
  app.add_option("--resize", resize)->check(CLI::IsMember({"plain", "antialias"}));
  app.add_option("--budget", budget, "MiB");
  app.add_option("--threads", threads);
  app.add_option("--epochs", epochs);
  CLI11_PARSE(app, argc, argv);
  const double best =
      rate(folder, resize == "antialias", threads, epochs, pm::MiB(static_cast<pm::Bytes>(budget)));
  fmt::print("{{\"rate\": {:.1f}, \"rss_peak\": {}}}\n", best, pm::peak_resident_bytes());
}
