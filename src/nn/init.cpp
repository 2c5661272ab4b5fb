#include <plimsoll/nn/init.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/base/philox.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::nn {
namespace {

/// Elements that are drawn on the host at a time.
constexpr std::int64_t kChunk = std::int64_t{1} << 16;

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

/// Draws for the elements of one parameter.
class Source {
 public:
  Source(std::uint64_t seed, std::string_view name)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        hash_(fnv1a(name)) {}

  float uniform(std::int64_t element) const {
    return Philox::unit(words(element / 4, 0)[static_cast<std::size_t>(element % 4)]);
  }

  /// Box and Muller, two of four words for one number; `attempt` gives others.
  float normal(std::int64_t element, std::uint32_t attempt = 0) const {
    const Philox::Counter w = words(element / 2, attempt);
    const std::size_t at = static_cast<std::size_t>(element % 2) * 2;
    const double u = 1.0 - static_cast<double>(Philox::unit(w[at]));
    const double angle = 2 * std::numbers::pi * static_cast<double>(Philox::unit(w[at + 1]));
    return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(angle));
  }

  float truncated_normal(std::int64_t element) const {
    for (std::uint32_t attempt = 0;; ++attempt) {
      const float value = normal(element, attempt);
      if (std::fabs(value) <= 2.0F) return value;
    }
  }

 private:
  Philox::Counter words(std::int64_t block, std::uint32_t attempt) const {
    const auto b = static_cast<std::uint64_t>(block);
    return Philox::draw(
        {static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32) ^ (attempt << 16),
         static_cast<std::uint32_t>(hash_), static_cast<std::uint32_t>(hash_ >> 32)},
        key_);
  }

  Philox::Key key_;
  std::uint64_t hash_;
};

float draw(const Source& source, const Init& init, std::int64_t element) {
  const auto scale = static_cast<float>(init.scale);
  switch (init.kind) {
    case Init::Kind::constant:
      break;
    case Init::Kind::uniform:
      return (2 * source.uniform(element) - 1) * scale;
    case Init::Kind::normal:
      return source.normal(element) * scale;
    case Init::Kind::truncated_normal:
      return source.truncated_normal(element) * scale;
  }
  return scale;
}

}  // namespace

Init Init::he_normal(std::int64_t fan) {
  return normal(std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(fan, 1))));
}
Init Init::glorot_uniform(std::int64_t fan_in, std::int64_t fan_out) {
  return uniform(std::sqrt(6.0 / static_cast<double>(std::max<std::int64_t>(fan_in + fan_out, 1))));
}
Init Init::fan_in_uniform(std::int64_t fan_in) {
  return uniform(1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(fan_in, 1))));
}

void fill(Tensor& tensor, const Init& init, std::string_view name, std::uint64_t seed) {
  const std::int64_t count = tensor.elements();
  if (init.kind == Init::Kind::constant && tensor.dtype() != DType::f32) {
    ops::assign(tensor, ops::full(tensor.shape(), init.scale, tensor.dtype(), tensor.device()));
    return;
  }
  if (tensor.dtype() != DType::f32) {
    throw InvalidArgument(fmt::format("[fill] {} is {}; only f32 parameters start at random", name,
                                      tensor.type().to_string()));
  }
  const Source source(seed, name);
  Tensor flat = tensor.reshape({count});
  std::vector<float> chunk(static_cast<std::size_t>(std::min(count, kChunk)));
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const std::int64_t length = std::min(kChunk, count - begin);
    parallel_for(length, kChunk / 8, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        chunk[static_cast<std::size_t>(i)] = draw(source, init, begin + i);
      }
    });
    flat.slice(0, begin, begin + length)
        .copy_from(std::span<const float>(chunk.data(), static_cast<std::size_t>(length)));
  }
}

}  // namespace plimsoll::nn
