#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <plimsoll/base/error.h>

#include "data/image_support.h"

namespace plimsoll::image::testing {

/// Pictures of every kind to start from.
inline std::vector<File> fuzz_seeds() {
  std::vector<File> seeds;
  for (const auto& path : recorded_pictures()) seeds.push_back(read_bytes(path));
  seeds.push_back(make_jpeg({.arithmetic = true}));
  seeds.push_back(make_jpeg({.progressive = true, .arithmetic = true}));
  seeds.push_back(make_jpeg({.separate_scans = true}));
  seeds.push_back(make_jpeg({.sampling = {{4, 2}, {1, 1}, {1, 1}}}));
  seeds.push_back(make_jpeg({.sampling = {{1, 1}, {2, 2}, {1, 2}}}));
  seeds.push_back(make_jpeg({.restart = 3}));
  seeds.push_back(make_jpeg({.quality = 40, .optimized = true}));
  seeds.push_back(make_jpeg({.sampling = {{2, 1}, {1, 1}, {1, 1}}, .restart = 4}));
  seeds.push_back(make_jpeg({.quality = 100, .sampling = {{1, 1}, {1, 1}, {1, 1}}}));
  return seeds;
}

/// Makes the checksums of a PNG's chunks right again, so that damage reaches what lies behind them.
inline void repair_png_checksums(File& file) {
  const auto number = [&](std::size_t at) {
    std::uint32_t result = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      result = result << 8 | std::to_integer<std::uint32_t>(file[at + i]);
    }
    return result;
  };
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::size_t length = number(at);
    if (length > file.size() - at - 12) return;
    std::uint32_t crc = 0xffffffff;
    for (std::size_t i = at + 4; i < at + 8 + length; ++i) {
      crc ^= std::to_integer<std::uint32_t>(file[i]);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      file[at + 8 + length + i] = static_cast<std::byte>(~crc >> (24 - 8 * i));
    }
    at += 12 + length;
  }
}

/// A few random changes: bytes, runs, pieces moved, cut off or doubled.
inline File mutate(File file, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  const bool png = !file.empty() && file[0] == std::byte{0x89};
  // Half of the changes hit the header, where they matter most.
  const auto place = [&] {
    return below(random() % 2 == 0 ? std::min<std::size_t>(file.size(), 700) : file.size());
  };
  for (std::size_t i = 0, count = 1 + below(4); i < count && !file.empty(); ++i) {
    const std::size_t at = place();
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    const auto length =
        static_cast<std::ptrdiff_t>(std::min<std::size_t>(1 + below(24), file.size() - at));
    switch (random() % 8) {
      case 0:
        *begin = static_cast<std::byte>(random());
        break;
      case 1:
        *begin ^= static_cast<std::byte>(1U << random() % 8);
        break;
      case 2:
        *begin = random() % 2 == 0 ? std::byte{0} : std::byte{0xff};
        break;
      case 3:
        std::fill_n(begin, length, static_cast<std::byte>(random()));
        break;
      case 4:
        file.erase(begin, begin + length);
        break;
      case 5: {
        const File piece(begin, begin + length);
        file.insert(file.begin() + static_cast<std::ptrdiff_t>(place()), piece.begin(),
                    piece.end());
        break;
      }
      case 6: {
        const std::size_t from = place();
        for (std::ptrdiff_t k = 0; k < length && from + k < file.size(); ++k) {
          begin[k] = file[from + static_cast<std::size_t>(k)];
        }
        break;
      }
      default:
        if (random() % 4 == 0) file.resize(at);
    }
  }
  if (png && random() % 4 != 0) repair_png_checksums(file);
  return file;
}

/// Loads `file` once more through libjpeg alone, as it does for four channels. Empty if the verdict
/// is the same and so is every bit of the three channels, which are null if loading them failed.
inline std::string compare_with_libjpeg(const File& file, const ImageInfo& info,
                                        LoadOptions options, const std::vector<float>* three) {
  options.channels = 4;
  options.layout = Layout::channels_last;
  std::vector<float> four(static_cast<std::size_t>(options.height * options.width * 4));
  CountingScratch scratch;
  try {
    load(file, info, options, scratch, four.data());
  } catch (const DataError& error) {
    return three == nullptr ? std::string() : std::string("libjpeg refuses it: ") + error.what();
  }
  if (three == nullptr) return "libjpeg reads it";
  for (std::size_t i = 0; i < three->size(); ++i) {
    if ((*three)[i] != four[i / 3 * 4 + i % 3]) return "libjpeg has other pixels";
  }
  return {};
}

/// Probes and reads any bytes at all in a way that `choice` decides. Empty if it ended in DataError
/// or in a picture, within the memory stated beforehand; else what is wrong.
inline std::string check_picture(const File& file, std::uint32_t choice) {
  std::mt19937 random(choice);
  CountingScratch scratch;
  Bytes bound = 0;
  try {
    const ImageInfo info = probe(file, {.max_pixels = 1 << 20});
    if (random() % 2 == 0) {
      const DecodeOptions options{.channels = static_cast<int>(random() % 5),
                                  .dct = random() % 2 == 0 ? Dct::fast : Dct::accurate,
                                  .apply_orientation = random() % 2 == 0};
      const Extent e = decoded_extent(info, options);
      std::vector<std::uint8_t> out(static_cast<std::size_t>(e.height) *
                                    static_cast<std::size_t>(e.width) *
                                    static_cast<std::size_t>(e.channels));
      bound = info.scratch;
      decode(file, info, options, scratch, packed(out.data(), e.height, e.width, e.channels));
    } else {
      LoadOptions options{
          .height = 1 + static_cast<int>(random() % 40),
          .width = 1 + static_cast<int>(random() % 40),
          .channels = random() % 3 == 0 ? (random() % 2 == 0 ? 1 : 4) : 3,
          .layout = random() % 2 == 0 ? Layout::channels_last : Layout::channels_first,
          .dct = random() % 2 == 0 ? Dct::fast : Dct::accurate,
          .flip = random() % 2 == 0,
          .apply_orientation = random() % 2 == 0,
          .allow_scaled = random() % 2 == 0};
      if (random() % 4 == 0) {
        options.resize = {static_cast<Filter>(random() % 4), random() % 2 == 0};
      }
      const bool turned = options.apply_orientation && info.orientation >= 5;
      const int width = turned ? info.height : info.width;
      const int height = turned ? info.width : info.height;
      if (random() % 2 == 0)
        options.crop = {width / 3, height / 4, width - width / 3, height - height / 4};
      const LoadPlan plan = plan_load(info, options);
      bound = plan.scratch;
      const bool compare =
          plan.path == LoadPlan::Path::planes && options.layout == Layout::channels_last;
      std::vector<float> out(
          static_cast<std::size_t>(options.height * options.width * options.channels));
      try {
        load(file, info, options, scratch, out.data());
      } catch (const DataError&) {
        std::string other =
            compare ? compare_with_libjpeg(file, info, options, nullptr) : std::string();
        if (!other.empty()) return other;
        throw;
      }
      if (compare) {
        std::string other = compare_with_libjpeg(file, info, options, &out);
        if (!other.empty()) return other;
      }
      for (const float v : out) {
        // Bicubic overshoots by an eighth at most in each direction.
        if (!(v >= -0.3F && v <= 1.3F)) return "a pixel is " + std::to_string(v);
      }
    }
  } catch (const DataError& error) {
    if (std::string(error.what()).find("nsufficient memory") != std::string::npos ||
        std::string(error.what()).find("ut of memory") != std::string::npos) {
      return std::string("the stated memory was not enough: ") + error.what();
    }
  } catch (const std::exception& error) {
    return std::string("not a DataError: ") + error.what();
  }
  if (scratch.peak() > bound) return "took more than the stated " + std::to_string(bound);
  if (scratch.live() != 0) return "kept scratch";
  return {};
}

/// Runs `count` mutations of the seeds; returns a description of the first that fails.
inline std::string fuzz_pictures(int count, unsigned seed) {
  const std::vector<File> seeds = fuzz_seeds();
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    const unsigned round = static_cast<unsigned>(random());
    std::mt19937 own(round);
    const File file = mutate(seeds[static_cast<std::size_t>(i) % seeds.size()], own);
    const std::string wrong = check_picture(file, round);
    if (!wrong.empty()) {
      return "input " + std::to_string(i) + " of seed " + std::to_string(seed) + ": " + wrong;
    }
  }
  return {};
}

}  // namespace plimsoll::image::testing
