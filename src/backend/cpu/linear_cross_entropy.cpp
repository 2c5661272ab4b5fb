// linear_cross_entropy, a chunk of tokens at a time: logits, loss, then both gradients while the
// chunk is in the cache. Chunks follow each other in order, so that sums do not depend on threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/ops/softmax.h>

#include "backend/cpu/attention_rows.h"
#include "backend/cpu/blas.h"
#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

using ops::KernelState;
using ops::OpInputs;

/// Tokens in a chunk: 4 MiB of logits in f32, but at least 128 tokens, for the products' sake, and
/// at most 1024.
std::int64_t chunk_tokens(std::int64_t tokens, std::int64_t classes) {
  const std::int64_t fitting = (std::int64_t{1} << 20) / std::max<std::int64_t>(1, classes);
  return std::min(tokens, std::clamp<std::int64_t>(fitting, 128, 1024));
}

struct State final : KernelState {
  std::int64_t tokens = 0;
  std::int64_t features = 0;
  std::int64_t classes = 0;
  std::int64_t chunk = 0;
  int threads = 1;
};

std::shared_ptr<const KernelState> prepare(const OpInputs& in, std::span<const TensorType>) {
  auto state = std::make_shared<State>();
  state->tokens = in.shape(0)[0];
  state->features = in.shape(0)[1];
  state->classes = in.shape(1)[0];
  state->chunk = chunk_tokens(state->tokens, state->classes);
  state->threads = compute_threads();
  const DType dtype = in.dtype(0);
  // Logits, then the loss of each row.
  const Bytes size = dtype == DType::f64 ? sizeof(double) : sizeof(float);
  state->workspace = static_cast<Bytes>(state->chunk * (state->classes + 1)) * size;
  if (dtype == DType::f16 || dtype == DType::bf16) {
    const auto [n, m, c] = std::array{state->chunk, state->features, state->classes};
    state->workspace += std::max({any_gemm_workspace(n, c, m, dtype, dtype, DType::f32),
                                  any_gemm_workspace(n, m, c, DType::f32, dtype, dtype),
                                  any_gemm_workspace(c, m, n, DType::f32, dtype, DType::f32)});
  }
  return state;
}

std::int64_t label_at(const TensorView& labels, std::int64_t i) {
  return labels.dtype() == DType::i32 ? labels.as<const std::int32_t>()[i]
                                      : labels.as<const std::int64_t>()[i];
}

/// How many labels count; throws for those that are no class.
std::int64_t counting(const TensorView& labels, std::int64_t classes) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < labels.elements(); ++i) {
    const std::int64_t label = label_at(labels, i);
    if (label == ops::kIgnoreLabel) continue;
    if (label < 0 || label >= classes) {
      throw InvalidArgument(
          fmt::format("[linear_cross_entropy] label {} of token {} is outside the {} classes; use "
                      "{} for tokens that do not count",
                      label, i, classes, ops::kIgnoreLabel));
    }
    ++count;
  }
  return count;
}

/// c = a b, plus c if `accumulate`, for what A is.
void product(std::int64_t m, std::int64_t n, std::int64_t k, const AnyMatrix& a, const AnyMatrix& b,
             const AnyMatrix& c, bool accumulate, void* workspace) {
  if (a.dtype != DType::f64) return any_gemm(m, n, k, a, b, c, accumulate, workspace);
  gemm(m, n, k, 1.0, {static_cast<const double*>(a.data), a.stride, a.transposed},
       {static_cast<const double*>(b.data), b.stride, b.transposed}, accumulate ? 1.0 : 0.0,
       {static_cast<double*>(c.data), c.stride});
}

/// The loss of a row of logits, which become the gradient of that loss if `gradient`.
template <typename A>
A row_loss(A* logits, std::int64_t classes, std::int64_t label, bool gradient) {
  if (label == ops::kIgnoreLabel) {
    if (gradient) std::fill_n(logits, classes, A(0));
    return A(0);
  }
  const A top = row_max(logits, classes);
  const A own = logits[label];
  const A total = row_exp(logits, classes, A(1), top);
  if (gradient) {
    row_scale(logits, classes, A(1) / total);
    logits[label] -= A(1);
  }
  return top - own + std::log(total);
}

template <typename A>
void run_as(const KernelContext& k, const State& s) {
  const DType dtype = k.in(0).dtype();
  const DType sums = std::is_same_v<A, double> ? DType::f64 : DType::f32;
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  const bool with_dx = k.attributes.flag("with_dx");
  const bool with_dweight = k.attributes.flag("with_dweight");
  const std::int64_t count = counting(k.in(2), s.classes);
  auto* logits = static_cast<A*>(k.workspace);
  A* losses = logits + s.chunk * s.classes;
  void* panels = losses + s.chunk;
  const AnyMatrix weight{k.in(1).data, s.features, false, dtype};
  const AnyMatrix weight_across{k.in(1).data, s.features, true, dtype};
  if (with_dweight && s.tokens == 0) {
    std::fill_n(k.out(3).as<A>(), k.out(3).elements(), A(0));
  }
  double loss = 0;
  for (std::int64_t i = 0; i < s.tokens; i += s.chunk) {
    const std::int64_t rows = std::min(s.chunk, s.tokens - i);
    const AnyMatrix x{k.in(0).as<std::byte>() + i * s.features * size, s.features, false, dtype};
    product(rows, s.classes, s.features, x, weight_across, {logits, s.classes, false, sums}, false,
            panels);
    const std::int64_t grain = std::max<std::int64_t>(1, 8192 / s.classes);
    parallel_for(rows, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last; ++r) {
        losses[r] = row_loss(logits + r * s.classes, s.classes, label_at(k.in(2), i + r),
                             with_dx || with_dweight);
      }
    });
    for (std::int64_t r = 0; r < rows; ++r) loss += static_cast<double>(losses[r]);
    if (with_dx) {
      product(rows, s.features, s.classes, {logits, s.classes, false, sums}, weight,
              {k.out(2).as<std::byte>() + i * s.features * size, s.features, false, dtype}, false,
              panels);
    }
    if (with_dweight) {
      product(s.classes, s.features, rows, {logits, s.classes, true, sums}, x,
              {k.out(3).data, s.features, false, sums}, i > 0, panels);
    }
  }
  const auto divisor = static_cast<double>(std::max<std::int64_t>(1, count));
  *k.out(0).as<A>() = static_cast<A>(loss / divisor);
  *k.out(1).as<A>() = static_cast<A>(divisor);
}

void run(const KernelContext& k) {
  const auto& state = static_cast<const State&>(*k.state);
  const ThreadsScope threads(state.threads);
  k.in(0).dtype() == DType::f64 ? run_as<double>(k, state) : run_as<float>(k, state);
}

void run_grad(const KernelContext& k) {
  with_float(k.in(0).dtype(), [&]<typename From>() {
    using A = Acc<From>;
    const A factor = *k.in(1).as<const A>() / *k.in(2).as<const A>();
    const From* from = k.in(0).as<const From>();
    with_float(k.out(0).dtype(), [&]<typename To>() {
      To* to = k.out(0).as<To>();
      parallel_for(k.out(0).elements(), 32768, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          to[i] = static_cast<To>(static_cast<Acc<To>>(static_cast<A>(from[i]) * factor));
        }
      });
    });
  });
}

void add_kernels(KernelTable& table) {
  table.add("linear_cross_entropy", {run, prepare});
  table.add("linear_cross_entropy_grad", {run_grad});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
