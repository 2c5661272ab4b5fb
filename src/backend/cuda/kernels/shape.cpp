// Ops that move elements and compute nothing: each says where they go, copy_strided moves them.
#include <algorithm>
#include <array>
#include <cstddef>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/strided_copy.h"

namespace plimsoll::cuda {
namespace {

using Strides = std::array<std::int64_t, kMaxRank>;

std::int64_t at(const Strides& strides, std::int64_t i) {
  return strides[static_cast<std::size_t>(i)];
}

/// The elements of a block between two arrays.
struct BlockCopy {
  std::array<CopyDim, kMaxRank> dims;
  int rank = 0;

  void add(const CopyDim& dim) { dims[static_cast<std::size_t>(rank++)] = dim; }
  void run(const TensorView& to, std::int64_t to_offset, const TensorView& from,
           std::int64_t from_offset, cudaStream_t queue) const {
    const auto size = static_cast<std::int64_t>(dtype_size(to.dtype()));
    copy_strided(to.as<std::byte>() + to_offset * size,
                 from.as<const std::byte>() + from_offset * size, dtype_size(to.dtype()),
                 {dims.data(), static_cast<std::size_t>(rank)}, queue);
  }
};

void run_broadcast_to(const KernelContext& k) {
  const Shape& from = k.in(0).shape();
  const Shape& to = k.out(0).shape();
  const Strides from_strides = from.contiguous_strides();
  const Strides to_strides = to.contiguous_strides();
  const int extra = to.rank() - from.rank();
  BlockCopy copy;
  for (int i = 0; i < to.rank(); ++i) {
    const bool repeated = i < extra || from[i - extra] == 1;
    copy.add({to[i], at(to_strides, i), repeated ? 0 : at(from_strides, i - extra)});
  }
  copy.run(k.out(0), 0, k.in(0), 0, queue_of(k));
}

void run_transpose(const KernelContext& k) {
  const Shape& to = k.out(0).shape();
  const Strides from_strides = k.in(0).shape().contiguous_strides();
  const Strides to_strides = to.contiguous_strides();
  const auto& order = k.attributes.integers("order");
  BlockCopy copy;
  for (int i = 0; i < to.rank(); ++i) {
    copy.add({to[i], at(to_strides, i), at(from_strides, order[static_cast<std::size_t>(i)])});
  }
  copy.run(k.out(0), 0, k.in(0), 0, queue_of(k));
}

/// Elements before and from `axis` on.
struct Around {
  std::int64_t outer = 1;
  std::int64_t rest = 1;

  Around(const Shape& shape, std::int64_t axis) {
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : rest) *= shape[i];
  }
};

void run_concat(const KernelContext& k) {
  const Around around(k.out(0).shape(), k.attributes.integer("axis"));
  std::int64_t offset = 0;
  for (const TensorView& input : k.inputs) {
    if (input.elements() == 0) continue;
    const std::int64_t run = input.elements() / around.outer;
    BlockCopy copy;
    copy.add({around.outer, around.rest, run});
    copy.add({run, 1, 1});
    copy.run(k.out(0), offset, input, 0, queue_of(k));
    offset += run;
  }
}

void run_split(const KernelContext& k) {
  const Around around(k.in(0).shape(), k.attributes.integer("axis"));
  std::int64_t offset = 0;
  for (const TensorView& output : k.outputs) {
    if (output.elements() == 0) continue;
    const std::int64_t run = output.elements() / around.outer;
    BlockCopy copy;
    copy.add({around.outer, run, around.rest});
    copy.add({run, 1, 1});
    copy.run(output, 0, k.in(0), offset, queue_of(k));
    offset += run;
  }
}

/// The value everywhere, then x over it: what is padded is seldom much more than x.
void run_pad(const KernelContext& k) {
  const Shape& to = k.out(0).shape();
  const auto& before = k.attributes.integers("before");
  const auto& after = k.attributes.integers("after");
  const Strides from_strides = k.in(0).shape().contiguous_strides();
  const Strides to_strides = to.contiguous_strides();
  BlockCopy copy;
  std::int64_t to_offset = 0;
  std::int64_t from_offset = 0;
  std::int64_t copied = 1;
  for (int i = 0; i < to.rank(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    const std::int64_t lead = std::max<std::int64_t>(before[d], 0);
    const std::int64_t extent = to[i] - lead - std::max<std::int64_t>(after[d], 0);
    copy.add({extent, at(to_strides, i), at(from_strides, i)});
    to_offset += lead * at(to_strides, i);
    from_offset += std::max<std::int64_t>(-before[d], 0) * at(from_strides, i);
    copied *= extent;
  }
  if (copied != k.out(0).elements()) fill(k.out(0), k.attributes.number("value"), queue_of(k));
  if (copied != 0) copy.run(k.out(0), to_offset, k.in(0), from_offset, queue_of(k));
}

/// A slice and its gradient: `whole` has every element, `part` those from begin on by step.
void run_slice(const KernelContext& k, bool gradient) {
  const TensorView& whole = gradient ? k.out(0) : k.in(0);
  const TensorView& part = gradient ? k.in(0) : k.out(0);
  const std::int64_t axis = k.attributes.integer("axis");
  const std::int64_t step = k.attributes.integer("step");
  const Around around(whole.shape(), axis);
  const std::int64_t extent = whole.shape()[static_cast<int>(axis)];
  const std::int64_t inner = extent == 0 ? 0 : around.rest / extent;
  const std::int64_t count = part.shape()[static_cast<int>(axis)];
  const std::int64_t offset = k.attributes.integer("begin") * inner;
  if (gradient && part.elements() != whole.elements()) fill(whole, 0, queue_of(k));
  if (part.elements() == 0) return;
  BlockCopy copy;
  const auto add = [&](std::int64_t many, std::int64_t in_whole, std::int64_t in_part) {
    copy.add({many, gradient ? in_whole : in_part, gradient ? in_part : in_whole});
  };
  add(around.outer, around.rest, count * inner);
  // The stride of a single element is never used and could overflow.
  add(count, count == 1 ? inner : step * inner, inner);
  add(inner, 1, 1);
  copy.run(k.out(0), gradient ? offset : 0, k.in(0), gradient ? 0 : offset, queue_of(k));
}

void add_kernels(KernelTable& table) {
  table.add("reshape", {[](const KernelContext&) {}});
  table.add("broadcast_to", {run_broadcast_to});
  table.add("transpose", {run_transpose});
  table.add("concat", {run_concat});
  table.add("split", {run_split});
  table.add("pad", {run_pad});
  table.add("slice", {[](const KernelContext& k) { run_slice(k, false); }});
  table.add("slice_grad", {[](const KernelContext& k) { run_slice(k, true); }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
