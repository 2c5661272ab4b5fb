// Group normalisation, a group of a picture at a time: its channels are planes one behind the
// other, or columns beside each other. Results may be written over dy or x: each element is read
// before it is written.
#pragma GCC optimize("O3")

#include <algorithm>
#include <limits>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_chunks.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

/// [pictures, channels, size], or [pictures, size, channels] with `columns`.
struct Groups {
  std::int64_t pictures;
  std::int64_t channels;
  std::int64_t size;
  std::int64_t groups;
  bool columns;

  Groups(const Shape& shape, const ops::Attributes& attributes)
      : pictures(shape[0]),
        channels(shape[attributes.flag("channels_last") ? 3 : 1]),
        size(attributes.flag("channels_last") ? shape[1] * shape[2] : shape[2] * shape[3]),
        groups(attributes.integer("groups")),
        columns(attributes.flag("channels_last")) {}

  std::int64_t width() const { return channels / groups; }
  std::int64_t elements() const { return width() * size; }  ///< of a group
  // A group is so many runs of elements that follow each other.
  std::int64_t runs() const { return columns ? size : width(); }
  std::int64_t run() const { return columns ? width() : size; }
  std::int64_t begin(std::int64_t picture, std::int64_t group, std::int64_t i) const {
    const std::int64_t first = picture * channels * size;
    return columns ? first + i * channels + group * width() : first + (group * width() + i) * size;
  }
};

/// body(picture, group) for all of them, in threads.
template <typename Body>
void over_groups(const Groups& g, Body&& body) {
  parallel_for(g.pictures * g.groups, kGrain / std::max<std::int64_t>(g.elements(), 1) + 1,
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t at = first; at < last; ++at) body(at / g.groups, at % g.groups);
               });
}

/// Runs are added up in the dtype of the statistics, and those sums in f64.
template <typename T>
PLIMSOLL_CLONES void find_statistics(const T* x, const Groups& g, std::int64_t picture,
                                     std::int64_t group, Acc<T>* mean, Acc<T>* variance) {
  using A = Acc<T>;
  A buffer[kRowBlock];
  const auto count = static_cast<double>(g.elements());
  double total = 0;
  double squares = 0;
  for (const bool second : {false, true}) {
    for (std::int64_t i = 0; i < g.runs(); ++i) {
      const T* from = x + g.begin(picture, group, i);
      for (std::int64_t at = 0; at < g.run(); at += kRowBlock) {
        const std::int64_t some = std::min(kRowBlock, g.run() - at);
        const A* values = staged(from + at, some, buffer);
        if (second) {
          squares += static_cast<double>(squares_of(values, *mean, some));
        } else {
          total += static_cast<double>(sum_of(values, some));
        }
      }
    }
    if (!second) *mean = static_cast<A>(total / count);
  }
  *variance = static_cast<A>(squares / count);
}

template <typename T>
PLIMSOLL_CLONES void normalize(T* y, const T* x, const Groups& g, std::int64_t picture,
                               std::int64_t group, Acc<T> mean, Acc<T> inverse,
                               const Acc<T>* scales, const Acc<T>* biases) {
  using A = Acc<T>;
  const A* scale = scales + group * g.width();
  const A* bias = biases + group * g.width();
  const std::int64_t length = g.run();
  for (std::int64_t run = 0; run < g.runs(); ++run) {
    const std::int64_t at = g.begin(picture, group, run);
    if (g.columns) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < length; ++i) {
        y[at + i] = narrow<T>((widen(x[at + i]) - mean) * (scale[i] * inverse) + bias[i]);
      }
    } else {
      const A factor = scale[run] * inverse;
      const A plus = bias[run];
#pragma GCC ivdep
      for (std::int64_t i = 0; i < length; ++i) {
        y[at + i] = narrow<T>((widen(x[at + i]) - mean) * factor + plus);
      }
    }
  }
}

/// Per channel of the group: the sums of dy and of dy (x - mean).
template <typename T>
PLIMSOLL_CLONES void add_up(const T* dy, const T* x, const Groups& g, std::int64_t picture,
                            std::int64_t group, Acc<T> mean, Acc<T>* sum, Acc<T>* along) {
  using A = Acc<T>;
  std::fill_n(sum, g.width(), A(0));
  std::fill_n(along, g.width(), A(0));
  A dy_buffer[kRowBlock];
  A x_buffer[kRowBlock];
  for (std::int64_t run = 0; run < g.runs(); ++run) {
    const std::int64_t first = g.begin(picture, group, run);
    for (std::int64_t at = 0; at < g.run(); at += kRowBlock) {
      const std::int64_t some = std::min(kRowBlock, g.run() - at);
      const A* d = staged(dy + first + at, some, dy_buffer);
      const T* values = x + first + at;
      for (std::int64_t i = 0; i < some; ++i) x_buffer[i] = widen(values[i]) - mean;
      if (g.columns) {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < some; ++i) {
          sum[at + i] += d[i];
          along[at + i] += d[i] * x_buffer[i];
        }
      } else {
        sum[run] += sum_of(d, some);
        along[run] += dot_of(d, static_cast<const A*>(x_buffer), some);
      }
    }
  }
}

/// What the group's mean and variance take from dy, the latter for each unit of x - mean.
template <typename A>
struct Shares {
  A mean = 0;
  A inverse = 0;
  A mean_part = 0;
  A spread_part = 0;
};

template <typename T>
PLIMSOLL_CLONES void find_gradient(T* dx, const T* dy, const T* x, const Groups& g,
                                   std::int64_t picture, std::int64_t group,
                                   const Shares<Acc<T>>& s, const Acc<T>* scales) {
  using A = Acc<T>;
  const A* scale = scales + group * g.width();
  const std::int64_t length = g.run();
  for (std::int64_t run = 0; run < g.runs(); ++run) {
    const std::int64_t at = g.begin(picture, group, run);
    if (g.columns) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < length; ++i) {
        const A off = widen(x[at + i]) - s.mean;
        dx[at + i] = narrow<T>(s.inverse *
                               (widen(dy[at + i]) * scale[i] - s.mean_part - off * s.spread_part));
      }
    } else {
      const A factor = scale[run];
#pragma GCC ivdep
      for (std::int64_t i = 0; i < length; ++i) {
        const A off = widen(x[at + i]) - s.mean;
        dx[at + i] =
            narrow<T>(s.inverse * (widen(dy[at + i]) * factor - s.mean_part - off * s.spread_part));
      }
    }
  }
}

void run_group_norm(const KernelContext& k) {
  const Groups g(k.in(0).shape(), k.attributes);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    A* scale = static_cast<A*>(k.workspace);
    A* bias = scale + g.channels;
    load_parameters(k.in(1), scale);
    load_parameters(k.in(2), bias);
    const auto epsilon = static_cast<A>(k.attributes.number("epsilon"));
    const T* x = k.in(0).as<const T>();
    over_groups(g, [&](std::int64_t picture, std::int64_t group) {
      A* mean = k.out(1).as<A>() + picture * g.groups + group;
      A* variance = k.out(2).as<A>() + picture * g.groups + group;
      find_statistics(x, g, picture, group, mean, variance);
      normalize(k.out(0).as<T>(), x, g, picture, group, *mean, 1 / std::sqrt(*variance + epsilon),
                scale, bias);
    });
  });
}

/// dy, x, scale, mean, variance.
void run_group_norm_grad(const KernelContext& k) {
  const Groups g(k.in(0).shape(), k.attributes);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    // The scale, both sums of all pictures, then those of each picture.
    A* scale = static_cast<A*>(k.workspace);
    A* sum = scale + g.channels;
    A* along = sum + g.channels;
    A* sums = along + g.channels;
    A* alongs = sums + g.pictures * g.channels;
    load_parameters(k.in(2), scale);
    const auto epsilon = static_cast<A>(k.attributes.number("epsilon"));
    const T* dy = k.in(0).as<const T>();
    const T* x = k.in(1).as<const T>();
    const auto count = static_cast<A>(g.elements());
    over_groups(g, [&](std::int64_t picture, std::int64_t group) {
      const std::int64_t at = picture * g.groups + group;
      const std::int64_t first = picture * g.channels + group * g.width();
      Shares<A> s{.mean = k.in(3).as<const A>()[at],
                  .inverse = 1 / std::sqrt(k.in(4).as<const A>()[at] + epsilon)};
      add_up(dy, x, g, picture, group, s.mean, sums + first, alongs + first);
      for (std::int64_t i = 0; i < g.width(); ++i) {
        s.mean_part += scale[group * g.width() + i] * sums[first + i];
        s.spread_part += scale[group * g.width() + i] * alongs[first + i];
        alongs[first + i] *= s.inverse;
      }
      s.mean_part /= count;
      s.spread_part *= s.inverse * s.inverse / count;
      find_gradient(k.out(0).as<T>(), dy, x, g, picture, group, s, scale);
    });
    std::fill_n(sum, 2 * g.channels, A(0));
    for (std::int64_t at = 0; at < g.pictures * g.channels; ++at) {
      sum[at % g.channels] += sums[at];
      along[at % g.channels] += alongs[at];
    }
    store_parameters(along, k.out(1));
    store_parameters(sum, k.out(2));
  });
}

template <bool Gradient>
std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  const Groups g(inputs.shape(0), inputs.attributes());
  auto state = std::make_shared<ops::KernelState>();
  const std::int64_t numbers = Gradient ? (3 + 2 * g.pictures) * g.channels : 2 * g.channels;
  state->workspace =
      static_cast<Bytes>(numbers) * std::max<std::size_t>(4, dtype_size(inputs.dtype(0)));
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("group_norm", {run_group_norm, prepare<false>});
  table.add("group_norm_grad", {run_group_norm_grad, prepare<true>});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
