#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <plimsoll/data/image/load.h>

#include "data/image_files.h"
#include "support/source_dir.h"

namespace plimsoll::image::testing {

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

inline std::filesystem::path recorded_folder() { return test_source_dir() / "data" / "recorded"; }

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
