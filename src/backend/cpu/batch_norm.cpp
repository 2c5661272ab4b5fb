// Batch normalisation. Channels that are planes of a picture are treated one by one, so that the
// second and third pass over one find it in the cache; channels that are columns by chunks of rows.
// Results may be written over dy or x: each element is read before it is written.
#pragma GCC optimize("O3")

#include <limits>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/batch_layout.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/row_chunks.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

/// For each channel, one array after another in the workspace.
template <typename A>
struct Channels {
  A* scale;
  A* bias;
  A* mean;
  A* factor;       ///< scale / sqrt(variance + epsilon)
  A* sum;          ///< of dy
  A* along;        ///< of dy (x - mean)
  A* mean_part;    ///< what the mean takes from dy
  A* spread_part;  ///< what the variance takes from dy, for each unit of x - mean
  A* chunks;       ///< two sums of each chunk
  static constexpr std::int64_t kArrays = 8;

  Channels(void* workspace, std::int64_t channels) {
    A* at = static_cast<A*>(workspace);
    for (A** array : {&scale, &bias, &mean, &factor, &sum, &along, &mean_part, &spread_part}) {
      *array = at;
      at += channels;
    }
    chunks = at;
  }
};

template <typename T>
PLIMSOLL_CLONES void plane_statistics(const T* x, const BatchLayout& l, std::int64_t channel,
                                      Acc<T>* mean, Acc<T>* variance) {
  using A = Acc<T>;
  A buffer[kRowBlock];
  const auto count = static_cast<A>(l.rows());
  A total = 0;
  A squares = 0;
  for (const bool second : {false, true}) {
    for (std::int64_t n = 0; n < l.batch; ++n) {
      const T* plane = x + (n * l.channels + channel) * l.size;
      for (std::int64_t at = 0; at < l.size; at += kRowBlock) {
        const std::int64_t some = std::min(kRowBlock, l.size - at);
        const A* values = staged(plane + at, some, buffer);
        if (second) {
          squares += squares_of(values, *mean, some);
        } else {
          total += sum_of(values, some);
        }
      }
    }
    if (!second) *mean = total / count;
  }
  *variance = squares / count;
}

template <typename T>
PLIMSOLL_CLONES void plane_normalize(T* y, const T* x, const BatchLayout& l, std::int64_t channel,
                                     Acc<T> mean, Acc<T> factor, Acc<T> bias) {
  for (std::int64_t n = 0; n < l.batch; ++n) {
    const std::int64_t at = (n * l.channels + channel) * l.size;
#pragma GCC ivdep
    for (std::int64_t i = at; i < at + l.size; ++i) {
      y[i] = narrow<T>((widen(x[i]) - mean) * factor + bias);
    }
  }
}

template <typename T>
PLIMSOLL_CLONES void plane_sums(const T* dy, const T* x, const BatchLayout& l, std::int64_t channel,
                                Acc<T> mean, Acc<T>* sum, Acc<T>* along) {
  using A = Acc<T>;
  A dy_buffer[kRowBlock];
  A x_buffer[kRowBlock];
  A total = 0;
  A product = 0;
  for (std::int64_t n = 0; n < l.batch; ++n) {
    const std::int64_t plane = (n * l.channels + channel) * l.size;
    for (std::int64_t at = 0; at < l.size; at += kRowBlock) {
      const std::int64_t some = std::min(kRowBlock, l.size - at);
      const A* d = staged(dy + plane + at, some, dy_buffer);
      const T* values = x + plane + at;
      for (std::int64_t i = 0; i < some; ++i) x_buffer[i] = widen(values[i]) - mean;
      total += sum_of(d, some);
      product += dot_of(d, static_cast<const A*>(x_buffer), some);
    }
  }
  *sum = total;
  *along = product;
}

template <typename T>
PLIMSOLL_CLONES void plane_gradient(T* dx, const T* dy, const T* x, const BatchLayout& l,
                                    std::int64_t channel, const Channels<Acc<T>>& c) {
  using A = Acc<T>;
  const A mean = c.mean[channel];
  const A factor = c.factor[channel];
  const A mean_part = c.mean_part[channel];
  const A spread_part = c.spread_part[channel];
  for (std::int64_t n = 0; n < l.batch; ++n) {
    const std::int64_t at = (n * l.channels + channel) * l.size;
#pragma GCC ivdep
    for (std::int64_t i = at; i < at + l.size; ++i) {
      dx[i] = narrow<T>(factor * (widen(dy[i]) - mean_part - (widen(x[i]) - mean) * spread_part));
    }
  }
}

/// to[i] += f(row, i) for each row. Four rows at a time: faster, and sums lose less.
template <typename A, typename F>
PLIMSOLL_INLINE void add_rows(A* PLIMSOLL_RESTRICT to, std::int64_t rows, std::int64_t columns,
                              F&& f) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    for (std::int64_t i = 0; i < columns; ++i) {
      to[i] += (f(row, i) + f(row + 1, i)) + (f(row + 2, i) + f(row + 3, i));
    }
  }
  for (; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) to[i] += f(row, i);
  }
}

/// The mean of some rows and the sum of squared distances from it, per column.
template <typename T>
PLIMSOLL_CLONES void row_statistics(const T* x, std::int64_t rows, std::int64_t columns,
                                    Acc<T>* mean, Acc<T>* squares) {
  using A = Acc<T>;
  std::fill_n(mean, columns, A(0));
  std::fill_n(squares, columns, A(0));
  add_rows(
      mean, rows, columns, [=](std::int64_t row, std::int64_t i) __attribute__((always_inline)) {
        return widen(x[row * columns + i]);
      });
  for (std::int64_t i = 0; i < columns; ++i) mean[i] /= static_cast<A>(rows);
  add_rows(
      squares, rows, columns, [=](std::int64_t row, std::int64_t i) __attribute__((always_inline)) {
        const A off = widen(x[row * columns + i]) - mean[i];
        return off * off;
      });
}

template <typename T>
PLIMSOLL_CLONES void row_normalize(T* y, const T* x, std::int64_t rows, std::int64_t columns,
                                   const Acc<T>* mean, const Acc<T>* factor, const Acc<T>* bias) {
  for (std::int64_t row = 0; row < rows; ++row, y += columns, x += columns) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) {
      y[i] = narrow<T>((widen(x[i]) - mean[i]) * factor[i] + bias[i]);
    }
  }
}

template <typename T>
PLIMSOLL_CLONES void row_sums(const T* dy, const T* x, std::int64_t rows, std::int64_t columns,
                              const Acc<T>* mean, Acc<T>* sum, Acc<T>* along) {
  using A = Acc<T>;
  std::fill_n(sum, columns, A(0));
  std::fill_n(along, columns, A(0));
  add_rows(
      sum, rows, columns, [=](std::int64_t row, std::int64_t i) __attribute__((always_inline)) {
        return widen(dy[row * columns + i]);
      });
  add_rows(
      along, rows, columns, [=](std::int64_t row, std::int64_t i) __attribute__((always_inline)) {
        return widen(dy[row * columns + i]) * (widen(x[row * columns + i]) - mean[i]);
      });
}

template <typename T>
PLIMSOLL_CLONES void row_gradient(T* dx, const T* dy, const T* x, std::int64_t rows,
                                  std::int64_t columns, const Channels<Acc<T>>& c) {
  using A = Acc<T>;
  const A* mean = c.mean;
  const A* factor = c.factor;
  const A* mean_part = c.mean_part;
  const A* spread_part = c.spread_part;
  for (std::int64_t row = 0; row < rows; ++row, dx += columns, dy += columns, x += columns) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) {
      dx[i] = narrow<T>(factor[i] *
                        (widen(dy[i]) - mean_part[i] - (widen(x[i]) - mean[i]) * spread_part[i]));
    }
  }
}

/// body(first, last) over rows of `columns`, in threads.
template <typename Body>
void over_rows(const BatchLayout& l, Body&& body) {
  parallel_for(l.rows(), kGrain / l.channels + 1, body);
}
/// body(channel), in threads.
template <typename Body>
void over_planes(const BatchLayout& l, Body&& body) {
  parallel_for(l.channels, kGrain / std::max<std::int64_t>(l.rows(), 1) + 1,
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t channel = first; channel < last; ++channel) body(channel);
               });
}
/// body(chunk, first row, rows), in threads.
template <typename Body>
void over_chunks(const RowChunks& chunks, Body&& body) {
  parallel_for(chunks.count, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      body(chunk, chunks.begin(chunk), chunks.end(chunk) - chunks.begin(chunk));
    }
  });
}

/// Mean and variance of columns from those of the chunks (Chan et al., "Updating formulae and a
/// pairwise algorithm for computing sample variances").
template <typename T>
void column_statistics(const T* x, const BatchLayout& l, Acc<T>* sums, Acc<T>* mean,
                       Acc<T>* variance) {
  using A = Acc<T>;
  const std::int64_t channels = l.channels;
  const RowChunks chunks = RowChunks::of(l.rows(), channels);
  over_chunks(chunks, [&](std::int64_t chunk, std::int64_t first, std::int64_t rows) {
    A* at = sums + chunk * 2 * channels;
    row_statistics(x + first * channels, rows, channels, at, at + channels);
  });
  std::copy_n(sums, channels, mean);
  std::copy_n(sums + channels, channels, variance);
  for (std::int64_t chunk = 1; chunk < chunks.count; ++chunk) {
    const A* at = sums + chunk * 2 * channels;
    const auto before = static_cast<A>(chunks.begin(chunk));
    const auto after = static_cast<A>(chunks.end(chunk));
    const A share = (after - before) / after;
    for (std::int64_t i = 0; i < channels; ++i) {
      const A off = at[i] - mean[i];
      mean[i] += off * share;
      variance[i] += at[channels + i] + off * off * before * share;
    }
  }
  for (std::int64_t i = 0; i < channels; ++i) variance[i] /= static_cast<A>(l.rows());
}

/// Training and inference: x, scale, bias and, for the latter, mean and variance.
void run_batch_norm(const KernelContext& k) {
  const bool given = k.inputs.size() > 3;
  const BatchLayout l = layout_of(k.in(0).shape(), k.attributes);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    const Channels<A> c(k.workspace, l.channels);
    const auto epsilon = static_cast<A>(k.attributes.number("epsilon"));
    const T* x = k.in(0).as<const T>();
    T* y = k.out(0).as<T>();
    A* mean = given ? k.in(3).as<A>() : k.out(1).as<A>();
    A* variance = given ? k.in(4).as<A>() : k.out(2).as<A>();
    load_parameters(k.in(1), c.scale);
    load_parameters(k.in(2), c.bias);
    if (l.columns) {
      if (!given) column_statistics(x, l, c.chunks, mean, variance);
      for (std::int64_t i = 0; i < l.channels; ++i) {
        c.factor[i] = c.scale[i] / std::sqrt(variance[i] + epsilon);
      }
      over_rows(l, [&](std::int64_t first, std::int64_t last) {
        const std::int64_t at = first * l.channels;
        row_normalize(y + at, x + at, last - first, l.channels, mean, c.factor, c.bias);
      });
      return;
    }
    over_planes(l, [&](std::int64_t channel) {
      if (!given) plane_statistics(x, l, channel, mean + channel, variance + channel);
      const A factor = c.scale[channel] / std::sqrt(variance[channel] + epsilon);
      plane_normalize(y, x, l, channel, mean[channel], factor, c.bias[channel]);
    });
  });
}

void run_statistics(const KernelContext& k) {
  const BatchLayout l = layout_of(k.in(0).shape(), k.attributes);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    const T* x = k.in(0).as<const T>();
    A* mean = k.out(0).as<A>();
    A* variance = k.out(1).as<A>();
    if (l.columns) {
      return column_statistics(x, l, Channels<A>(k.workspace, l.channels).chunks, mean, variance);
    }
    over_planes(l, [&](std::int64_t channel) {
      plane_statistics(x, l, channel, mean + channel, variance + channel);
    });
  });
}

/// dy, x, scale, mean, variance. With `given` statistics those have gradients of their own.
void run_batch_norm_grad(const KernelContext& k, bool given) {
  const BatchLayout l = layout_of(k.in(0).shape(), k.attributes);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    Channels<A> c(k.workspace, l.channels);
    const auto epsilon = static_cast<A>(k.attributes.number("epsilon"));
    const T* dy = k.in(0).as<const T>();
    const T* x = k.in(1).as<const T>();
    T* dx = k.out(0).as<T>();
    load_parameters(k.in(2), c.scale);
    c.mean = k.in(3).as<A>();
    const A* variance = k.in(4).as<A>();
    const auto settle = [&](std::int64_t i) {
      const A inverse = 1 / std::sqrt(variance[i] + epsilon);
      const auto count = static_cast<A>(l.rows());
      c.factor[i] = c.scale[i] * inverse;
      c.mean_part[i] = given ? 0 : c.sum[i] / count;
      c.spread_part[i] = given ? 0 : c.along[i] * inverse * inverse / count;
      if (given) {
        k.out(3).as<A>()[i] = -c.sum[i] * c.factor[i];
        k.out(4).as<A>()[i] = c.along[i] * c.factor[i] * inverse * inverse * A(-0.5);
      }
      c.along[i] *= inverse;
    };
    if (l.columns) {
      const RowChunks chunks = RowChunks::of(l.rows(), l.channels);
      over_chunks(chunks, [&](std::int64_t chunk, std::int64_t first, std::int64_t rows) {
        A* at = c.chunks + chunk * 2 * l.channels;
        const std::int64_t offset = first * l.channels;
        row_sums(dy + offset, x + offset, rows, l.channels, c.mean, at, at + l.channels);
      });
      for (std::int64_t i = 0; i < l.channels; ++i) {
        c.sum[i] = 0;
        c.along[i] = 0;
        for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
          c.sum[i] += c.chunks[chunk * 2 * l.channels + i];
          c.along[i] += c.chunks[(chunk * 2 + 1) * l.channels + i];
        }
        settle(i);
      }
      over_rows(l, [&](std::int64_t first, std::int64_t last) {
        const std::int64_t at = first * l.channels;
        row_gradient(dx + at, dy + at, x + at, last - first, l.channels, c);
      });
    } else {
      over_planes(l, [&](std::int64_t channel) {
        plane_sums(dy, x, l, channel, c.mean[channel], c.sum + channel, c.along + channel);
        settle(channel);
        plane_gradient(dx, dy, x, l, channel, c);
      });
    }
    store_parameters(c.along, k.out(1));
    store_parameters(c.sum, k.out(2));
  });
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  const BatchLayout l = layout_of(inputs.shape(0), inputs.attributes());
  const std::int64_t chunks = l.columns ? RowChunks::of(l.rows(), l.channels).count : 0;
  auto state = std::make_shared<ops::KernelState>();
  state->workspace = static_cast<Bytes>((Channels<float>::kArrays + 2 * chunks) * l.channels) *
                     std::max<std::size_t>(4, dtype_size(inputs.dtype(0)));
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("batch_norm", {run_batch_norm, prepare});
  table.add("batch_norm_inference", {run_batch_norm, prepare});
  table.add("batch_norm_statistics", {run_statistics, prepare});
  table.add("batch_norm_grad",
            {[](const KernelContext& k) { run_batch_norm_grad(k, false); }, prepare});
  table.add("batch_norm_inference_grad",
            {[](const KernelContext& k) { run_batch_norm_grad(k, true); }, prepare});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
