// layer_norm and rms_norm: the same, the latter without a mean. Results may be written over dy or
// x: each element is read before it is written.
#pragma GCC optimize("O3")

#include <plimsoll/base/parallel.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_chunks.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

/// What a row is normalised by.
template <typename A>
struct RowScale {
  A mean = 0;
  A inverse = 0;
};

template <typename T>
PLIMSOLL_INLINE RowScale<Acc<T>> row_scale(const T* row, std::int64_t features, Acc<T> epsilon,
                                           bool centered) {
  using A = Acc<T>;
  A buffer[kRowBlock];
  RowScale<A> result;
  const A share = A(1) / static_cast<A>(features);
  if (centered) {
    for (std::int64_t at = 0; at < features; at += kRowBlock) {
      const std::int64_t count = std::min(kRowBlock, features - at);
      result.mean += sum_of(staged(row + at, count, buffer), count);
    }
    result.mean *= share;
  }
  A squares = 0;
  for (std::int64_t at = 0; at < features; at += kRowBlock) {
    const std::int64_t count = std::min(kRowBlock, features - at);
    squares += squares_of(staged(row + at, count, buffer), result.mean, count);
  }
  result.inverse = 1 / std::sqrt(squares * share + epsilon);
  return result;
}

template <typename A>
struct Parameters {
  const A* scale;
  const A* bias;  ///< null without one
};

template <typename T>
PLIMSOLL_CLONES void norm_rows(T* to, const T* from, std::int64_t rows, std::int64_t features,
                               const Parameters<Acc<T>>& parameters, Acc<T> epsilon,
                               bool centered) {
  using A = Acc<T>;
  const A* scale = parameters.scale;
  const A* bias = parameters.bias;
  for (std::int64_t row = 0; row < rows; ++row, to += features, from += features) {
    const RowScale<A> s = row_scale(from, features, epsilon, centered);
    if (bias != nullptr) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < features; ++i) {
        to[i] = narrow<T>((widen(from[i]) - s.mean) * s.inverse * scale[i] + bias[i]);
      }
    } else {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < features; ++i) {
        to[i] = narrow<T>((widen(from[i]) - s.mean) * s.inverse * scale[i]);
      }
    }
  }
}

/// The gradients of some rows; those of scale and bias are added to dscale and dbias.
template <typename T>
PLIMSOLL_CLONES void norm_grad_rows(T* dx, Acc<T>* PLIMSOLL_RESTRICT dscale,
                                    Acc<T>* PLIMSOLL_RESTRICT dbias, const T* dy, const T* x,
                                    const Acc<T>* PLIMSOLL_RESTRICT scale, std::int64_t rows,
                                    std::int64_t features, Acc<T> epsilon, bool centered) {
  using A = Acc<T>;
  A scaled[kRowBlock];
  A normal[kRowBlock];
  const A share = A(1) / static_cast<A>(features);
  for (std::int64_t row = 0; row < rows; ++row, dx += features, dy += features, x += features) {
    const RowScale<A> s = row_scale(x, features, epsilon, centered);
    A total = 0;
    A along = 0;
    for (std::int64_t at = 0; at < features; at += kRowBlock) {
      const std::int64_t count = std::min(kRowBlock, features - at);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) {
        const A d = widen(dy[at + i]);
        normal[i] = (widen(x[at + i]) - s.mean) * s.inverse;
        scaled[i] = d * scale[at + i];
        dscale[at + i] += d * normal[i];
        dbias[at + i] += d;
      }
      if (centered) total += sum_of(scaled, count);
      along += dot_of(scaled, normal, count);
    }
    total *= share;
    along *= share;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < features; ++i) {
      const A n = (widen(x[i]) - s.mean) * s.inverse;
      dx[i] = narrow<T>(s.inverse * (widen(dy[i]) * scale[i] - total - n * along));
    }
  }
}

void run_norm(const KernelContext& k, bool centered) {
  const std::int64_t features = k.in(0).shape().dim(-1);
  const std::int64_t rows = k.in(0).elements() / features;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    auto* scale = static_cast<A*>(k.workspace);
    load_parameters(k.in(1), scale);
    Parameters<A> parameters{scale, nullptr};
    if (k.inputs.size() > 2) {
      load_parameters(k.in(2), scale + features);
      parameters.bias = scale + features;
    }
    const auto epsilon = static_cast<A>(k.attributes.number("epsilon"));
    parallel_for(rows, kGrain / features + 1, [&](std::int64_t first, std::int64_t last) {
      norm_rows(k.out(0).as<T>() + first * features, k.in(0).as<const T>() + first * features,
                last - first, features, parameters, epsilon, centered);
    });
  });
}

void run_norm_grad(const KernelContext& k, bool centered) {
  const std::int64_t features = k.in(0).shape().dim(-1);
  const std::int64_t rows = features == 0 ? 0 : k.in(0).elements() / features;
  const RowChunks chunks = RowChunks::of(rows, features);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    auto* scale = static_cast<A*>(k.workspace);
    A* sums = scale + features;  // dscale and dbias of each chunk
    load_parameters(k.in(2), scale);
    const auto epsilon = static_cast<A>(k.attributes.number("epsilon"));
    parallel_for(chunks.count, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t chunk = first; chunk < last; ++chunk) {
        A* sum = sums + chunk * 2 * features;
        std::fill_n(sum, 2 * features, A(0));
        const std::int64_t at = chunks.begin(chunk) * features;
        norm_grad_rows(k.out(0).as<T>() + at, sum, sum + features, k.in(0).as<const T>() + at,
                       k.in(1).as<const T>() + at, scale, chunks.end(chunk) - chunks.begin(chunk),
                       features, epsilon, centered);
      }
    });
    for (std::int64_t chunk = 1; chunk < chunks.count; ++chunk) {
      const A* sum = sums + chunk * 2 * features;
      for (std::int64_t i = 0; i < 2 * features; ++i) sums[i] += sum[i];
    }
    store_parameters(sums, k.out(1));
    if (k.outputs.size() > 2) store_parameters(sums + features, k.out(2));
  });
}

std::shared_ptr<const ops::KernelState> scratch(std::int64_t elements, DType dtype) {
  auto state = std::make_shared<ops::KernelState>();
  state->workspace = static_cast<Bytes>(elements) * std::max<std::size_t>(4, dtype_size(dtype));
  return state;
}

std::shared_ptr<const ops::KernelState> prepare_norm(const ops::OpInputs& inputs,
                                                     std::span<const TensorType>) {
  return scratch(2 * inputs.shape(0).dim(-1), inputs.dtype(0));
}

std::shared_ptr<const ops::KernelState> prepare_norm_grad(const ops::OpInputs& inputs,
                                                          std::span<const TensorType>) {
  const std::int64_t features = inputs.shape(0).dim(-1);
  const std::int64_t rows = features == 0 ? 0 : inputs[0].elements() / features;
  return scratch((1 + 2 * RowChunks::of(rows, features).count) * features, inputs.dtype(0));
}

void add_kernels(KernelTable& table) {
  table.add("layer_norm", {[](const KernelContext& k) { run_norm(k, true); }, prepare_norm});
  table.add("layer_norm_grad",
            {[](const KernelContext& k) { run_norm_grad(k, true); }, prepare_norm_grad});
  table.add("rms_norm", {[](const KernelContext& k) { run_norm(k, false); }, prepare_norm});
  table.add("rms_norm_grad",
            {[](const KernelContext& k) { run_norm_grad(k, false); }, prepare_norm_grad});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
