#pragma once

#include <cstdint>
#include <string_view>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::nn {

/// How a parameter starts. Every value is a function of the seed, the parameter's dotted name and
/// the element, so that neither the order of parameters nor the number of threads matters.
struct Init {
  enum class Kind : std::uint8_t { constant, uniform, normal, truncated_normal };
  Kind kind = Kind::constant;
  /// The constant; half the width of the uniform; the standard deviation of the normal ones.
  double scale = 0;

  static Init constant(double value) { return {Kind::constant, value}; }
  static Init zeros() { return constant(0); }
  static Init ones() { return constant(1); }
  /// Over [-bound, bound).
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
  /// Around 0.
  static Init normal(double deviation) { return {Kind::normal, deviation}; }
  /// The same, drawn again beyond two deviations.
  static Init truncated_normal(double deviation) { return {Kind::truncated_normal, deviation}; }

  /// He et al. 2015, for layers followed by relu: normal with deviation sqrt(2 / fan).
  static Init he_normal(std::int64_t fan);
  /// Glorot and Bengio 2010: uniform with bound sqrt(6 / (in + out)).
  static Init glorot_uniform(std::int64_t fan_in, std::int64_t fan_out);
  /// What PyTorch gives dense and convolutional layers: uniform with bound 1 / sqrt(fan_in), also
  /// LeCun's.
  static Init fan_in_uniform(std::int64_t fan_in);
};

/// Writes the initial values into `tensor` (f32; other dtypes for constants only), on any device.
void fill(Tensor& tensor, const Init& init, std::string_view name, std::uint64_t seed);

}  // namespace plimsoll::nn
