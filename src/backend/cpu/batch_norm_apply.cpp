// Batch normalisation applied together with a sum and a relu, and its gradients together with
// those of that relu: the bits of the ops one by one, since each step rounds as the op does.
#pragma GCC optimize("O3")

#include <array>
#include <vector>

#include <plimsoll/base/parallel.h>
#include <plimsoll/ops/kernel.h>

#include "backend/cpu/batch_layout.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/row_chunks.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

/// What a channel is normalised by, element by element of a row.
template <typename A>
struct Factors {
  const A* mean;
  const A* factor;
  const A* bias;

  Factors at(std::int64_t i) const { return {mean + i, factor + i, bias + i}; }
};

template <typename T>
PLIMSOLL_CLONES void normalize_block(T* to, const T* x, std::int64_t count,
                                     const Factors<Acc<T>>& f) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = narrow<T>((widen(x[i]) - f.mean[i]) * f.factor[i] + f.bias[i]);
  }
}

template <typename T>
PLIMSOLL_CLONES void add_block(T* to, const T* a, const T* b, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<T>(widen(a[i]) + widen(b[i]));
}

template <typename T>
PLIMSOLL_CLONES void relu_block(T* to, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const Acc<T> value = widen(to[i]);
    to[i] = narrow<T>(value <= Acc<T>(0) ? Acc<T>(0) : value);  // NaN stays
  }
}

/// to = dy where y > 0, else 0.
template <typename T>
PLIMSOLL_CLONES void mask_block(T* to, const T* dy, const T* y, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = narrow<T>(widen(y[i]) > Acc<T>(0) ? widen(dy[i]) : Acc<T>(0));
  }
}

/// body(offset, count, factors) over blocks of at most kRowBlock elements that follow each other,
/// in threads. `channels` has one array of each kind.
template <typename A, typename Body>
void over_blocks(const BatchLayout& l, const Factors<A>& channels, Body&& body) {
  const std::int64_t rows = l.columns ? l.batch : l.batch * l.channels;
  const std::int64_t columns = l.columns ? l.channels : l.size;
  parallel_for(rows, 16384 / std::max<std::int64_t>(columns, 1) + 1,
               [&](std::int64_t first, std::int64_t last) {
                 std::array<std::array<A, kRowBlock>, 3> same;
                 for (std::int64_t row = first; row < last; ++row) {
                   Factors<A> f = channels;
                   if (!l.columns) {
                     const std::int64_t channel = row % l.channels;
                     same[0].fill(channels.mean[channel]);
                     same[1].fill(channels.factor[channel]);
                     same[2].fill(channels.bias[channel]);
                     f = {same[0].data(), same[1].data(), same[2].data()};
                   }
                   for (std::int64_t at = 0; at < columns; at += kRowBlock) {
                     const std::int64_t some = std::min(kRowBlock, columns - at);
                     body(row * columns + at, some, l.columns ? f.at(at) : f);
                   }
                 }
               });
}

/// scale / sqrt(variance + epsilon) and the bias, by channel, in the workspace.
template <typename A>
Factors<A> factors_of(const KernelContext& k, const BatchLayout& l, int scale, int bias,
                      int statistics) {
  A* factor = static_cast<A*>(k.workspace);
  A* biases = factor + l.channels;
  const A* variance = k.in(statistics + 1).as<const A>();
  const auto epsilon = static_cast<A>(k.attributes.number("epsilon"));
  load_parameters(k.in(scale), factor);
  load_parameters(k.in(bias), biases);
  for (std::int64_t i = 0; i < l.channels; ++i) {
    factor[i] = factor[i] / std::sqrt(variance[i] + epsilon);
  }
  return {k.in(statistics).as<const A>(), factor, biases};
}

/// x, scale, bias, mean, variance and perhaps what is added.
void run_apply(const KernelContext& k) {
  const BatchLayout l = layout_of(k.in(0).shape(), k.attributes);
  const bool relu = k.attributes.flag("relu");
  with_float(k.in(0).dtype(), [&]<typename T>() {
    const T* x = k.in(0).as<const T>();
    const T* more = k.inputs.size() > 5 ? k.in(5).as<const T>() : nullptr;
    T* y = k.out(0).as<T>();
    over_blocks(l, factors_of<Acc<T>>(k, l, 1, 2, 3),
                [&](std::int64_t at, std::int64_t count, const Factors<Acc<T>>& f) {
                  T block[kRowBlock];
                  normalize_block(block, x + at, count, f);
                  if (more != nullptr) {
                    add_block(block, static_cast<const T*>(block), more + at, count);
                  }
                  if (relu) relu_block(block, count);
                  std::copy_n(block, count, y + at);
                });
  });
}

/// The gradients of a normalisation from relu's, which lies in `dy`.
void run_norm_grad(const KernelContext& k, const TensorView& dy) {
  static const ops::OpDef& op = *ops::find_op("batch_norm_grad");
  static const ops::Kernel& kernel = *ops::kernels_of("cpu").find(op);
  const std::array<TensorView, 5> inputs = {dy, k.in(1), k.in(2), k.in(4), k.in(5)};
  kernel.run({.outputs = k.outputs.first(3),
              .inputs = inputs,
              .attributes = k.attributes,
              .state = k.state,
              .workspace = k.workspace,
              .queue = k.queue});
}

/// dy, x, scale, bias or relu's result, mean, variance and perhaps more dy. Where the bias is
/// given, relu's result is found again from x; relu's gradient is then where dx will be.
void run_grad(const KernelContext& k, bool from_bias) {
  const BatchLayout l = layout_of(k.in(0).shape(), k.attributes);
  const TensorView& masked = k.out(from_bias ? 0 : 3);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    const T* dy = k.in(0).as<const T>();
    const T* more = k.inputs.size() > 6 ? k.in(6).as<const T>() : nullptr;
    const T* x = k.in(1).as<const T>();
    T* to = masked.as<T>();
    const A* mean = k.in(4).as<const A>();
    const Factors<A> channels =
        from_bias ? factors_of<A>(k, l, 2, 3, 4) : Factors<A>{mean, mean, mean};
    over_blocks(l, channels, [&](std::int64_t at, std::int64_t count, const Factors<A>& f) {
      T kept[kRowBlock];
      T sum[kRowBlock];
      const T* y = kept;
      const T* d = dy + at;
      if (from_bias) {
        normalize_block(kept, x + at, count, f);
      } else {
        y = k.in(3).as<const T>() + at;
      }
      if (more != nullptr) {
        add_block(sum, d, more + at, count);
        d = sum;
      }
      mask_block(to + at, d, y, count);
    });
  });
  run_norm_grad(k, masked);
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  state->workspace = static_cast<Bytes>(2 * inputs.shape(1).elements()) *
                     std::max<std::size_t>(4, dtype_size(inputs.dtype(0)));
  return state;
}

/// That of batch_norm_grad, which is enough for the rest.
std::shared_ptr<const ops::KernelState> prepare_grad(const ops::OpInputs& inputs,
                                                     std::span<const TensorType> outputs) {
  static const ops::OpDef& op = *ops::find_op("batch_norm_grad");
  static const ops::Kernel& kernel = *ops::kernels_of("cpu").find(op);
  const std::array<TensorType, 5> types = {inputs[0], inputs[1], inputs[2], inputs[4], inputs[5]};
  return kernel.prepare({op, types, inputs.attributes()}, outputs.first(3));
}

void add_kernels(KernelTable& table) {
  table.add("batch_norm_apply", {run_apply, prepare});
  table.add("batch_norm_relu_grad",
            {[](const KernelContext& k) { run_grad(k, true); }, prepare_grad});
  table.add("batch_norm_add_relu_grad",
            {[](const KernelContext& k) { run_grad(k, false); }, prepare_grad});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
