// How fast files in memory become 224 x 224 float pictures on one thread, as shares of what
// libjpeg-turbo needs to decode them alone (same dct, one reused row).

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <jpeglib.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/data/image/load.h>

namespace {

namespace image = plimsoll::image;

struct JpegKind {
  const char* name;
  int width, height;
  int quality;
  int chroma;  // 1 or 2 pixels per chroma sample, in both directions
  bool progressive;
  double grain;
};

// Soft colour gradients, shapes with hard edges, and sensor noise.
std::vector<unsigned char> draw(const JpegKind& kind, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> any(0, 1);
  std::normal_distribution<float> noise(0, static_cast<float>(kind.grain));
  const int w = kind.width;
  const int h = kind.height;
  const int cell = std::max(12, w / 40);
  const int across = w / cell + 2;
  std::vector<float> low(static_cast<std::size_t>(across) * (h / cell + 2) * 3);
  for (float& v : low) v = 255 * any(random);
  std::vector<float> grain(65536);
  for (float& v : grain) v = noise(random);
  struct Disc {
    float x, y, r, colour[3];
  };
  std::vector<Disc> discs(6);
  for (Disc& d : discs) {
    d = {any(random) * w,
         any(random) * h,
         any(random) * h / 6,
         {255 * any(random), 255 * any(random), 255 * any(random)}};
  }
  std::vector<unsigned char> pixels(static_cast<std::size_t>(w) * h * 3);
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      const float fx = static_cast<float>(x % cell) / cell;
      const float fy = static_cast<float>(y % cell) / cell;
      const float* corner = &low[(static_cast<std::size_t>(y / cell) * across + x / cell) * 3];
      const float* below = corner + static_cast<std::size_t>(across) * 3;
      for (int c = 0; c < 3; ++c) {
        const float top = corner[c] + (corner[c + 3] - corner[c]) * fx;
        const float bottom = below[c] + (below[c + 3] - below[c]) * fx;
        float value = top + (bottom - top) * fy;
        for (const Disc& d : discs) {
          if (std::hypot(x - d.x, y - d.y) < d.r) value = d.colour[c];
        }
        value += grain[random() & 65535];
        pixels[(static_cast<std::size_t>(y) * w + x) * 3 + c] =
            static_cast<unsigned char>(std::clamp(value, 0.0F, 255.0F));
      }
    }
  }
  return pixels;
}

std::vector<std::byte> encode(const JpegKind& kind, unsigned seed) {
  std::vector<unsigned char> pixels = draw(kind, seed);
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &buffer, &size);
  cinfo.image_width = static_cast<JDIMENSION>(kind.width);
  cinfo.image_height = static_cast<JDIMENSION>(kind.height);
  cinfo.input_components = 3;
  cinfo.in_color_space = JCS_RGB;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, kind.quality, TRUE);
  cinfo.comp_info[0].h_samp_factor = cinfo.comp_info[0].v_samp_factor = kind.chroma;
  if (kind.progressive) jpeg_simple_progression(&cinfo);
  jpeg_start_compress(&cinfo, TRUE);
  while (cinfo.next_scanline < cinfo.image_height) {
    JSAMPROW row = &pixels[static_cast<std::size_t>(cinfo.next_scanline) * kind.width * 3];
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
  std::vector<std::byte> file(bytes, bytes + size);
  std::free(buffer);
  return file;
}

void decode_alone(std::span<const std::byte> file, std::vector<unsigned char>& row) {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.out_color_space = JCS_RGB;
  cinfo.dct_method = JDCT_IFAST;
  jpeg_start_decompress(&cinfo);
  row.resize(static_cast<std::size_t>(cinfo.output_width) * 3);
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
Rates measure(const std::vector<std::vector<std::byte>>& files, int target, int rounds) {
  std::vector<unsigned char> row;
  std::vector<float> out(static_cast<std::size_t>(target) * target * 3);
  ReusedScratch scratch;
  const auto load = [&](const std::vector<std::byte>& file, bool scaled) {
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
    alone = std::min(alone, seconds([&](const auto& f) { decode_alone(f, row); }));
    full = std::min(full, seconds([&](const auto& f) { load(f, false); }));
    scaled = std::min(scaled, seconds([&](const auto& f) { load(f, true); }));
  }
  const auto n = static_cast<double>(files.size());
  return {n / alone, n / full, n / scaled};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Decode and resize on one thread, against libjpeg-turbo's decode alone");
  int target = 224;
  int rounds = 15;
  app.add_option("--size", target, "edge of the result in pixels");
  app.add_option("--rounds", rounds, "rounds; the best one counts");
  std::string only;
  app.add_option("--only", only, "measure the kinds whose name contains this");
  CLI11_PARSE(app, argc, argv);

  const JpegKind kinds[] = {
      {"500x375 4:2:0 q90", 500, 375, 90, 2, false, 14},
      {"500x375 4:4:4 q90", 500, 375, 90, 1, false, 9},
      {"500x375 4:2:0 q90 progressive", 500, 375, 90, 2, true, 14},
      {"1000x750 4:2:0 q90", 1000, 750, 90, 2, false, 6},
      {"1000x750 4:4:4 q90", 1000, 750, 90, 1, false, 6},
      {"1200x900 4:2:0 q75", 1200, 900, 75, 2, false, 5},
      {"1200x900 4:2:0 q90", 1200, 900, 90, 2, false, 5},
      {"2000x1500 4:2:0 q90", 2000, 1500, 90, 2, false, 5},
      {"2000x1500 4:2:0 q90 progressive", 2000, 1500, 90, 2, true, 5},
      {"4000x3000 4:2:0 q90", 4000, 3000, 90, 2, false, 5},
      {"4000x3000 4:4:4 q90", 4000, 3000, 90, 1, false, 5},
  };
  fmt::print("{:32} {:>8} {:>9} | {:>9} {:>6} | {:>9} {:>6} {:>4}\n", "jpeg", "KiB", "alone/s",
             "full/s", "ratio", "scaled/s", "ratio", "x/8");
  for (const JpegKind& kind : kinds) {
    if (std::string(kind.name).find(only) == std::string::npos) continue;
    const int count = kind.width > 1500 ? 2 : 12;
    std::vector<std::vector<std::byte>> files;
    double size = 0;
    for (int i = 0; i < count; ++i) {
      files.push_back(encode(kind, static_cast<unsigned>(i)));
      size += static_cast<double>(files.back().size()) / count / 1024;
    }
    image::LoadOptions options;
    options.height = options.width = target;
    options.allow_scaled = true;
    const int eighths = image::plan_load(image::probe(files[0]), options).eighths;
    const Rates r = measure(files, target, rounds);
    fmt::print("{:32} {:8.1f} {:9.1f} | {:9.1f} {:6.3f} | {:9.1f} {:6.3f} {:4}\n", kind.name, size,
               r.alone, r.full, r.full / r.alone, r.scaled, r.scaled / r.alone, eighths);
  }
  return 0;
}
