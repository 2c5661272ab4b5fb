#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/data/pipeline.h>

#include "data/image_support.h"
#include "support/own_device.h"

namespace plimsoll::data::testing {

inline Device host(Bytes limit = MiB(256)) { return test::own_cpu({.limit = limit}); }

/// An element as text, contents included.
inline std::string text_of(const Element& element) {
  std::string text;
  for (const Value& value : element) {
    text += text.empty() ? "" : " ";
    if (value.is_scalar() || value.dtype() == DType::bytes) {
      if (value.is_scalar()) {
        text += Element{value}.to_string();
      } else {
        for (std::int64_t i = 0; i < value.tensor().elements(); ++i) {
          text += "'" + std::string(value.tensor().string_at(i)) + "'";
        }
      }
    } else {
      text += value.tensor().to_string({.threshold = 1 << 20, .width = 1 << 20});
    }
  }
  return text;
}

/// What next() gives from here on, errors as their messages.
inline std::vector<std::string> rest_of(Pipeline& pipeline, std::size_t most = 100'000) {
  std::vector<std::string> result;
  while (result.size() < most) {
    try {
      const auto element = pipeline.next();
      if (!element) break;
      result.push_back(text_of(*element));
    } catch (const DataError& error) {
      result.push_back(std::string("error: ") + error.what());
    }
  }
  return result;
}

inline std::vector<std::string> run(const Dataset& dataset, const PipelineOptions& options = {}) {
  const Device device = host();
  Pipeline pipeline(dataset, device, options);
  return rest_of(pipeline);
}

/// The i64 scalars in component 0.
inline std::vector<std::int64_t> numbers(const Dataset& dataset,
                                         const PipelineOptions& options = {}) {
  const Device device = host();
  Pipeline pipeline(dataset, device, options);
  std::vector<std::int64_t> result;
  while (const auto element = pipeline.next()) result.push_back(element->at(0).as<std::int64_t>());
  return result;
}

inline std::int64_t number(const Element& element) { return element.at(0).as<std::int64_t>(); }

inline MapFunction plus(std::int64_t amount) {
  MapFunction function;
  function.run = [amount](const Element& element, MapContext&) {
    return Element{Value(number(element) + amount)};
  };
  function.output = ElementSpec{true, {TensorSpec::scalar(DType::i64)}, {}};
  function.name = "plus " + std::to_string(amount);
  return function;
}

/// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const void* data, std::size_t size) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary)
        .write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  void write(const std::string& name, const std::string& text) const {
    write(name, text.data(), text.size());
  }

 private:
  std::filesystem::path path_;
};

/// `count` pictures of differing sizes in two classes.
inline void write_pictures(const TemporaryFolder& folder, int count) {
  for (int i = 0; i < count; ++i) {
    const auto file = image::testing::make_jpeg(
        {.width = 40 + 7 * (i % 5), .height = 30 + 5 * (i % 3), .seed = static_cast<unsigned>(i)});
    const std::string name = (i % 2 == 0 ? "a/" : "b/") + std::to_string(1000 + i) + ".jpg";
    folder.write(name, file.data(), file.size());
  }
}

}  // namespace plimsoll::data::testing
