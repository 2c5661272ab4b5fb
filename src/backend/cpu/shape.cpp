// Ops that move elements and compute nothing: each says where they go, strided_copy moves them.
#include <algorithm>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/strided_copy.h"

namespace plimsoll::cpu {
namespace {

using backend::StridedMove;

void run(const StridedMove& move, void* to, const void* from, DType dtype) {
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  copy_strided(static_cast<std::byte*>(to) + move.to * size,
               static_cast<const std::byte*>(from) + move.from * size, dtype_size(dtype),
               move.all());
}
void run(const StridedMove& move, const TensorView& to, const TensorView& from) {
  run(move, to.data, from.data, to.dtype());
}

void fill(const TensorView& view, double value) {
  with_any(view.dtype(), [&]<typename T>() {
    const T element = as_element<T>(value);
    parallel_for(view.elements(), 65536, [&](std::int64_t first, std::int64_t last) {
      std::fill(view.as<T>() + first, view.as<T>() + last, element);
    });
  });
}

void run_broadcast_to(const KernelContext& k) {
  run(backend::broadcast_move(k.in(0).shape(), k.out(0).shape()), k.out(0), k.in(0));
}

void run_transpose(const KernelContext& k) {
  run(backend::transpose_move(k.in(0).shape(), k.out(0).shape(), k.attributes.integers("order")),
      k.out(0), k.in(0));
}

void run_concat(const KernelContext& k) {
  const backend::Around whole = backend::around(k.out(0).shape(), k.attributes.integer("axis"));
  std::int64_t offset = 0;
  for (const TensorView& input : k.inputs) {
    if (input.elements() == 0) continue;
    const std::int64_t part = input.elements() / whole.outer;
    run(backend::part_move(whole, part, offset, true), k.out(0), input);
    offset += part;
  }
}

void run_split(const KernelContext& k) {
  const backend::Around whole = backend::around(k.in(0).shape(), k.attributes.integer("axis"));
  std::int64_t offset = 0;
  for (const TensorView& output : k.outputs) {
    if (output.elements() == 0) continue;
    const std::int64_t part = output.elements() / whole.outer;
    run(backend::part_move(whole, part, offset, false), output, k.in(0));
    offset += part;
  }
}

void run_pad(const KernelContext& k) {
  const Shape& to = k.out(0).shape();
  const auto& before = k.attributes.integers("before");
  const StridedMove copy =
      backend::pad_move(k.in(0).shape(), to, before, k.attributes.integers("after"));
  // Around x dimension by dimension: beside it in this one, within it in those before.
  const double value = k.attributes.number("value");
  std::int64_t offset = 0;
  for (int i = 0; i < to.rank(); ++i) {
    const CopyDim& dim = copy.dims[static_cast<std::size_t>(i)];
    const std::int64_t lead = std::max<std::int64_t>(before[static_cast<std::size_t>(i)], 0);
    const auto border = [&](std::int64_t begin, std::int64_t count) {
      StridedMove around;
      around.to = offset + begin * dim.to;
      for (int j = 0; j < to.rank(); ++j) {
        const CopyDim& other = copy.dims[static_cast<std::size_t>(j)];
        around.add({j < i ? other.extent : j == i ? count : to[j], other.to, 0});
      }
      with_any(k.out(0).dtype(), [&]<typename T>() {
        const T element = as_element<T>(value);
        run(around, k.out(0).data, &element, dtype_of<T>);
      });
    };
    border(0, lead);
    border(lead + dim.extent, to[i] - lead - dim.extent);
    offset += lead * dim.to;
  }
  run(copy, k.out(0), k.in(0));
}

/// A slice and its gradient: `whole` has every element, `part` those from begin on by step.
void run_slice(const KernelContext& k, bool gradient) {
  const TensorView& whole = gradient ? k.out(0) : k.in(0);
  const TensorView& part = gradient ? k.in(0) : k.out(0);
  if (gradient && part.elements() != whole.elements()) fill(whole, 0);
  if (part.elements() == 0) return;
  run(backend::slice_move(whole.shape(), part.shape(), k.attributes.integer("axis"),
                          k.attributes.integer("begin"), k.attributes.integer("step"), gradient),
      k.out(0), k.in(0));
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
