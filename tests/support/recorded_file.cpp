#include "support/recorded_file.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

constexpr std::array<std::string_view, 7> kKinds = {"x", "y", "dx", "o", "p", "dp", "after"};
enum class Numbers : std::uint8_t { narrow, wide, whole, yes_or_no };

/// Numbers one after another.
template <typename T>
class Stream {
 public:
  explicit Stream(std::vector<T> numbers) : numbers_(std::move(numbers)) {}
  bool ended() const { return at_ == numbers_.size(); }
  T next() { return numbers_.at(at_++); }

 private:
  std::vector<T> numbers_;
  std::size_t at_ = 0;
};

/// What PackedCases.weights gives for an output of this shape.
std::vector<double> weights(const Shape& shape, std::int64_t number) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    all.push_back(static_cast<double>((37 * i + 11 * number + 5) % 17 - 8) / 8);
  }
  return all;
}

}  // namespace

RecordedFile::RecordedFile(const std::string& path) : file_(path) {
  constexpr std::string_view kParts = ".parts";
  for (const auto& entry : file_.header().entries) {
    if (entry.name.ends_with(kParts)) {
      unpack(entry.name.substr(0, entry.name.size() - kParts.size()));
    }
  }
}

void RecordedFile::unpack(const std::string& name) {
  const auto stream = [&](const char* what) {
    return file_.read(fmt::format("{}.{}", name, what), op_cases_device());
  };
  Stream<std::int16_t> parts(stream("parts").to_vector<std::int16_t>());
  Stream<double> narrow(as_doubles(stream("narrow")));
  Stream<double> wide(as_doubles(stream("wide")));
  while (!parts.ended()) {
    const std::int64_t number = parts.next();
    const std::string_view kind = kKinds.at(static_cast<std::size_t>(parts.next()));
    const std::string of = fmt::format("{}.{}", name, number);
    std::string key = fmt::format("{}.{}", of, kind);
    std::int64_t output = 0;
    if (kind == "x" || kind == "y" || kind == "dx") {
      output = parts.next();
      key += fmt::format(".{}", output);
    } else if (kind != "o") {
      key += '.';
      for (std::int64_t left = parts.next(); left > 0; --left) {
        key += static_cast<char>(parts.next());
      }
    }
    const auto numbers = static_cast<Numbers>(parts.next());
    std::vector<std::int64_t> extents(static_cast<std::size_t>(parts.next()));
    for (std::int64_t& extent : extents) extent = parts.next();
    const Shape shape{std::span<const std::int64_t>(extents)};
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      values.push_back(numbers == Numbers::narrow ? narrow.next()
                       : numbers == Numbers::wide ? wide.next()
                                                  : parts.next());
    }
    const DType dtype = numbers == Numbers::whole       ? DType::i64
                        : numbers == Numbers::yes_or_no ? DType::boolean
                                                        : DType::f32;
    unpacked_[key] = from_doubles(values, shape, dtype);
    if (kind == "y") {
      unpacked_[fmt::format("{}.dy.{}", of, output)] =
          from_doubles(weights(shape, output), shape, DType::f32);
    }
  }
}

bool RecordedFile::has(const std::string& name) const {
  return unpacked_.count(name) != 0 || file_.header().find(name) != nullptr;
}

Tensor RecordedFile::read(const std::string& name, const Device& device) const {
  const auto found = unpacked_.find(name);
  return found != unpacked_.end() ? found->second.clone(device, {}) : file_.read(name, device);
}

void RecordedFile::read_into(const std::string& name, Tensor& tensor) const {
  const auto found = unpacked_.find(name);
  if (found == unpacked_.end()) return file_.read_into(name, tensor);
  const std::vector<float> values = found->second.to_vector<float>();
  tensor.copy_from(std::span<const float>(values));
}

}  // namespace plimsoll::test
