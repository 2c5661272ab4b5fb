// matmul and linear by cuBLASLt.
#include <algorithm>
#include <optional>
#include <vector>

#include "backend/cuda/gemm.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/libraries.h"

namespace plimsoll::cuda {
namespace {

using ops::KernelState;
using ops::OpInputs;

constexpr Bytes kScratch = ops::kWorkspaceSlot - ops::kWorkspaceReserve;
/// Batches that one call takes: a grid's depth has 16 bits.
constexpr std::int64_t kMostBatches = 32768;

/// A batch dimension of the output: how far the next matrix of each input is, in matrices.
struct BatchDim {
  std::int64_t extent = 1;
  std::int64_t step_a = 0;
  std::int64_t step_b = 0;
};

/// Steps of an input's batch dimensions, one for each of the output's; 0 where it broadcasts.
std::vector<std::int64_t> batch_steps(const Shape& out, const Shape& in) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(out.rank() - 2), 0);
  const int extra = out.rank() - in.rank();
  std::int64_t step = 1;
  for (int i = out.rank() - 3; i >= extra; --i) {
    const std::int64_t extent = in[i - extra];
    if (extent != 1) steps[static_cast<std::size_t>(i)] = step;
    step *= extent;
  }
  return steps;
}

/// The batch dimensions, outer ones first, as few as tell where every matrix is.
std::vector<BatchDim> batch_dims(const Shape& out, const Shape& a, const Shape& b) {
  const std::vector<std::int64_t> steps_a = batch_steps(out, a);
  const std::vector<std::int64_t> steps_b = batch_steps(out, b);
  std::vector<BatchDim> dims;
  for (int i = 0; i < out.rank() - 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const BatchDim next{out[i], steps_a[at], steps_b[at]};
    if (next.extent == 1) continue;
    if (!dims.empty() && dims.back().step_a == next.step_a * next.extent &&
        dims.back().step_b == next.step_b * next.extent) {
      dims.back() = {dims.back().extent * next.extent, next.step_a, next.step_b};
    } else {
      dims.push_back(next);
    }
  }
  return dims;
}

struct ProductState final : KernelState {
  GemmSpec spec;                ///< of one call; its batches are `inner`'s or a part of them
  std::vector<BatchDim> outer;  ///< calls for each of these
  BatchDim inner;
  bool empty = false;        ///< no sums: zeros, or the bias
  std::optional<Gemm> main;  ///< takes spec.batches
  std::optional<Gemm> rest;  ///< takes what is left of `inner`
};

void choose(ProductState& state) {
  GemmSpec& s = state.spec;
  if (s.m == 0 || s.n == 0 || state.inner.extent == 0) return;
  state.empty = s.k == 0;
  if (state.empty) return;
  s.a.step = state.inner.step_a * s.m * s.k;
  s.b.step = state.inner.step_b * s.k * s.n;
  s.c.step = s.m * s.n;
  s.batches = std::min(state.inner.extent, kMostBatches);
  if (!state.outer.empty() || state.inner.extent > kMostBatches) {
    s.a.alignment = alignment_of_step(s.m * s.k, s.a.dtype);
    s.b.alignment = alignment_of_step(s.k * s.n, s.b.dtype);
    s.c.alignment = alignment_of_step(s.m * s.n, s.c.dtype);
  }
  const auto libraries = Libraries::current();
  state.main.emplace(libraries->blas(), s, kScratch);
  state.workspace = state.main->workspace();
  if (const std::int64_t left = state.inner.extent % s.batches; left != 0) {
    GemmSpec last = s;
    last.batches = left;
    state.rest.emplace(libraries->blas(), last, kScratch);
    state.workspace = std::max(state.workspace, state.rest->workspace());
  }
}

std::shared_ptr<const KernelState> prepare_matmul(const OpInputs& in,
                                                  std::span<const TensorType> out) {
  auto state = std::make_shared<ProductState>();
  const Shape& c = out[0].shape;
  const DType dtype = in.dtype(0);
  const bool ta = in.attributes().flag("transpose_a");
  const bool tb = in.attributes().flag("transpose_b");
  GemmSpec& s = state->spec;
  s.m = c.dim(-2);
  s.n = c.dim(-1);
  s.k = in.shape(0).dim(ta ? -2 : -1);
  std::vector<BatchDim> dims = batch_dims(c, in.shape(0), in.shape(1));
  if (!dims.empty()) {
    state->inner = dims.back();
    dims.pop_back();
  }
  // Rows of all batches follow each other.
  if (dims.empty() && state->inner.step_b == 0 && state->inner.step_a != 0 && !ta) {
    s.m *= state->inner.extent;
    state->inner = {};
  }
  state->outer = std::move(dims);
  for (const BatchDim& dim : state->outer) {
    if (dim.extent == 0) state->inner.extent = 0;
  }
  s.a = {.dtype = dtype, .stride = ta ? s.m : s.k, .transposed = ta};
  s.b = {.dtype = dtype, .stride = tb ? s.k : s.n, .transposed = tb};
  s.c = {.dtype = dtype, .stride = s.n};
  choose(*state);
  return state;
}

std::shared_ptr<const KernelState> prepare_linear(const OpInputs& in, std::span<const TensorType>) {
  auto state = std::make_shared<ProductState>();
  const DType dtype = in.dtype(0);
  GemmSpec& s = state->spec;
  s.m = 1;
  for (int i = 0; i < in.shape(0).rank() - 1; ++i) s.m *= in.shape(0)[i];
  const bool transposed = in.attributes().has("transposed") && in.attributes().flag("transposed");
  s.n = in.shape(1)[transposed ? 1 : 0];
  s.k = in.shape(1)[transposed ? 0 : 1];
  s.a = {.dtype = dtype, .stride = s.k};
  s.b = {.dtype = dtype, .stride = transposed ? s.n : s.k, .transposed = !transposed};
  s.c = {.dtype = dtype, .stride = s.n};
  s.bias = in.count() > 2;
  choose(*state);
  return state;
}

void run(const KernelContext& k) {
  const auto& state = static_cast<const ProductState&>(*k.state);
  const GemmSpec& s = state.spec;
  const cudaStream_t stream = queue_of(k);
  const void* bias = s.bias ? k.in(2).data : nullptr;
  if (state.empty) {
    const std::int64_t rows = s.n == 0 ? 0 : k.out(0).elements() / s.n;
    return fill_rows(k.out(0).data, bias, rows, s.n, s.n, s.c.dtype, stream);
  }
  if (!state.main) return;
  const auto libraries = Libraries::current();
  const auto size = static_cast<std::int64_t>(dtype_size(s.a.dtype));
  std::int64_t calls = 1;
  for (const BatchDim& dim : state.outer) calls *= dim.extent;
  for (std::int64_t call = 0; call < calls; ++call) {
    std::int64_t index = call;
    std::int64_t at_a = 0;
    std::int64_t at_b = 0;
    for (auto dim = state.outer.rbegin(); dim != state.outer.rend(); ++dim) {
      at_a += index % dim->extent * dim->step_a;
      at_b += index % dim->extent * dim->step_b;
      index /= dim->extent;
    }
    for (std::int64_t i = 0; i < state.inner.extent; i += s.batches) {
      const Gemm& gemm = state.inner.extent - i < s.batches ? *state.rest : *state.main;
      const std::int64_t a = (at_a + i * state.inner.step_a) * s.m * s.k;
      const std::int64_t b = (at_b + i * state.inner.step_b) * s.k * s.n;
      const std::int64_t c = (call * state.inner.extent + i) * s.m * s.n;
      gemm.run(libraries->blas(), stream, k.in(0).as<const std::byte>() + a * size,
               k.in(1).as<const std::byte>() + b * size, k.out(0).as<std::byte>() + c * size, bias,
               k.workspace);
    }
  }
}

}  // namespace

void add_matmul_kernels(KernelTable& table) {
  table.add("matmul", {run, prepare_matmul});
  table.add("linear", {run, prepare_linear});
}

}  // namespace plimsoll::cuda
