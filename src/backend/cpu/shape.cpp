// Ops that move elements and compute nothing: each says where they go, strided_copy moves them.
#include <algorithm>
#include <array>
#include <cstring>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/strided_copy.h"

namespace plimsoll::cpu {
namespace {

using Strides = std::array<std::int64_t, kMaxRank>;

std::int64_t at(const Strides& strides, std::int64_t i) {
  return strides[static_cast<std::size_t>(i)];
}

/// The elements of a block of `shape` between two arrays with these strides.
struct BlockCopy {
  std::array<CopyDim, kMaxRank> dims;
  int rank = 0;

  void add(const CopyDim& dim) { dims[static_cast<std::size_t>(rank++)] = dim; }
  void run(void* to, std::int64_t to_offset, const void* from, std::int64_t from_offset,
           DType dtype) const {
    const auto size = static_cast<std::int64_t>(dtype_size(dtype));
    copy_strided(static_cast<std::byte*>(to) + to_offset * size,
                 static_cast<const std::byte*>(from) + from_offset * size, dtype_size(dtype),
                 {dims.data(), static_cast<std::size_t>(rank)});
  }
};

void fill(const TensorView& view, double value) {
  with_any(view.dtype(), [&]<typename T>() {
    const T element = as_element<T>(value);
    parallel_for(view.elements(), 65536, [&](std::int64_t first, std::int64_t last) {
      std::fill(view.as<T>() + first, view.as<T>() + last, element);
    });
  });
}

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
  copy.run(k.out(0).data, 0, k.in(0).data, 0, k.out(0).dtype());
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
  copy.run(k.out(0).data, 0, k.in(0).data, 0, k.out(0).dtype());
}

/// Elements before and from `axis` on.
std::pair<std::int64_t, std::int64_t> around(const Shape& shape, std::int64_t axis) {
  std::int64_t outer = 1;
  std::int64_t rest = 1;
  for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : rest) *= shape[i];
  return {outer, rest};
}

void run_concat(const KernelContext& k) {
  const auto [outer, row] = around(k.out(0).shape(), k.attributes.integer("axis"));
  std::int64_t offset = 0;
  for (const TensorView& input : k.inputs) {
    if (input.elements() == 0) continue;
    const std::int64_t run = input.elements() / outer;
    BlockCopy copy;
    copy.add({outer, row, run});
    copy.add({run, 1, 1});
    copy.run(k.out(0).data, offset, input.data, 0, input.dtype());
    offset += run;
  }
}

void run_split(const KernelContext& k) {
  const auto [outer, row] = around(k.in(0).shape(), k.attributes.integer("axis"));
  std::int64_t offset = 0;
  for (const TensorView& output : k.outputs) {
    if (output.elements() == 0) continue;
    const std::int64_t run = output.elements() / outer;
    BlockCopy copy;
    copy.add({outer, run, row});
    copy.add({run, 1, 1});
    copy.run(output.data, 0, k.in(0).data, offset, output.dtype());
    offset += run;
  }
}

void run_pad(const KernelContext& k) {
  const Shape& from = k.in(0).shape();
  const Shape& to = k.out(0).shape();
  const auto& before = k.attributes.integers("before");
  const auto& after = k.attributes.integers("after");
  const Strides from_strides = from.contiguous_strides();
  const Strides to_strides = to.contiguous_strides();
  std::array<std::int64_t, kMaxRank> lead{};
  std::array<std::int64_t, kMaxRank> extent{};
  BlockCopy copy;
  std::int64_t to_offset = 0;
  std::int64_t from_offset = 0;
  for (int i = 0; i < to.rank(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    lead[d] = std::max<std::int64_t>(before[d], 0);
    extent[d] = to[i] - lead[d] - std::max<std::int64_t>(after[d], 0);
    copy.add({extent[d], at(to_strides, i), at(from_strides, i)});
    to_offset += lead[d] * at(to_strides, i);
    from_offset += std::max<std::int64_t>(-before[d], 0) * at(from_strides, i);
  }
  // Around x dimension by dimension: beside it in this one, within it in those before.
  const double value = k.attributes.number("value");
  std::int64_t offset = 0;
  for (int i = 0; i < to.rank(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    const auto border = [&](std::int64_t begin, std::int64_t count) {
      BlockCopy around;
      for (int j = 0; j < to.rank(); ++j) {
        const std::int64_t here = j < i    ? extent[static_cast<std::size_t>(j)]
                                  : j == i ? count
                                           : to[j];
        around.add({here, at(to_strides, j), 0});
      }
      with_any(k.out(0).dtype(), [&]<typename T>() {
        const T element = as_element<T>(value);
        around.run(k.out(0).data, offset + begin * at(to_strides, i), &element, 0, dtype_of<T>);
      });
    };
    border(0, lead[d]);
    border(lead[d] + extent[d], to[i] - lead[d] - extent[d]);
    offset += lead[d] * at(to_strides, i);
  }
  copy.run(k.out(0).data, to_offset, k.in(0).data, from_offset, k.in(0).dtype());
}

/// A slice and its gradient: `whole` has every element, `part` those from begin on by step.
void run_slice(const KernelContext& k, bool gradient) {
  const TensorView& whole = gradient ? k.out(0) : k.in(0);
  const TensorView& part = gradient ? k.in(0) : k.out(0);
  const std::int64_t axis = k.attributes.integer("axis");
  const std::int64_t step = k.attributes.integer("step");
  const auto [outer, row] = around(whole.shape(), axis);
  const std::int64_t inner =
      whole.shape()[static_cast<int>(axis)] == 0 ? 0 : row / whole.shape()[static_cast<int>(axis)];
  const std::int64_t count = part.shape()[static_cast<int>(axis)];
  const std::int64_t offset = k.attributes.integer("begin") * inner;
  if (gradient && part.elements() != whole.elements()) fill(whole, 0);
  if (part.elements() == 0) return;
  BlockCopy copy;
  const auto add = [&](std::int64_t extent, std::int64_t in_whole, std::int64_t in_part) {
    copy.add({extent, gradient ? in_whole : in_part, gradient ? in_part : in_whole});
  };
  add(outer, row, count * inner);
  // The stride of a single element is never used and could overflow.
  add(count, count == 1 ? inner : step * inner, inner);
  add(inner, 1, 1);
  copy.run(k.out(0).data, gradient ? offset : 0, k.in(0).data, gradient ? 0 : offset, part.dtype());
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

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
