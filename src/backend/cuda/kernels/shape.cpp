// Ops that move elements and compute nothing: each says where they go, copy_strided moves them.
#include <cstddef>
#include <span>
#include <vector>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/strided_copy.h"

namespace plimsoll::cuda {
namespace {

using backend::StridedMove;

void run(const StridedMove& move, const TensorView& to, const TensorView& from,
         cudaStream_t queue) {
  const auto size = static_cast<std::int64_t>(dtype_size(to.dtype()));
  copy_strided(to.as<std::byte>() + move.to * size, from.as<const std::byte>() + move.from * size,
               dtype_size(to.dtype()), move.all(), queue);
}

void run_broadcast_to(const KernelContext& k) {
  run(backend::broadcast_move(k.in(0).shape(), k.out(0).shape()), k.out(0), k.in(0), queue_of(k));
}

void run_transpose(const KernelContext& k) {
  run(backend::transpose_move(k.in(0).shape(), k.out(0).shape(), k.attributes.integers("order")),
      k.out(0), k.in(0), queue_of(k));
}

/// The parts of `whole` along `axis`, one after another, into it or out of it. Where they are dense
/// in it, they are copied together.
void move_parts(const TensorView& whole, std::int64_t axis, std::span<const TensorView> parts,
                bool into, cudaStream_t queue) {
  const backend::Around around = backend::around(whole.shape(), axis);
  std::vector<CopyPart> dense;
  std::int64_t offset = 0;
  for (const TensorView& part : parts) {
    if (part.elements() == 0) continue;
    const std::int64_t extent = part.elements() / around.outer;
    if (around.outer == 1) {
      auto* place =
          whole.as<std::byte>() + offset * static_cast<std::int64_t>(dtype_size(whole.dtype()));
      const auto bytes = static_cast<std::int64_t>(part.type.bytes());
      dense.push_back(into ? CopyPart{place, part.data, bytes} : CopyPart{part.data, place, bytes});
    } else {
      const StridedMove move = backend::part_move(around, extent, offset, into);
      into ? run(move, whole, part, queue) : run(move, part, whole, queue);
    }
    offset += extent;
  }
  copy_parts(dense, queue);
}

void run_concat(const KernelContext& k) {
  move_parts(k.out(0), k.attributes.integer("axis"), k.inputs, true, queue_of(k));
}

void run_split(const KernelContext& k) {
  move_parts(k.in(0), k.attributes.integer("axis"), k.outputs, false, queue_of(k));
}

/// The value everywhere, then x over it: what is padded is seldom much more than x.
void run_pad(const KernelContext& k) {
  const StridedMove copy =
      backend::pad_move(k.in(0).shape(), k.out(0).shape(), k.attributes.integers("before"),
                        k.attributes.integers("after"));
  std::int64_t copied = 1;
  for (const CopyDim& dim : copy.all()) copied *= dim.extent;
  if (copied != k.out(0).elements()) fill(k.out(0), k.attributes.number("value"), queue_of(k));
  if (copied != 0) run(copy, k.out(0), k.in(0), queue_of(k));
}

/// A slice and its gradient: `whole` has every element, `part` those from begin on by step.
void run_slice(const KernelContext& k, bool gradient) {
  const TensorView& whole = gradient ? k.out(0) : k.in(0);
  const TensorView& part = gradient ? k.in(0) : k.out(0);
  if (gradient && part.elements() != whole.elements()) fill(whole, 0, queue_of(k));
  if (part.elements() == 0) return;
  run(backend::slice_move(whole.shape(), part.shape(), k.attributes.integer("axis"),
                          k.attributes.integer("begin"), k.attributes.integer("step"), gradient),
      k.out(0), k.in(0), queue_of(k));
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
