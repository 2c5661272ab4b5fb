// Gradients may be written over either input: each element is read before it is written.
#pragma GCC optimize("O3")

#include <limits>

#include <plimsoll/backend/common/around.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

using Lines = backend::Around;

/// Neighbouring lines that are treated together where they are not rows.
constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kGrain = 16384;

template <typename T>
PLIMSOLL_CLONES void softmax_rows(T* to, const T* from, std::int64_t rows, std::int64_t extent,
                                  bool log) {
  using A = Acc<T>;
  A buffer[kRowBlock];
  for (std::int64_t row = 0; row < rows; ++row, to += extent, from += extent) {
    A largest = -std::numeric_limits<A>::infinity();
    for (std::int64_t at = 0; at < extent; at += kRowBlock) {
      const std::int64_t count = std::min(kRowBlock, extent - at);
      largest = max_of(staged(from + at, count, buffer), count, largest);
    }
    A total = 0;
    for (std::int64_t at = 0; at < extent; at += kRowBlock) {
      const std::int64_t count = std::min(kRowBlock, extent - at);
      const A* x = staged(from + at, count, buffer);
      A* e = buffer;
      if constexpr (!is_narrow_v<T>) e = log ? buffer : to + at;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) e[i] = exp_of(x[i] - largest);
      total += sum_of(e, count);
    }
    const A scale = 1 / total;
    if (log) {
      const A shift = std::log(total);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < extent; ++i) {
        to[i] = narrow<T>((widen(from[i]) - largest) - shift);
      }
    } else if constexpr (is_narrow_v<T>) {
      if (extent <= kRowBlock) {
        for (std::int64_t i = 0; i < extent; ++i) to[i] = narrow<T>(buffer[i] * scale);
        continue;
      }
#pragma GCC ivdep
      for (std::int64_t i = 0; i < extent; ++i) {
        to[i] = narrow<T>(exp_of(widen(from[i]) - largest) * scale);
      }
    } else {
      for (std::int64_t i = 0; i < extent; ++i) to[i] *= scale;
    }
  }
}

/// `count` lines side by side, `inner` between an element of a line and its next.
template <typename T>
PLIMSOLL_CLONES void softmax_columns(T* to, const T* from, std::int64_t extent, std::int64_t inner,
                                     std::int64_t count, bool log) {
  using A = Acc<T>;
  A largest[kColumns];
  A total[kColumns];
  std::fill_n(largest, kColumns, -std::numeric_limits<A>::infinity());
  std::fill_n(total, kColumns, A(0));
  for (std::int64_t j = 0; j < extent; ++j) {
    for (std::int64_t i = 0; i < count; ++i) {
      const A x = widen(from[j * inner + i]);
      largest[i] = x > largest[i] ? x : largest[i];
    }
  }
  for (std::int64_t j = 0; j < extent; ++j) {
    for (std::int64_t i = 0; i < count; ++i) {
      total[i] += exp_of(widen(from[j * inner + i]) - largest[i]);
    }
  }
  for (std::int64_t i = 0; i < count; ++i) total[i] = log ? std::log(total[i]) : 1 / total[i];
  for (std::int64_t j = 0; j < extent; ++j) {
    const T* x = from + j * inner;
    T* y = to + j * inner;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      const A value = widen(x[i]) - largest[i];
      y[i] = narrow<T>(log ? value - total[i] : exp_of(value) * total[i]);
    }
  }
}

template <typename T>
PLIMSOLL_CLONES void softmax_grad_rows(T* dx, const T* dy, const T* y, std::int64_t rows,
                                       std::int64_t extent, bool log) {
  using A = Acc<T>;
  A dy_buffer[kRowBlock];
  A y_buffer[kRowBlock];
  for (std::int64_t row = 0; row < rows; ++row, dx += extent, dy += extent, y += extent) {
    A total = 0;
    for (std::int64_t at = 0; at < extent; at += kRowBlock) {
      const std::int64_t count = std::min(kRowBlock, extent - at);
      const A* d = staged(dy + at, count, dy_buffer);
      total += log ? sum_of(d, count) : dot_of(d, staged(y + at, count, y_buffer), count);
    }
    if (log) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < extent; ++i) {
        dx[i] = narrow<T>(widen(dy[i]) - exp_of(widen(y[i])) * total);
      }
    } else {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < extent; ++i) {
        dx[i] = narrow<T>(widen(y[i]) * (widen(dy[i]) - total));
      }
    }
  }
}

template <typename T>
PLIMSOLL_CLONES void softmax_grad_columns(T* dx, const T* dy, const T* y, std::int64_t extent,
                                          std::int64_t inner, std::int64_t count, bool log) {
  using A = Acc<T>;
  A total[kColumns];
  std::fill_n(total, kColumns, A(0));
  for (std::int64_t j = 0; j < extent; ++j) {
    for (std::int64_t i = 0; i < count; ++i) {
      total[i] += widen(dy[j * inner + i]) * (log ? A(1) : widen(y[j * inner + i]));
    }
  }
  for (std::int64_t j = 0; j < extent; ++j) {
    const std::int64_t at = j * inner;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      const A d = widen(dy[at + i]);
      const A value = widen(y[at + i]);
      dx[at + i] = narrow<T>(log ? d - exp_of(value) * total[i] : value * (d - total[i]));
    }
  }
}

Lines lines_of(const KernelContext& k) {
  return backend::around(k.out(0).shape(), k.attributes.integer("axis"));
}

/// rows(offset, count) for lines that are rows, else columns(offset, count) for at most kColumns
/// lines side by side.
template <typename Rows, typename Columns>
void over_lines(const Lines& lines, Rows&& rows, Columns&& columns) {
  if (lines.inner == 1) {
    parallel_for(
        lines.outer, std::max<std::int64_t>(1, kGrain / lines.extent),
        [&](std::int64_t first, std::int64_t last) { rows(first * lines.extent, last - first); });
    return;
  }
  const std::int64_t bands = (lines.inner + kColumns - 1) / kColumns;
  const std::int64_t band = std::min(kColumns, lines.inner) * lines.extent;
  parallel_for(lines.outer * bands, std::max<std::int64_t>(1, kGrain / band),
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t i = first; i < last; ++i) {
                   const std::int64_t column = i % bands * kColumns;
                   columns(i / bands * lines.extent * lines.inner + column,
                           std::min(kColumns, lines.inner - column));
                 }
               });
}

void run_softmax(const KernelContext& k, bool log) {
  const Lines lines = lines_of(k);
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const T* from = k.in(0).as<const T>();
    T* to = k.out(0).as<T>();
    over_lines(
        lines,
        [&](std::int64_t offset, std::int64_t rows) {
          softmax_rows(to + offset, from + offset, rows, lines.extent, log);
        },
        [&](std::int64_t offset, std::int64_t count) {
          softmax_columns(to + offset, from + offset, lines.extent, lines.inner, count, log);
        });
  });
}

void run_softmax_grad(const KernelContext& k, bool log) {
  const Lines lines = lines_of(k);
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const T* dy = k.in(0).as<const T>();
    const T* y = k.in(1).as<const T>();
    T* dx = k.out(0).as<T>();
    over_lines(
        lines,
        [&](std::int64_t offset, std::int64_t rows) {
          softmax_grad_rows(dx + offset, dy + offset, y + offset, rows, lines.extent, log);
        },
        [&](std::int64_t offset, std::int64_t count) {
          softmax_grad_columns(dx + offset, dy + offset, y + offset, lines.extent, lines.inner,
                               count, log);
        });
  });
}

void add_kernels(KernelTable& table) {
  table.add("softmax", {[](const KernelContext& k) { run_softmax(k, false); }});
  table.add("softmax_grad", {[](const KernelContext& k) { run_softmax_grad(k, false); }});
  table.add("log_softmax", {[](const KernelContext& k) { run_softmax(k, true); }});
  table.add("log_softmax_grad", {[](const KernelContext& k) { run_softmax_grad(k, true); }});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
