#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::bench {

/// Labels or ids below `below`, or normally distributed numbers; the same for the same seed.
inline Tensor random_batch(const TensorType& type, std::int64_t below, unsigned seed,
                           const Device& device) {
  std::mt19937 random(seed);
  const auto count = static_cast<std::size_t>(type.elements());
  if (type.dtype == DType::i64) {
    std::uniform_int_distribution<std::int64_t> uniform(0, below - 1);
    std::vector<std::int64_t> values(count);
    for (std::int64_t& value : values) value = uniform(random);
    return Tensor::from_values(std::span<const std::int64_t>(values), type.shape, device);
  }
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return Tensor::from_values(std::span<const float>(values), type.shape, device);
}

}  // namespace plimsoll::bench
