#pragma once

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

/// What a layer keeps of its weight.
///
/// - plain: `weight` itself.
/// - weight_norm (Salimans and Kingma 2016): lengths `weight_g` [out, 1, ...] and directions
///   `weight_v`, of the weight's shape. The lengths start at what is expected of the directions.
/// - spectral_norm (Miyato et al. 2018): `weight_orig`, which is divided by its largest singular
///   value, and the buffers `weight_u` and `weight_v`, which one round of power iteration moves in
///   every step of training.
enum class WeightForm : std::uint8_t { plain, weight_norm, spectral_norm };

/// v [out, ...] with every row of dimension 0 scaled to the length that g [out, 1, ...] says.
Tensor weight_norm(const Tensor& v, const Tensor& g);

struct SpectralNormResult {
  Tensor weight;  ///< divided by its largest singular value, as far as u and v know it
  Tensor u;       ///< after one more round of power iteration, if one was asked for
  Tensor v;
};
/// Of weight [out, ...], with u [out] and v [elements of a row] as what is known of its largest
/// singular value; no gradient flows through them.
SpectralNormResult spectral_norm(const Tensor& weight, const Tensor& u, const Tensor& v,
                                 bool iterate, double epsilon = 1e-12);

/// A module with a weight in one of these forms: what dense and convolutional layers have in
/// common.
class WeightedModule : public Module {
 protected:
  void declare_weight(const Shape& shape, const Init& init, WeightForm form) const;
  bool has_weight(WeightForm form) const;
  /// The weight itself, computed from what is kept of it.
  Tensor weight_value(WeightForm form) const;
  /// What the gradient changes: `weight`, `weight_v` or `weight_orig`. InvalidArgument as long as
  /// it is not known what comes in, saying so in the name of `who`.
  const Parameter& weight_parameter(WeightForm form, const char* who) const;
};

}  // namespace plimsoll::nn
