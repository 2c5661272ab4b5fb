#pragma GCC optimize("O3")

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <plimsoll/backend/common/around.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/indices.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/sum_updates.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrainBytes = 128 * 1024;

using backend::Around;
using backend::around;

void run_gather(const KernelContext& k) {
  const std::int64_t axis = k.attributes.integer("axis");
  const Around source = around(k.in(0).shape(), axis);
  const std::int64_t positions = k.in(1).elements();
  const std::size_t size = dtype_size(k.out(0).dtype());
  const std::size_t run = static_cast<std::size_t>(source.inner) * size;
  const auto* from = k.in(0).as<const std::byte>();
  auto* to = k.out(0).as<std::byte>();
  with_index(k.in(1).dtype(), [&]<typename Index>() {
    check_indices<Index>(k.in(1), axis, source.extent, "gather");
    const Index* at = k.in(1).as<const Index>();
    const auto grain = std::max<std::int64_t>(1, kGrainBytes / static_cast<std::int64_t>(run + 16));
    parallel_for(source.outer * positions, grain, [&](std::int64_t first, std::int64_t last) {
      std::int64_t outer = first / positions;
      std::int64_t position = first % positions;
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t row = outer * source.extent + static_cast<std::int64_t>(at[position]);
        std::memcpy(to + static_cast<std::size_t>(i) * run,
                    from + static_cast<std::size_t>(row) * run, run);
        if (++position == positions) {
          position = 0;
          ++outer;
        }
      }
    });
  });
}

void run_embedding_bag(const KernelContext& k) {
  const Around source = around(k.in(0).shape(), 0);
  const Bags bags = Bags::of(k.attributes, k.in(1).shape());
  const std::int64_t count = k.in(1).elements() / bags.size;
  const std::int64_t inner = source.inner;
  with_index(k.in(1).dtype(), [&]<typename Index>() {
    check_indices<Index>(k.in(1), 0, source.extent, "embedding_bag", bags);
    const Index* ids = k.in(1).as<const Index>();
    with_float(k.out(0).dtype(), [&]<typename T>() {
      const T* table = k.in(0).as<const T>();
      const std::int64_t work = std::max<std::int64_t>(1, inner * bags.size);
      parallel_for(count, std::max<std::int64_t>(1, 32768 / work),
                   [&](std::int64_t first, std::int64_t last) {
                     std::array<Acc<T>, kSumColumns> sums;
                     std::vector<std::int64_t> rows;
                     for (std::int64_t i = first; i < last; ++i) {
                       rows.clear();
                       for (std::int64_t p = i * bags.size; p < (i + 1) * bags.size; ++p) {
                         if (!bags.skips(ids[p])) rows.push_back(ids[p]);
                       }
                       T* to = k.out(0).as<T>() + i * inner;
                       for (std::int64_t at = 0; at < inner; at += kSumColumns) {
                         const std::int64_t columns = std::min(kSumColumns, inner - at);
                         sum_updates(sums.data(), table + at, rows.data(), 0,
                                     static_cast<std::int64_t>(rows.size()), inner, columns);
                         for (std::int64_t c = 0; c < columns; ++c) {
                           to[at + c] = narrow<T>(sums[static_cast<std::size_t>(c)]);
                         }
                       }
                     }
                   });
    });
  });
}

/// Positions sorted by the index they name: those of index i are at order[starts[i]] up to
/// order[starts[i + 1]], rising.
struct Positions {
  std::int64_t* starts;
  std::int64_t* order;

  /// With bags, the order is of bags.
  template <typename Index>
  void sort(const Index* at, std::int64_t positions, std::int64_t extent, const Bags& bags) const {
    std::fill_n(starts, extent + 1, 0);
    for (std::int64_t i = 0; i < positions; ++i) {
      if (!bags.skips(at[i])) ++starts[at[i] + 1];
    }
    for (std::int64_t i = 0; i < extent; ++i) starts[i + 1] += starts[i];
    // Filling moves each start to its end; going back from there restores it.
    for (std::int64_t i = 0; i < positions; ++i) {
      if (!bags.skips(at[i])) order[starts[at[i]]++] = i / bags.size;
    }
    for (std::int64_t i = extent; i > 0; --i) starts[i] = starts[i - 1];
    starts[0] = 0;
  }
};

/// Columns first to last of row `row`: the sum of its updates in order, rounded once.
template <typename T>
void add_updates(T* to, const T* updates, const Positions& positions, std::int64_t row,
                 std::int64_t inner, std::int64_t first, std::int64_t last) {
  std::array<Acc<T>, kSumColumns> sums;
  for (std::int64_t column = first; column < last; column += kSumColumns) {
    const std::int64_t count = std::min(kSumColumns, last - column);
    sum_updates(sums.data(), updates + column, positions.order, positions.starts[row],
                positions.starts[row + 1], inner, count);
    for (std::int64_t i = 0; i < count; ++i) {
      to[row * inner + column + i] = narrow<T>(sums[static_cast<std::size_t>(i)]);
    }
  }
}

void scatter(const KernelContext& k, std::int64_t axis, const char* name) {
  const Around shape = around(k.out(0).shape(), axis);
  const std::int64_t positions = k.in(1).elements();
  auto* scratch = static_cast<std::int64_t*>(k.workspace);
  const Positions sorted{scratch, scratch + shape.extent + 1};
  const Bags bags = Bags::of(k.attributes, k.in(1).shape());
  with_index(k.in(1).dtype(), [&]<typename Index>() {
    check_indices<Index>(k.in(1), axis, shape.extent, name, bags);
    sorted.sort(k.in(1).as<const Index>(), positions, shape.extent, bags);
  });
  // Threads share the columns where there are many, as some rows have far more updates than
  // others; else the rows. Each element is the sum of the same updates in the same order.
  constexpr std::int64_t kColumns = 64;
  const std::int64_t bands = (shape.inner + kColumns - 1) / kColumns;
  with_number(k.out(0).dtype(), [&]<typename T>() {
    const auto grain = [&](std::int64_t units) {
      const std::int64_t work = (positions + shape.extent) * shape.outer * shape.inner;
      return std::max<std::int64_t>(1, 32768 * units / std::max<std::int64_t>(work, 1));
    };
    if (bands > 1) {
      parallel_for(bands, grain(bands), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t outer = 0; outer < shape.outer; ++outer) {
          T* to = k.out(0).as<T>() + outer * shape.extent * shape.inner;
          const T* updates = k.in(0).as<const T>() + outer * positions * shape.inner;
          for (std::int64_t row = 0; row < shape.extent; ++row) {
            add_updates(to, updates, sorted, row, shape.inner, first * kColumns,
                        std::min(last * kColumns, shape.inner));
          }
        }
      });
      return;
    }
    const std::int64_t rows = shape.outer * shape.extent;
    parallel_for(rows, grain(rows), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t outer = i / shape.extent;
        add_updates(k.out(0).as<T>() + outer * shape.extent * shape.inner,
                    k.in(0).as<const T>() + outer * positions * shape.inner, sorted,
                    i % shape.extent, shape.inner, 0, shape.inner);
      }
    });
  });
}

void run_scatter_add(const KernelContext& k) {
  scatter(k, k.attributes.integer("axis"), "scatter_add");
}
void run_embedding_bag_grad(const KernelContext& k) { scatter(k, 0, "embedding_bag_grad"); }

std::shared_ptr<const ops::KernelState> prepare_scatter_add(const ops::OpInputs& inputs,
                                                            std::span<const TensorType> outputs) {
  auto state = std::make_shared<ops::KernelState>();
  const ops::Attributes& attributes = inputs.attributes();
  const auto axis = attributes.has("axis") ? static_cast<int>(attributes.integer("axis")) : 0;
  const std::int64_t entries = outputs[0].shape[axis] + 1 + inputs[1].elements();
  state->workspace = static_cast<Bytes>(entries) * sizeof(std::int64_t);
  return state;
}

void run_one_hot(const KernelContext& k) {
  const std::int64_t classes = k.attributes.integer("classes");
  std::memset(k.out(0).data, 0, k.out(0).type.bytes());
  with_index(k.in(0).dtype(), [&]<typename Index>() {
    const Index* labels = k.in(0).as<const Index>();
    with_any(k.out(0).dtype(), [&]<typename T>() {
      for (std::int64_t i = 0; i < k.in(0).elements(); ++i) {
        const auto label = static_cast<std::int64_t>(labels[i]);
        if (label < 0 || label >= classes) continue;
        k.out(0).as<T>()[i * classes + label] = static_cast<T>(Acc<T>(1));
      }
    });
  });
}

void add_kernels(KernelTable& table) {
  table.add("gather", {run_gather});
  table.add("scatter_add", {run_scatter_add, prepare_scatter_add});
  table.add("embedding_bag", {run_embedding_bag});
  table.add("embedding_bag_grad", {run_embedding_bag_grad, prepare_scatter_add});
  table.add("one_hot", {run_one_hot});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
