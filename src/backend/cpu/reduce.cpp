// sum, mean, max, min, prod, all, any. The order in which elements are joined is a function of the
// shape alone: rows in pieces of kPiece with up to kBlock partial results each, columns in groups
// of rows; pieces and groups are joined in order, sums of f32 among them in f64.
#include <algorithm>
#include <limits>
#include <memory>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/chunks.h"
#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/reduce_layout.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kPiece = 8192;     // elements of a row
constexpr std::int64_t kTile = kChunk;    // columns at a time
constexpr std::int64_t kRowsOfPart = 64;  // joined in the elements' own accumulators
constexpr std::int64_t kShort = 24;       // rows so short that lanes do not pay
constexpr std::int64_t kLong = 1024;      // rows so long that many lanes do
constexpr std::int64_t kMostGroups = 16;
constexpr std::int64_t kGrain = 32768;

struct Sum {
  template <typename T>
  static constexpr T start() {
    return T{0};
  }
  template <typename T>
  PLIMSOLL_INLINE static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return a + b;
    }
  }
};
struct Prod {
  template <typename T>
  static constexpr T start() {
    return T{1};
  }
  template <typename T>
  PLIMSOLL_INLINE static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
struct Max {
  template <typename T>
  static constexpr T start() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  template <typename T>
  PLIMSOLL_INLINE static T join(T a, T b) {
    return (b > a) | (b != b) ? b : a;
  }
};
struct Min {
  template <typename T>
  static constexpr T start() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  template <typename T>
  PLIMSOLL_INLINE static T join(T a, T b) {
    return (b < a) | (b != b) ? b : a;
  }
};

/// In what elements of T are joined at first, and results of that afterwards.
template <typename T>
using Lane = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
template <typename T>
using Total = std::conditional_t<std::is_same_v<T, float>, double, Lane<T>>;

/// Element i goes to result i % Lanes; these are joined in halves.
template <typename R, std::int64_t Lanes, typename T>
PLIMSOLL_INLINE Lane<T> join_lanes(const T* x, std::int64_t count) {
  using L = Lane<T>;
  alignas(64) L lanes[Lanes];
  for (std::int64_t j = 0; j < Lanes; ++j) lanes[j] = R::template start<L>();
  std::int64_t i = 0;
  for (; i + Lanes <= count; i += Lanes) {
#pragma omp simd
    for (std::int64_t j = 0; j < Lanes; ++j) lanes[j] = R::join(lanes[j], static_cast<L>(x[i + j]));
  }
  for (std::int64_t j = 0; i + j < count; ++j)
    lanes[j] = R::join(lanes[j], static_cast<L>(x[i + j]));
  for (std::int64_t width = Lanes / 2; width > 0; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) lanes[j] = R::join(lanes[j], lanes[j + width]);
  }
  return lanes[0];
}

template <typename R, typename T>
PLIMSOLL_INLINE Lane<T> plain_join_row(const T* x, std::int64_t count) {
  if (count > kLong) return join_lanes<R, kBlock>(x, count);
  if (count > kShort) return join_lanes<R, 16>(x, count);
  auto total = R::template start<Lane<T>>();
  for (std::int64_t i = 0; i < count; ++i) total = R::join(total, static_cast<Lane<T>>(x[i]));
  return total;
}

/// Joins `x` into `to`, element by element.
template <typename R, typename W, typename T>
PLIMSOLL_INLINE void plain_join_columns(W* PLIMSOLL_RESTRICT to, const T* PLIMSOLL_RESTRICT x,
                                        std::int64_t count) {
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) to[j] = R::join(to[j], static_cast<W>(x[j]));
}

template <typename R>
PLIMSOLL_CLONES float cloned_join_row(const float* x, std::int64_t count) {
  return plain_join_row<R>(x, count);
}
template <typename R, typename W>
PLIMSOLL_CLONES void cloned_join_columns(W* PLIMSOLL_RESTRICT to, const float* PLIMSOLL_RESTRICT x,
                                         std::int64_t count) {
  plain_join_columns<R>(to, x, count);
}

// What is summed in training is f32, and 16-bit floats widened to it; clones of the loops over
// whole numbers and f64 would double what this file takes to compile.
template <typename R, typename T>
Lane<T> join_row(const T* x, std::int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    return cloned_join_row<R>(x, count);
  } else {
    return plain_join_row<R>(x, count);
  }
}
template <typename R, typename W, typename T>
void join_columns(W* to, const T* x, std::int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    cloned_join_columns<R>(to, x, count);
  } else {
    plain_join_columns<R>(to, x, count);
  }
}

/// Elements as the loops want them: 16-bit floats as f32, in `row`.
template <typename T>
const auto* fetch(const TensorView& x, std::int64_t offset, std::int64_t count, float* row) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    widen_row(x.dtype(), x.as<const T>() + offset, row, count);
    return static_cast<const float*>(row);
  } else {
    return x.as<const T>() + offset;
  }
}

template <typename T, typename W>
T finished(W total, double factor) {
  if constexpr (std::is_same_v<T, bool>) {
    return total != W{};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(total);
  } else {
    return static_cast<T>(
        static_cast<Acc<T>>(factor == 1 ? total : total * static_cast<W>(factor)));
  }
}

/// How the work is cut, by shape alone.
struct Cut {
  explicit Cut(const ReduceLayout& layout) {
    if (layout.inner_reduced) {
      pieces = layout.reduced.count() * ((layout.inner + kPiece - 1) / kPiece);
      outputs = layout.kept.count();
      parts = outputs < kMostGroups ? pieces : 1;
    } else {
      const std::int64_t rows = layout.reduced.count();
      const std::int64_t tiles = (layout.inner + kTile - 1) / kTile;
      outputs = layout.kept.count() * layout.inner;
      const std::int64_t units = layout.kept.count() * tiles;
      parts = units < kMostGroups ? std::clamp<std::int64_t>(rows / 256, 1, kMostGroups) : 1;
    }
  }
  std::int64_t pieces = 1;
  std::int64_t outputs = 0;
  std::int64_t parts = 1;  ///< results per output that are stored and joined afterwards
};

template <typename R, typename T>
class Reduction {
 public:
  using E = Acc<T>;
  using W = Total<E>;

  Reduction(const KernelContext& k, double factor)
      : x_(k.in(0)),
        to_(k.out(0).as<T>()),
        factor_(factor),
        layout_(x_.shape(), k.attributes.integers("axes")),
        cut_(layout_),
        partial_(static_cast<W*>(k.workspace)) {}

  void run() const {
    if (x_.elements() == 0) {
      std::fill_n(to_, cut_.outputs, finished<T>(R::template start<W>(), factor_));
      return;
    }
    layout_.inner_reduced ? rows() : columns();
  }

 private:
  W piece(std::int64_t output, std::int64_t index) const {
    const std::int64_t per_row = (layout_.inner + kPiece - 1) / kPiece;
    const std::int64_t from = index % per_row * kPiece;
    const std::int64_t count = std::min(kPiece, layout_.inner - from);
    const std::int64_t offset = layout_.kept[output] + layout_.reduced[index / per_row] + from;
    float row[std::is_same_v<E, T> ? 1 : kPiece];
    return static_cast<W>(join_row<R, E>(fetch<T>(x_, offset, count, row), count));
  }

  void rows() const {
    const std::int64_t length = layout_.reduced.count() * layout_.inner;
    if (cut_.parts == 1) {
      parallel_for(cut_.outputs, std::max<std::int64_t>(1, kGrain / length),
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t o = first; o < last; ++o) {
                       W total = piece(o, 0);
                       for (std::int64_t p = 1; p < cut_.pieces; ++p) {
                         total = R::join(total, piece(o, p));
                       }
                       to_[o] = finished<T>(total, factor_);
                     }
                   });
      return;
    }
    const std::int64_t per_piece = std::min(kPiece, layout_.inner);
    parallel_for(cut_.outputs * cut_.pieces, std::max<std::int64_t>(1, kGrain / per_piece),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t i = first; i < last; ++i) {
                     partial_[i] = piece(i / cut_.pieces, i % cut_.pieces);
                   }
                 });
    for (std::int64_t o = 0; o < cut_.outputs; ++o) {
      W total = partial_[o * cut_.pieces];
      for (std::int64_t p = 1; p < cut_.pieces; ++p) {
        total = R::join(total, partial_[o * cut_.pieces + p]);
      }
      to_[o] = finished<T>(total, factor_);
    }
  }

  /// Joins rows [first, last) of one tile of columns into `totals`.
  void tile(std::int64_t base, std::int64_t count, std::int64_t first, std::int64_t last,
            W* totals) const {
    alignas(64) Lane<E> lanes[kTile];
    float row[std::is_same_v<E, T> ? 1 : kTile];
    std::fill_n(totals, count, R::template start<W>());
    for (std::int64_t part = first; part < last; part += kRowsOfPart) {
      std::fill_n(lanes, count, R::template start<Lane<E>>());
      for (std::int64_t r = part; r < std::min(last, part + kRowsOfPart); ++r) {
        join_columns<R>(lanes, fetch<T>(x_, base + layout_.reduced[r], count, row), count);
      }
      join_columns<R>(totals, lanes, count);
    }
  }

  void columns() const {
    const std::int64_t rows = layout_.reduced.count();
    const std::int64_t width = layout_.inner;
    const std::int64_t tiles = (width + kTile - 1) / kTile;
    const std::int64_t units = layout_.kept.count() * tiles * cut_.parts;
    const std::int64_t work = rows / cut_.parts * std::min(width, kTile);
    parallel_for(units, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, work)),
                 [&](std::int64_t first, std::int64_t last) {
                   alignas(64) W totals[kTile];
                   for (std::int64_t unit = first; unit < last; ++unit) {
                     const std::int64_t part = unit % cut_.parts;
                     const std::int64_t column = unit / cut_.parts % tiles * kTile;
                     const std::int64_t outer = unit / cut_.parts / tiles;
                     const std::int64_t count = std::min(kTile, width - column);
                     const std::int64_t at = outer * width + column;
                     W* into = cut_.parts == 1 ? totals : partial_ + part * cut_.outputs + at;
                     tile(layout_.kept[outer] + column, count, rows * part / cut_.parts,
                          rows * (part + 1) / cut_.parts, into);
                     if (cut_.parts == 1) finish(totals, at, count);
                   }
                 });
    if (cut_.parts == 1) return;
    for (std::int64_t part = 1; part < cut_.parts; ++part) {
      join_columns<R>(partial_, partial_ + part * cut_.outputs, cut_.outputs);
    }
    finish(partial_, 0, cut_.outputs);
  }

  void finish(const W* totals, std::int64_t at, std::int64_t count) const {
    for (std::int64_t j = 0; j < count; ++j) to_[at + j] = finished<T>(totals[j], factor_);
  }

  const TensorView& x_;
  T* to_;
  double factor_;
  ReduceLayout layout_;
  Cut cut_;
  W* partial_;
};

std::shared_ptr<const ops::KernelState> prepare_reduce(const ops::OpInputs& inputs,
                                                       std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  if (inputs[0].elements() == 0) return state;
  const Cut cut(ReduceLayout(inputs.shape(0), inputs.attributes().integers("axes")));
  if (cut.parts > 1) state->workspace = static_cast<Bytes>(cut.outputs * cut.parts) * 8;
  return state;
}

template <typename R>
void run_numbers(const KernelContext& k) {
  with_number(k.out(0).dtype(), [&]<typename T>() { Reduction<R, T>(k, 1).run(); });
}
void run_mean(const KernelContext& k) {
  const double count = static_cast<double>(k.in(0).elements()) /
                       static_cast<double>(std::max<std::int64_t>(1, k.out(0).elements()));
  with_float(k.out(0).dtype(), [&]<typename T>() { Reduction<Sum, T>(k, 1 / count).run(); });
}
template <typename R>
void run_bools(const KernelContext& k) {
  Reduction<R, bool>(k, 1).run();
}

void add_kernels(KernelTable& table) {
  table.add("sum", {run_numbers<Sum>, prepare_reduce});
  table.add("mean", {run_mean, prepare_reduce});
  table.add("max", {run_numbers<Max>, prepare_reduce});
  table.add("min", {run_numbers<Min>, prepare_reduce});
  table.add("prod", {run_numbers<Prod>, prepare_reduce});
  table.add("all", {run_bools<Prod>, prepare_reduce});
  table.add("any", {run_bools<Sum>, prepare_reduce});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
