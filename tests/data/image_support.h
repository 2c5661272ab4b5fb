#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <jpeglib.h>

#include <nlohmann/json.hpp>

#include <plimsoll/data/image/load.h>

namespace plimsoll::image::testing {

using File = std::vector<std::byte>;

/// malloc that knows the most it gave out at a time.
class CountingScratch final : public Scratch {
 public:
  ~CountingScratch() override {
    for (const auto& [pointer, bytes] : live_) std::free(pointer);
  }
  void* allocate(Bytes bytes) override {
    void* pointer = std::malloc(bytes);
    live_.emplace_back(pointer, bytes);
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    return pointer;
  }
  void free(void* pointer) noexcept override {
    const auto found =
        std::find_if(live_.begin(), live_.end(), [&](const auto& e) { return e.first == pointer; });
    if (found == live_.end()) std::abort();
    now_ -= found->second;
    live_.erase(found);
    std::free(pointer);
  }
  Bytes live() const { return now_; }
  Bytes peak() const { return peak_; }

 private:
  std::vector<std::pair<void*, Bytes>> live_;
  Bytes now_ = 0;
  Bytes peak_ = 0;
};

inline std::filesystem::path recorded_folder() {
  return std::filesystem::path(PLIMSOLL_TEST_SOURCE_DIR) / "data" / "recorded";
}

inline File read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

/// Every picture that was recorded, sorted by name.
inline std::vector<std::filesystem::path> recorded_pictures() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(recorded_folder() / "images")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// What tests/data/record/record_images.py wrote.
class Recorded {
 public:
  Recorded() : blob_(read_bytes(recorded_folder() / "images.bin")) {
    std::ifstream file(recorded_folder() / "images.json");
    json_ = nlohmann::json::parse(file);
  }
  std::vector<nlohmann::json> cases(const std::string& kind) const {
    std::vector<nlohmann::json> result;
    for (const auto& entry : json_.at("cases")) {
      if (entry.at("kind") == kind) result.push_back(entry);
    }
    return result;
  }
  template <class T>
  std::vector<T> values(const nlohmann::json& tensor) const {
    std::size_t count = 1;
    for (const std::size_t n : tensor.at("shape")) count *= n;
    std::vector<T> result(count);
    std::memcpy(result.data(), blob_.data() + tensor.at("offset").get<std::size_t>(),
                count * sizeof(T));
    return result;
  }
  static Extent extent(const nlohmann::json& tensor) {
    const auto& shape = tensor.at("shape");
    return {shape[0].get<int>(), shape[1].get<int>(), shape[2].get<int>()};
  }
  File file(const nlohmann::json& entry) const {
    return read_bytes(recorded_folder() / entry.at("file").get<std::string>());
  }

 private:
  File blob_;
  nlohmann::json json_;
};

struct JpegKind {
  int width = 64;
  int height = 48;
  int quality = 85;
  /// Horizontal and vertical sampling factors per component; one component makes a gray picture.
  std::vector<std::array<int, 2>> sampling{{2, 2}, {1, 1}, {1, 1}};
  bool progressive = false;
  /// A scan per component, sequential.
  bool separate_scans = false;
  bool arithmetic = false;
  unsigned seed = 1;
};

/// A noisy picture, encoded.
inline File make_jpeg(const JpegKind& kind) {
  std::mt19937 random(kind.seed);
  const int channels = static_cast<int>(kind.sampling.size());
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &buffer, &size);
  cinfo.image_width = static_cast<JDIMENSION>(kind.width);
  cinfo.image_height = static_cast<JDIMENSION>(kind.height);
  cinfo.input_components = channels;
  cinfo.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, kind.quality, TRUE);
  cinfo.arith_code = kind.arithmetic ? TRUE : FALSE;
  for (int i = 0; i < channels; ++i) {
    cinfo.comp_info[i].h_samp_factor = kind.sampling[static_cast<std::size_t>(i)][0];
    cinfo.comp_info[i].v_samp_factor = kind.sampling[static_cast<std::size_t>(i)][1];
  }
  std::vector<jpeg_scan_info> scans;
  if (kind.progressive) jpeg_simple_progression(&cinfo);
  if (kind.separate_scans) {
    for (int i = 0; i < channels; ++i) scans.push_back({1, {i, 0, 0, 0}, 0, 63, 0, 0});
    cinfo.scan_info = scans.data();
    cinfo.num_scans = channels;
  }
  jpeg_start_compress(&cinfo, TRUE);
  std::vector<unsigned char> row(static_cast<std::size_t>(kind.width * channels));
  for (int y = 0; y < kind.height; ++y) {
    for (int x = 0; x < kind.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int base = 128 + 6 * (x % 19) * (c == 0 ? 1 : -1) + 5 * (y % 23) * (c == 1 ? -1 : 1);
        row[static_cast<std::size_t>(x * channels + c)] = static_cast<unsigned char>(
            std::clamp(base + static_cast<int>(random() % 41) - 20, 0, 255));
      }
    }
    JSAMPROW target = row.data();
    jpeg_write_scanlines(&cinfo, &target, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
  File file(bytes, bytes + size);
  std::free(buffer);
  return file;
}

inline std::vector<std::uint8_t> decoded(const File& file, const DecodeOptions& options = {}) {
  const ImageInfo info = probe(file);
  const Extent e = decoded_extent(info, options);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(e.height) *
                                static_cast<std::size_t>(e.width) *
                                static_cast<std::size_t>(e.channels));
  CountingScratch scratch;
  decode(file, info, options, scratch, packed(out.data(), e.height, e.width, e.channels));
  return out;
}

inline std::vector<float> loaded(const File& file, const LoadOptions& options) {
  const ImageInfo info = probe(file);
  std::vector<float> out(static_cast<std::size_t>(options.height) *
                         static_cast<std::size_t>(options.width) *
                         static_cast<std::size_t>(options.channels));
  CountingScratch scratch;
  load(file, info, options, scratch, out.data());
  return out;
}

template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return 1e30;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace plimsoll::image::testing
