// Makes a folder of JPEG pictures for the demo: shapes of any colour on noise, a folder per class,
// some for training and some to validate with. make_pictures FOLDER [COUNT]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace {

constexpr int kSize = 64;

void write_jpeg(const std::string& path, std::vector<unsigned char>& rgb) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             &std::fclose);
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_stdio_dest(&jpeg, file.get());
  jpeg.image_width = kSize;
  jpeg.image_height = kSize;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = rgb.data() + std::size_t{jpeg.next_scanline} * kSize * 3;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
}

/// Whether (x, y), seen from the middle of a shape of radius 1, lies in it.
bool inside(const std::string& shape, double x, double y) {
  const double distance = std::hypot(x, y);
  if (shape == "disc") return distance < 1;
  if (shape == "ring") return distance < 1 && distance > 0.6;
  if (shape == "square") return std::abs(x) < 0.9 && std::abs(y) < 0.9;
  return (std::abs(x) < 0.28 || std::abs(y) < 0.28) && std::abs(x) < 1 && std::abs(y) < 1;
}

std::vector<unsigned char> picture(const std::string& shape, std::mt19937& random) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const double radius = uniform(12, 22);
  const double left = uniform(radius, kSize - radius);
  const double top = uniform(radius, kSize - radius);
  const double ground = uniform(30, 110);
  const double colour[3] = {uniform(140, 255), uniform(140, 255), uniform(140, 255)};
  std::vector<unsigned char> rgb;
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      const bool on = inside(shape, (x - left) / radius, (y - top) / radius);
      for (const double c : colour) {
        const double value = (on ? c : ground) + uniform(-25, 25);
        rgb.push_back(static_cast<unsigned char>(std::fmin(255, std::fmax(0, value))));
      }
    }
  }
  return rgb;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: make_pictures FOLDER [COUNT]\n";
    return 2;
  }
  const int count = argc > 2 ? std::atoi(argv[2]) : 400;
  try {
    std::mt19937 random(7);
    for (const std::string part : {"train", "val"}) {
      for (const std::string shape : {"cross", "disc", "ring", "square"}) {
        const std::filesystem::path folder = std::filesystem::path(argv[1]) / part / shape;
        std::filesystem::create_directories(folder);
        for (int i = 0; i < (part == "train" ? count : count / 5); ++i) {
          std::vector<unsigned char> rgb = picture(shape, random);
          write_jpeg((folder / (std::to_string(i) + ".jpg")).string(), rgb);
        }
      }
    }
  } catch (const std::exception& error) {
    std::cerr << "make_pictures: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
