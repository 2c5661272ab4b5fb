#include <plimsoll/nn/init.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/base/philox.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::nn {
namespace {

/// Elements that are drawn on the host at a time on their way to another device.
constexpr std::int64_t kChunk = std::int64_t{1} << 20;
/// Elements that come of one draw.
constexpr std::int64_t kBlock = 4;

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

/// Draws for the elements of one parameter, in blocks of four.
class Source {
 public:
  using Block = std::array<float, kBlock>;

  Source(const Init& init, std::string_view name, std::uint64_t seed)
      : init_(init),
        key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        hash_(fnv1a(name)) {}

  Block block(std::int64_t index) const {
    const auto scale = static_cast<float>(init_.scale);
    Block values{};
    switch (init_.kind) {
      case Init::Kind::constant:
        values.fill(1);
        break;
      case Init::Kind::uniform: {
        const Philox::Counter w = words(index, 0);
        for (std::size_t i = 0; i < w.size(); ++i) values[i] = 2 * Philox::unit(w[i]) - 1;
        break;
      }
      case Init::Kind::normal:
        values = normal(index, 0);
        break;
      case Init::Kind::truncated_normal:
        values = truncated_normal(index);
        break;
    }
    for (float& value : values) value *= scale;
    return values;
  }

 private:
  Philox::Counter words(std::int64_t index, std::uint32_t attempt) const {
    const auto b = static_cast<std::uint64_t>(index);
    return Philox::draw(
        {static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32) ^ (attempt << 16),
         static_cast<std::uint32_t>(hash_), static_cast<std::uint32_t>(hash_ >> 32)},
        key_);
  }

  /// Box and Muller, two numbers of two words each; `attempt` gives others.
  Block normal(std::int64_t index, std::uint32_t attempt) const {
    const Philox::Counter w = words(index, attempt);
    Block values{};
    for (std::size_t i = 0; i < values.size(); i += 2) {
      const float radius = std::sqrt(-2 * std::log(1 - Philox::unit(w[i])));
      const float angle = 2 * std::numbers::pi_v<float> * Philox::unit(w[i + 1]);
      values[i] = radius * std::cos(angle);
      values[i + 1] = radius * std::sin(angle);
    }
    return values;
  }

  Block truncated_normal(std::int64_t index) const {
    Block values = normal(index, 0);
    const auto is_outside = [](float value) { return std::fabs(value) > 2.0F; };
    for (std::uint32_t attempt = 1; std::any_of(values.begin(), values.end(), is_outside);
         ++attempt) {
      const Block others = normal(index, attempt);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (is_outside(values[i])) values[i] = others[i];
      }
    }
    return values;
  }

  Init init_;
  Philox::Key key_;
  std::uint64_t hash_;
};

/// Elements from `begin`, a multiple of the block, on.
void draw(const Source& source, std::int64_t begin, std::span<float> out) {
  const auto count = static_cast<std::int64_t>(out.size());
  parallel_for((count + kBlock - 1) / kBlock, 8192, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = first; b < last; ++b) {
      const Source::Block values = source.block(begin / kBlock + b);
      const std::int64_t at = b * kBlock;
      std::copy_n(values.begin(), std::min(kBlock, count - at), out.begin() + at);
    }
  });
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
  const bool constant = init.kind == Init::Kind::constant;
  if (constant && init.scale == 0 && tensor.is_contiguous()) {
    // In place: states may fill the budget, and a second one like them has no room in it.
    if (count != 0) tensor.device().fill_zero(tensor.raw_mutable_data(), tensor.nbytes());
    return;
  }
  if (constant && tensor.dtype() != DType::f32) {
    ops::assign(tensor, ops::full(tensor.shape(), init.scale, tensor.dtype(), tensor.device()));
    return;
  }
  if (tensor.dtype() != DType::f32) {
    throw InvalidArgument(fmt::format("[fill] {} is {}; only f32 parameters start at random", name,
                                      tensor.type().to_string()));
  }
  const Source source(init, name, seed);
  if (tensor.device().capabilities().host_memory && tensor.is_contiguous()) {
    draw(source, 0, {tensor.mutable_data<float>(), static_cast<std::size_t>(count)});
    return;
  }
  Tensor flat = tensor.reshape({count});
  std::vector<float> chunk;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const std::int64_t length = std::min(kChunk, count - begin);
    chunk.resize(static_cast<std::size_t>(length));
    draw(source, begin, chunk);
    flat.slice(0, begin, begin + length).copy_from(std::span<const float>(chunk));
  }
}

}  // namespace plimsoll::nn
