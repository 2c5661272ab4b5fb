// Sums over alignments, forwards (alpha) and backwards (beta), as logarithms in f64.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/indices.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b) + exp(c))
double log_sum(double a, double b, double c = kNever) {
  const double largest = std::max(a, std::max(b, c));
  if (!(largest > kNever)) return a + b + c;  // never, or NaN
  return largest + std::log(std::exp(a - largest) + std::exp(b - largest) + std::exp(c - largest));
}

/// A sequence and the states that an alignment passes: its labels, with a blank before, between and
/// behind them. An alignment stays, moves to the next state, or leaves out a blank between two
/// labels that differ.
template <typename T, typename Index>
struct Sequence {
  const T* log_probs;
  const Index* labels;
  std::int64_t steps;
  std::int64_t states;
  std::int64_t classes;
  std::int64_t blank;

  std::int64_t class_of(std::int64_t s) const { return s % 2 == 0 ? blank : labels[s / 2]; }
  double at(std::int64_t t, std::int64_t s) const {
    return static_cast<double>(log_probs[t * classes + class_of(s)]);
  }
  /// Whether state s may follow state s - 2.
  bool skips(std::int64_t s) const { return s >= 2 && class_of(s) != class_of(s - 2); }

  /// Of alignments up to step t, by the state they end in; `before` is that of step t - 1, which
  /// may be `after`.
  void forwards(std::int64_t t, const double* before, double* after) const {
    for (std::int64_t s = states - 1; s >= 0; --s) {
      double sum = s < 2 ? 0 : kNever;
      if (t > 0) {
        sum = log_sum(before[s], s > 0 ? before[s - 1] : kNever, skips(s) ? before[s - 2] : kNever);
      }
      after[s] = sum + at(t, s);
    }
  }
  /// The same of alignments from step t on, by the state they begin in; `beta` was that of t + 1.
  void backwards(std::int64_t t, double* beta) const {
    for (std::int64_t s = 0; s < states; ++s) {
      double sum = s + 2 < states ? kNever : 0;
      if (t + 1 < steps) {
        sum = log_sum(beta[s], s + 1 < states ? beta[s + 1] : kNever,
                      s + 2 < states && skips(s + 2) ? beta[s + 2] : kNever);
      }
      beta[s] = sum + at(t, s);
    }
  }
  /// Of all alignments; `alpha` is that of the last step.
  double total(const double* alpha) const {
    if (steps == 0) return states == 1 ? 0 : kNever;
    return log_sum(alpha[states - 1], states > 1 ? alpha[states - 2] : kNever);
  }
};

/// All sequences of a call, whose lengths and labels are checked.
template <typename T, typename Index>
class Sequences {
 public:
  explicit Sequences(const KernelContext& k)
      : k_(k),
        steps_(k.in(0).shape().dim(1)),
        classes_(k.in(0).shape().dim(2)),
        most_(k.in(1).shape().dim(1)),
        blank_(k.attributes.integer("blank")) {
    for (std::int64_t i = 0; i < count(); ++i) check(i);
  }

  std::int64_t count() const { return k_.in(0).shape().dim(0); }
  std::int64_t most_states() const { return 2 * most_ + 1; }
  std::int64_t row() const { return steps_ * classes_; }

  Sequence<T, Index> operator[](std::int64_t i) const {
    return {.log_probs = k_.in(0).as<const T>() + i * row(),
            .labels = labels(i),
            .steps = k_.in(2).as<const Index>()[i],
            .states = 2 * std::int64_t{k_.in(3).as<const Index>()[i]} + 1,
            .classes = classes_,
            .blank = blank_};
  }

 private:
  const Index* labels(std::int64_t i) const { return k_.in(1).as<const Index>() + i * most_; }

  void check(std::int64_t i) const {
    const Index steps = k_.in(2).as<const Index>()[i];
    if (steps < 0 || steps > steps_) {
      throw InvalidArgument(fmt::format(
          "[ctc_loss] sequence {} has a length of {}; it must be between 0 and {}, the steps", i,
          steps, steps_));
    }
    const Index labelled = k_.in(3).as<const Index>()[i];
    if (labelled < 0 || labelled > most_) {
      throw InvalidArgument(
          fmt::format("[ctc_loss] sequence {} has {} labels; it must be between 0 and {}, the "
                      "columns of labels",
                      i, labelled, most_));
    }
    for (Index j = 0; j < labelled; ++j) {
      const Index label = labels(i)[j];
      if (label < 0 || label >= classes_) {
        throw InvalidArgument(
            fmt::format("[ctc_loss] label {} of sequence {} is {}; it must be one "
                        "of {} classes",
                        j, i, label, classes_));
      }
      if (label == blank_) {
        throw InvalidArgument(fmt::format(
            "[ctc_loss] label {} of sequence {} is {}, the blank; leave it out", j, i, label));
      }
    }
  }

  const KernelContext& k_;
  std::int64_t steps_;
  std::int64_t classes_;
  std::int64_t most_;
  std::int64_t blank_;
};

/// body(sequences, i, its part of the workspace, `rows` rows of states) for each, in threads.
template <typename T, typename Index, typename Body>
void over(const KernelContext& k, std::int64_t rows, const Body& body) {
  const Sequences<T, Index> all(k);
  const std::int64_t part = rows * all.most_states();
  parallel_for(all.count(), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      body(all, i, static_cast<double*>(k.workspace) + i * part);
    }
  });
}

/// body<T, Index>()
template <typename Body>
void with_types(const KernelContext& k, const Body& body) {
  with_index(k.in(1).dtype(), [&]<typename Index>() {
    if (k.in(0).dtype() == DType::f32) return body.template operator()<float, Index>();
    body.template operator()<double, Index>();
  });
}

bool zeroes_infinity(const KernelContext& k) { return k.attributes.flag("zero_infinity"); }

void run_loss(const KernelContext& k) {
  with_types(k, [&]<typename T, typename Index>() {
    over<T, Index>(k, 1, [&](const Sequences<T, Index>& all, std::int64_t i, double* alpha) {
      const Sequence<T, Index> x = all[i];
      for (std::int64_t t = 0; t < x.steps; ++t) x.forwards(t, alpha, alpha);
      const double loss = -x.total(alpha);
      k.out(0).as<T>()[i] = static_cast<T>(zeroes_infinity(k) && loss == -kNever ? 0 : loss);
    });
  });
}

/// A row of the gradient, which may lie where the log probabilities of step t do.
template <typename T, typename Index>
void write_row(const Sequence<T, Index>& x, std::int64_t t, double total, double dloss,
               double* alpha, const double* beta, T* dx) {
  for (std::int64_t s = 0; s < x.states; ++s) {
    const double both = alpha[s] + beta[s];
    alpha[s] = both == kNever ? 0 : std::exp(both - x.at(t, s) - total);
  }
  T* row = dx + t * x.classes;
  std::fill_n(row, x.classes, T(0));
  // Blanks are summed apart, as there are many.
  double blanks = 0;
  for (std::int64_t s = 0; s < x.states; s += 2) blanks += alpha[s];
  row[x.blank] = static_cast<T>(-dloss * blanks);
  for (std::int64_t s = 1; s < x.states; s += 2) {
    row[x.class_of(s)] -= static_cast<T>(dloss * alpha[s]);
  }
}

void run_grad(const KernelContext& k) {
  const std::int64_t rows = k.in(0).shape().dim(1) + 1;
  with_types(k, [&]<typename T, typename Index>() {
    over<T, Index>(k, rows, [&](const Sequences<T, Index>& all, std::int64_t i, double* scratch) {
      const Sequence<T, Index> x = all[i];
      double* beta = scratch;
      double* alpha = scratch + all.most_states();
      for (std::int64_t t = 0; t < x.steps; ++t) {
        double* now = alpha + t * x.states;
        x.forwards(t, now - x.states, now);
      }
      const double total = x.total(alpha + (x.steps - 1) * x.states);
      T* dx = k.out(0).as<T>() + i * all.row();
      std::fill(dx + x.steps * x.classes, dx + all.row(), T(0));
      if (!(total > kNever)) {
        const T none =
            zeroes_infinity(k) && total == kNever ? T(0) : std::numeric_limits<T>::quiet_NaN();
        std::fill_n(dx, x.steps * x.classes, none);
        return;
      }
      const auto dloss = static_cast<double>(k.in(4).as<const T>()[i]);
      for (std::int64_t t = x.steps - 1; t >= 0; --t) {
        x.backwards(t, beta);
        write_row(x, t, total, dloss, alpha + t * x.states, beta, dx);
      }
    });
  });
}

/// `rows` rows of states for each sequence.
std::shared_ptr<const ops::KernelState> with_rows(const ops::OpInputs& inputs, std::int64_t rows) {
  auto state = std::make_shared<ops::KernelState>();
  const std::int64_t states = 2 * inputs.shape(1).dim(1) + 1;
  state->workspace = static_cast<Bytes>(inputs.shape(0).dim(0) * rows * states) * sizeof(double);
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("ctc_loss", {run_loss, [](const ops::OpInputs& inputs, std::span<const TensorType>) {
                           return with_rows(inputs, 1);
                         }});
  table.add("ctc_loss_grad",
            {run_grad, [](const ops::OpInputs& inputs, std::span<const TensorType>) {
               return with_rows(inputs, inputs.shape(0).dim(1) + 1);
             }});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
