#pragma GCC optimize("O3")

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/backend/common/around.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrainBytes = 128 * 1024;

template <typename Body>
void with_index(DType dtype, Body&& body) {
  if (dtype == DType::i32) return body.template operator()<std::int32_t>();
  body.template operator()<std::int64_t>();
}

using backend::Around;
using backend::around;

template <typename Index>
void check_indices(const TensorView& indices, std::int64_t axis, std::int64_t extent,
                   const char* op) {
  const Index* at = indices.as<const Index>();
  for (std::int64_t i = 0; i < indices.elements(); ++i) {
    if (at[i] < 0 || at[i] >= extent) {
      throw InvalidArgument(
          fmt::format("[{}] index {} at position {} is outside dimension {}, which has {} elements",
                      op, at[i], i, axis, extent));
    }
  }
}

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

/// Positions sorted by the index they name: those of index i are at order[starts[i]] up to
/// order[starts[i + 1]], rising.
struct Positions {
  std::int64_t* starts;
  std::int64_t* order;

  template <typename Index>
  void sort(const Index* at, std::int64_t positions, std::int64_t extent) const {
    std::fill_n(starts, extent + 1, 0);
    for (std::int64_t i = 0; i < positions; ++i) ++starts[at[i] + 1];
    for (std::int64_t i = 0; i < extent; ++i) starts[i + 1] += starts[i];
    // Filling moves each start to its end; going back from there restores it.
    for (std::int64_t i = 0; i < positions; ++i) order[starts[at[i]]++] = i;
    for (std::int64_t i = extent; i > 0; --i) starts[i] = starts[i - 1];
    starts[0] = 0;
  }
};

/// Columns first to last of row `row`: the sum of its updates in order, rounded once.
template <typename T>
PLIMSOLL_CLONES void add_updates(T* to, const T* updates, const Positions& positions,
                                 std::int64_t row, std::int64_t inner, std::int64_t first,
                                 std::int64_t last) {
  constexpr std::int64_t kBlock = 256;
  std::array<Acc<T>, kBlock> sums;
  const std::int64_t begin = positions.starts[row];
  const std::int64_t end = positions.starts[row + 1];
  for (std::int64_t column = first; column < last; column += kBlock) {
    const std::int64_t count = std::min(kBlock, last - column);
    std::fill_n(sums.data(), count, Acc<T>(0));
    for (std::int64_t p = begin; p < end; ++p) {
      const T* update = updates + positions.order[p] * inner + column;
      for (std::int64_t i = 0; i < count; ++i) {
        auto& sum = sums[static_cast<std::size_t>(i)];
        sum = static_cast<Acc<T>>(sum + widen(update[i]));
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      to[row * inner + column + i] = narrow<T>(sums[static_cast<std::size_t>(i)]);
    }
  }
}

void run_scatter_add(const KernelContext& k) {
  const std::int64_t axis = k.attributes.integer("axis");
  const Around shape = around(k.out(0).shape(), axis);
  const std::int64_t positions = k.in(1).elements();
  auto* scratch = static_cast<std::int64_t*>(k.workspace);
  const Positions sorted{scratch, scratch + shape.extent + 1};
  with_index(k.in(1).dtype(), [&]<typename Index>() {
    check_indices<Index>(k.in(1), axis, shape.extent, "scatter_add");
    sorted.sort(k.in(1).as<const Index>(), positions, shape.extent);
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

std::shared_ptr<const ops::KernelState> prepare_scatter_add(const ops::OpInputs& inputs,
                                                            std::span<const TensorType> outputs) {
  auto state = std::make_shared<ops::KernelState>();
  const auto axis = static_cast<int>(inputs.attributes().integer("axis"));
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
  table.add("one_hot", {run_one_hot});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
