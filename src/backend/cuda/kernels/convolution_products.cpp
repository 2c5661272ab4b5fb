// Convolutions as matrix products over windows: in full f32, where cuBLASLt's kernels are faster
// than cuDNN's, and of pictures with few channels, for which cuDNN has no fast ones.
#include "backend/cuda/kernels/convolution.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {

ConvProducts::ConvProducts(const ConvSpec& spec)
    : spec_(spec),
      route_(ops::conv_route(spec.shape, spec.pass, spec.dtype, spec.tf32)),
      width_(ops::conv_columns(spec.shape, spec.dtype, spec.tf32)) {
  const ops::ConvShape& s = spec.shape;
  // Columns, weights and sums are in the workspace or begin a tensor; results of a part may not.
  const Bytes results =
      route_.parts == 1 ? 256 : alignment_of_step(s.out_shape().elements() / s.n, spec.dtype);
  Product::Alignment alignment;
  (spec.pass == ConvPass::forward ? alignment.c : alignment.a) = results;
  const auto libraries = Libraries::current();
  for (std::int64_t i = 0; i < route_.parts; ++i) {
    const std::int64_t pictures = ops::conv_pictures(s, route_.parts, i);
    std::size_t known = 0;
    while (known < parts_.size() && parts_[known].pictures != pictures) ++known;
    if (known < parts_.size()) {
      parts_.push_back({pictures, parts_[known].product});
      continue;
    }
    parts_.push_back({pictures, products_.size()});
    const auto shape = ops::conv_product(s, spec.pass, spec.dtype, spec.tf32, pictures, spec.bias);
    products_.emplace_back(libraries->blas(), shape, alignment);
    workspace_ = std::max(workspace_, products_.back().workspace());
  }
  workspace_ += route_.columns + route_.weight + route_.sums;
}

void ConvProducts::run(const ConvArrays& arrays, void* workspace, cudaStream_t stream) const {
  const ops::ConvShape& s = spec_.shape;
  const DType dtype = spec_.dtype;
  const std::int64_t weights = s.out_channels * width_;
  auto* const weight = static_cast<std::byte*>(workspace);
  std::byte* const columns = weight + route_.weight;
  std::byte* const behind = columns + route_.columns;
  auto* const sums = reinterpret_cast<float*>(behind);
  std::byte* const part_sum = behind + align_up(static_cast<Bytes>(weights) * 4, 256);
  std::byte* const scratch = behind + route_.sums;
  const bool by_weight = spec_.pass == ConvPass::by_weight;
  const bool adds = route_.sums != 0;
  const bool copied = route_.columns != 0;
  void* w = copied ? weight : arrays.w;
  if (copied && !by_weight) weight_to_rows(spec_, width_, arrays.w, w, false, stream);
  auto* x = static_cast<std::byte*>(arrays.x);
  auto* y = static_cast<std::byte*>(arrays.y);
  const auto picture = [&](const Shape& shape) {
    return static_cast<Bytes>(shape.elements() / s.n) * dtype_size(dtype);
  };
  const Bytes in = picture(s.in_shape());
  const Bytes out = picture(s.out_shape());
  const auto libraries = Libraries::current();
  bool first = true;
  for (const Part& part : parts_) {
    const Product& product = products_[part.product];
    std::byte* const windows = copied ? columns : x;
    const auto multiply = [&](const void* a, const void* b, void* c) {
      product.run(libraries->blas(), stream, a, b, c, arrays.bias, scratch);
    };
    if (copied && spec_.pass != ConvPass::by_input) {
      to_columns(spec_, part.pictures, width_, x, columns, stream);
    }
    switch (spec_.pass) {
      case ConvPass::forward:
        multiply(windows, w, y);
        break;
      case ConvPass::by_input:
        multiply(y, w, windows);
        if (copied) {
          from_columns(spec_, part.pictures, reinterpret_cast<const float*>(columns),
                       reinterpret_cast<float*>(x), stream);
        }
        break;
      case ConvPass::by_weight:
        multiply(y, windows, adds ? part_sum : w);
        if (adds) add_part(dtype, sums, part_sum, weights, first, stream);
        first = false;
        break;
    }
    x += in * static_cast<Bytes>(part.pictures);
    y += out * static_cast<Bytes>(part.pictures);
  }
  if (adds) round_sums(dtype, w, sums, weights, stream);
  if (by_weight && copied) weight_to_rows(spec_, width_, w, arrays.w, true, stream);
}

}  // namespace plimsoll::cuda
