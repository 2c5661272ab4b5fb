// The steps of optimizers for rows of a table. Ids are sorted, which keeps the order of equal ones;
// then each row named adds up its gradients in that order, as scatter_add and embedding_bag_grad
// do, and is updated as a whole table is.
#include <bit>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/indices.h"
#include "backend/cpu/optimizer_rules.h"
#include "backend/cpu/sum_updates.h"

namespace plimsoll::cpu {
namespace {

/// Elements of gradients below which a second thread does not pay.
constexpr std::int64_t kGrain = 16384;
constexpr int kDigitBits = 11;
constexpr std::int64_t kDigits = std::int64_t{1} << kDigitBits;

/// The workspace: two arrays of keys and two of positions, each as long as there are ids, and
/// counts of digits.
struct Sorting {
  std::int64_t* keys;
  std::int64_t* order;
  std::int64_t* other_keys;
  std::int64_t* other_order;
  std::int64_t* counts;

  Sorting(void* workspace, std::int64_t positions)
      : keys(static_cast<std::int64_t*>(workspace)),
        order(keys + positions),
        other_keys(order + positions),
        other_order(other_keys + positions),
        counts(other_order + positions) {}
  static Bytes bytes(std::int64_t positions) {
    return static_cast<Bytes>(4 * positions + kDigits) * sizeof(std::int64_t);
  }

  /// Sorts the first `count` keys, which are below `extent`, and their positions: digit by digit
  /// from the lowest on.
  void sort(std::int64_t count, std::int64_t extent) {
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(extent - 1)));
    for (int shift = 0; shift < bits; shift += kDigitBits) {
      const auto digit = [shift](std::int64_t key) { return key >> shift & (kDigits - 1); };
      std::fill_n(counts, kDigits, 0);
      for (std::int64_t i = 0; i < count; ++i) ++counts[digit(keys[i])];
      std::int64_t before = 0;
      for (std::int64_t d = 0; d < kDigits; ++d) {
        const std::int64_t here = counts[d];
        counts[d] = before;
        before += here;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t to = counts[digit(keys[i])]++;
        other_keys[to] = keys[i];
        other_order[to] = order[i];
      }
      std::swap(keys, other_keys);
      std::swap(order, other_order);
    }
  }

  /// Writes into other_keys where the positions of each row begin, of `count` sorted ones. Returns
  /// how many rows there are.
  std::int64_t find_rows(std::int64_t count) {
    std::int64_t rows = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i == 0 || keys[i] != keys[i - 1]) other_keys[rows++] = i;
    }
    return rows;
  }
};

/// Writes keys, and for each the gradient that belongs to it: every `bag` ids have one. Leaves out
/// padding, and gradients that are 0, which is exact: adding 0 changes no sum. Returns how many
/// there are.
template <typename Index, typename G>
std::int64_t number_positions(const Sorting& to, const Index* ids, const G* gradients,
                              std::int64_t bags, const Bags& of, std::int64_t inner) {
  parallel_for(bags, std::max<std::int64_t>(1, kGrain / inner),
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t i = first; i < last; ++i) {
                   to.other_keys[i] = is_zero(gradients + i * inner, inner) ? 0 : 1;
                 }
               });
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < bags; ++i) {
    if (to.other_keys[i] == 0) continue;
    for (std::int64_t p = i * of.size; p < (i + 1) * of.size; ++p) {
      if (of.skips(ids[p])) continue;
      to.keys[count] = static_cast<std::int64_t>(ids[p]);
      to.order[count++] = i;
    }
  }
  return count;
}

template <typename Rule, typename T, typename G>
void update_rows(const KernelContext& k, const Sorting& sorted, std::int64_t rows,
                 std::int64_t count, std::int64_t inner) {
  constexpr int kRows = Rule::kStates + 2;
  // Gradients that are not 0 may add up to 0, with which Adam would still move.
  constexpr bool kLazy = std::is_same_v<Rule, Adam>;
  const Settings<T> settings = settings_of<T>(k, kRows + 1);
  const G* const gradients = k.in(kRows).as<const G>();
  T* const p = k.in(0).as<T>();
  T* const a = Rule::kStates > 0 ? k.in(1).as<T>() : nullptr;
  T* const b = Rule::kStates > 1 ? k.in(2).as<T>() : nullptr;
  const std::int64_t work = std::max<std::int64_t>(1, count / rows) * inner;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / work);
  parallel_for(rows, grain, [&](std::int64_t first, std::int64_t last) {
    alignas(64) Acc<G> sums[kSumColumns];
    alignas(64) T gradient[kSumColumns];
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t begin = sorted.other_keys[row];
      const std::int64_t end = row + 1 < rows ? sorted.other_keys[row + 1] : count;
      // The gradient of columns from `column` on, as scatter_add gives it; returns how many.
      const auto add_up = [&](std::int64_t column) {
        const std::int64_t columns = std::min(kSumColumns, inner - column);
        sum_updates(sums, gradients + column, sorted.order, begin, end, inner, columns);
        for (std::int64_t i = 0; i < columns; ++i) {
          gradient[i] = static_cast<T>(widen(narrow<G>(sums[i])));
        }
        return columns;
      };
      if constexpr (kLazy) {
        bool zero = true;
        for (std::int64_t column = 0; zero && column < inner; column += kSumColumns) {
          zero = is_zero(gradient, add_up(column));
        }
        if (zero) continue;
      }
      for (std::int64_t column = 0; column < inner; column += kSumColumns) {
        const std::int64_t columns = add_up(column);
        const std::int64_t at = sorted.keys[begin] * inner + column;
        update_row<Rule, T>(p + at, a == nullptr ? a : a + at, b == nullptr ? b : b + at, gradient,
                            columns, settings);
      }
    }
  });
}

template <typename Rule>
void run_rows(const KernelContext& k, const char* name) {
  constexpr int kIds = Rule::kStates + 1;
  const std::int64_t extent = k.in(0).shape()[0];
  const std::int64_t positions = k.in(kIds).elements();
  const Bags bags = Bags::of(k.attributes, k.in(kIds).shape());
  with_index(k.in(kIds).dtype(),
             [&]<typename Index>() { check_indices<Index>(k.in(kIds), 0, extent, name, bags); });
  if (positions == 0 || k.in(0).elements() == 0 || is_disabled(k)) return;
  const std::int64_t inner = k.in(0).elements() / extent;
  Sorting sorting(k.workspace, positions);
  with_float(k.in(kIds + 1).dtype(), [&]<typename G>() {
    std::int64_t count = 0;
    with_index(k.in(kIds).dtype(), [&]<typename Index>() {
      count = number_positions(sorting, k.in(kIds).as<const Index>(), k.in(kIds + 1).as<const G>(),
                               positions / bags.size, bags, inner);
    });
    if (count == 0) return;
    sorting.sort(count, extent);
    const std::int64_t rows = sorting.find_rows(count);
    if constexpr (std::is_same_v<G, double>) {
      update_rows<Rule, double, G>(k, sorting, rows, count, inner);
    } else {
      update_rows<Rule, float, G>(k, sorting, rows, count, inner);
    }
  });
}

template <int States>
std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  state->workspace = Sorting::bytes(inputs[States + 1].elements());
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("sgd_update_rows",
            {[](const KernelContext& k) { run_rows<Sgd>(k, "sgd_update_rows"); }, prepare<0>});
  table.add(
      "adagrad_update_rows",
      {[](const KernelContext& k) { run_rows<Adagrad>(k, "adagrad_update_rows"); }, prepare<1>});
  table.add(
      "lazy_adam_update_rows",
      {[](const KernelContext& k) { run_rows<Adam>(k, "lazy_adam_update_rows"); }, prepare<2>});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
