// Gradients may be written over the logits: each element is read before it is written.
#pragma GCC optimize("O3")

#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/parallel.h>
#include <plimsoll/ops/softmax.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

/// softmax(x) = exp(x - largest) / total.
template <typename A>
struct RowExp {
  A largest = -std::numeric_limits<A>::infinity();
  A total = 0;
};

/// `kept`, if it is not null, gets exp(x - largest); it may be the row itself.
template <typename T>
PLIMSOLL_INLINE RowExp<Acc<T>> row_exp(const T* row, std::int64_t classes, Acc<T>* kept) {
  using A = Acc<T>;
  A buffer[kRowBlock];
  RowExp<A> result;
  for (std::int64_t at = 0; at < classes; at += kRowBlock) {
    const std::int64_t count = std::min(kRowBlock, classes - at);
    result.largest = max_of(staged(row + at, count, buffer), count, result.largest);
  }
  for (std::int64_t at = 0; at < classes; at += kRowBlock) {
    const std::int64_t count = std::min(kRowBlock, classes - at);
    const A* x = staged(row + at, count, buffer);
    A* e = kept != nullptr ? kept + at : buffer;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) e[i] = exp_of(x[i] - result.largest);
    result.total += sum_of(e, count);
  }
  return result;
}

/// Where exponentials of a row are kept until its gradient is complete: in the gradient, unless
/// they would be rounded there.
template <typename T>
PLIMSOLL_INLINE Acc<T>* room_for_exp(T* dx) {
  if constexpr (is_narrow_v<T>) {
    (void)dx;
    return nullptr;
  } else {
    return dx;
  }
}

/// exp(x - largest) of element i: kept, or found again.
template <typename T>
PLIMSOLL_INLINE Acc<T> exp_at(const T* row, const T* dx, std::int64_t i, Acc<T> largest) {
  if constexpr (is_narrow_v<T>) {
    (void)dx;
    return exp_of(widen(row[i]) - largest);
  } else {
    (void)row;
    (void)largest;
    return dx[i];
  }
}

template <typename T, typename Label>
PLIMSOLL_CLONES void losses(Acc<T>* loss, const T* logits, const Label* labels, std::int64_t rows,
                            std::int64_t classes, Acc<T> smoothing) {
  using A = Acc<T>;
  A buffer[kRowBlock];
  for (std::int64_t row = 0; row < rows; ++row, logits += classes) {
    if (labels[row] == ops::kIgnoreLabel) {
      loss[row] = 0;
      continue;
    }
    const RowExp<A> sum = row_exp(logits, classes, static_cast<A*>(nullptr));
    const A label = widen(logits[labels[row]]) - sum.largest;
    A result = std::log(sum.total) - label;
    if (smoothing != 0) {
      A total = 0;
      for (std::int64_t at = 0; at < classes; at += kRowBlock) {
        const std::int64_t count = std::min(kRowBlock, classes - at);
        const A* x = staged(logits + at, count, buffer);
        // Relative to the largest, so that nothing is lost where all are large.
#pragma GCC ivdep
        for (std::int64_t i = 0; i < count; ++i) buffer[i] = x[i] - sum.largest;
        total += sum_of(buffer, count);
      }
      result += smoothing * (label - total / static_cast<A>(classes));
    }
    loss[row] = result;
  }
}

template <typename T, typename Label>
PLIMSOLL_CLONES void loss_gradients(T* dx, const T* logits, const Label* labels,
                                    const Acc<T>* dloss, std::int64_t rows, std::int64_t classes,
                                    Acc<T> smoothing) {
  using A = Acc<T>;
  const A share = smoothing / static_cast<A>(classes);
  for (std::int64_t row = 0; row < rows; ++row, logits += classes, dx += classes) {
    if (labels[row] == ops::kIgnoreLabel) {
      std::fill_n(dx, classes, narrow<T>(A(0)));
      continue;
    }
    const RowExp<A> sum = row_exp(logits, classes, room_for_exp(dx));
    const A scale = 1 / sum.total;
    const A d = dloss[row];
    const A label = exp_at(logits, dx, labels[row], sum.largest) * scale;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < classes; ++i) {
      dx[i] = narrow<T>((exp_at(logits, dx, i, sum.largest) * scale - share) * d);
    }
    dx[labels[row]] = narrow<T>((label - share - (1 - smoothing)) * d);
  }
}

template <typename T>
PLIMSOLL_CLONES void dense_losses(Acc<T>* loss, const T* logits, const T* targets,
                                  std::int64_t rows, std::int64_t classes) {
  using A = Acc<T>;
  A buffer[kRowBlock];
  A target_buffer[kRowBlock];
  for (std::int64_t row = 0; row < rows; ++row, logits += classes, targets += classes) {
    const RowExp<A> sum = row_exp(logits, classes, static_cast<A*>(nullptr));
    const A lse = std::log(sum.total);
    A total = 0;
    for (std::int64_t at = 0; at < classes; at += kRowBlock) {
      const std::int64_t count = std::min(kRowBlock, classes - at);
      const A* x = staged(logits + at, count, buffer);
      const A* t = staged(targets + at, count, target_buffer);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) {
        // A class without a share has none, even where its logit is minus infinity.
        buffer[i] = t[i] == 0 ? 0 : t[i] * (lse - (x[i] - sum.largest));
      }
      total += sum_of(buffer, count);
    }
    loss[row] = total;
  }
}

template <typename T>
PLIMSOLL_CLONES void dense_gradients(T* dx, const T* logits, const T* targets, const Acc<T>* dloss,
                                     std::int64_t rows, std::int64_t classes) {
  using A = Acc<T>;
  A buffer[kRowBlock];
  for (std::int64_t row = 0; row < rows; ++row) {
    const RowExp<A> sum = row_exp(logits, classes, room_for_exp(dx));
    A mass = 0;
    for (std::int64_t at = 0; at < classes; at += kRowBlock) {
      const std::int64_t count = std::min(kRowBlock, classes - at);
      mass += sum_of(staged(targets + at, count, buffer), count);
    }
    const A scale = mass / sum.total;
    const A d = dloss[row];
#pragma GCC ivdep
    for (std::int64_t i = 0; i < classes; ++i) {
      dx[i] = narrow<T>((exp_at(logits, dx, i, sum.largest) * scale - widen(targets[i])) * d);
    }
    logits += classes;
    targets += classes;
    dx += classes;
  }
}

template <typename Label>
void check_labels(const TensorView& labels, std::int64_t classes) {
  const Label* at = labels.as<const Label>();
  for (std::int64_t i = 0; i < labels.elements(); ++i) {
    if ((at[i] < 0 || at[i] >= classes) && at[i] != ops::kIgnoreLabel) {
      throw InvalidArgument(fmt::format(
          "[cross_entropy] label {} of row {} is not one of {} classes; rows to leave out have the "
          "label {}",
          at[i], i, classes, ops::kIgnoreLabel));
    }
  }
}

/// body<T, Label>(first, last) over rows of logits, in threads.
template <typename Body>
void over_labelled_rows(const KernelContext& k, Body&& body) {
  const std::int64_t classes = k.in(0).shape().dim(-1);
  const std::int64_t rows = k.in(1).elements();
  const auto with_label = [&]<typename Label>() {
    check_labels<Label>(k.in(1), classes);
    with_float(k.in(0).dtype(), [&]<typename T>() {
      parallel_for(rows, kGrain / std::max<std::int64_t>(classes, 1) + 1,
                   [&](std::int64_t first, std::int64_t last) {
                     body.template operator()<T, Label>(first, last);
                   });
    });
  };
  if (k.in(1).dtype() == DType::i32) return with_label.template operator()<std::int32_t>();
  with_label.template operator()<std::int64_t>();
}

void run_cross_entropy(const KernelContext& k) {
  const std::int64_t classes = k.in(0).shape().dim(-1);
  const double smoothing = k.attributes.number("smoothing");
  over_labelled_rows(k, [&]<typename T, typename Label>(std::int64_t first, std::int64_t last) {
    losses(k.out(0).as<Acc<T>>() + first, k.in(0).as<const T>() + first * classes,
           k.in(1).as<const Label>() + first, last - first, classes,
           static_cast<Acc<T>>(smoothing));
  });
}

void run_cross_entropy_grad(const KernelContext& k) {
  const std::int64_t classes = k.in(0).shape().dim(-1);
  const double smoothing = k.attributes.number("smoothing");
  over_labelled_rows(k, [&]<typename T, typename Label>(std::int64_t first, std::int64_t last) {
    loss_gradients(k.out(0).as<T>() + first * classes, k.in(0).as<const T>() + first * classes,
                   k.in(1).as<const Label>() + first, k.in(2).as<const Acc<T>>() + first,
                   last - first, classes, static_cast<Acc<T>>(smoothing));
  });
}

/// body<T>(first, last) over rows of `classes`, in threads.
template <typename Body>
void over_rows(const KernelContext& k, std::int64_t rows, std::int64_t classes, Body&& body) {
  with_float(k.in(0).dtype(), [&]<typename T>() {
    parallel_for(
        rows, kGrain / std::max<std::int64_t>(classes, 1) + 1,
        [&](std::int64_t first, std::int64_t last) { body.template operator()<T>(first, last); });
  });
}

void run_cross_entropy_dense(const KernelContext& k) {
  const std::int64_t classes = k.in(0).shape().dim(-1);
  over_rows(k, k.out(0).elements(), classes,
            [&]<typename T>(std::int64_t first, std::int64_t last) {
              dense_losses(k.out(0).as<Acc<T>>() + first, k.in(0).as<const T>() + first * classes,
                           k.in(1).as<const T>() + first * classes, last - first, classes);
            });
}

void run_cross_entropy_dense_grad(const KernelContext& k) {
  const std::int64_t classes = k.in(0).shape().dim(-1);
  over_rows(k, k.in(2).elements(), classes, [&]<typename T>(std::int64_t first, std::int64_t last) {
    dense_gradients(k.out(0).as<T>() + first * classes, k.in(0).as<const T>() + first * classes,
                    k.in(1).as<const T>() + first * classes, k.in(2).as<const Acc<T>>() + first,
                    last - first, classes);
  });
}

void add_kernels(KernelTable& table) {
  table.add("cross_entropy", {run_cross_entropy});
  table.add("cross_entropy_grad", {run_cross_entropy_grad});
  table.add("cross_entropy_dense", {run_cross_entropy_dense});
  table.add("cross_entropy_dense_grad", {run_cross_entropy_dense_grad});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
