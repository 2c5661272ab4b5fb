#include <array>
#include <vector>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

void run_sum(const KernelContext& k) {
  const Shape& shape = k.in(0).shape();
  const auto strides = shape.contiguous_strides();
  std::array<bool, kMaxRank> reduced{};
  for (const std::int64_t axis : k.attributes.integers("axes")) {
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> outer;  // extent, stride
  std::vector<std::pair<std::int64_t, std::int64_t>> inner;
  std::int64_t inner_count = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    (reduced[at] ? inner : outer).emplace_back(shape[i], strides[at]);
    if (reduced[at]) inner_count *= shape[i];
  }
  const auto offset = [](const auto& dims, std::int64_t index) {
    std::int64_t at = 0;
    for (auto it = dims.rbegin(); it != dims.rend(); ++it) {
      at += index % it->first * it->second;
      index /= it->first;
    }
    return at;
  };
  with_number(k.out(0).dtype(), [&]<typename T>() {
    const T* from = k.in(0).as<const T>();
    T* to = k.out(0).as<T>();
    parallel_for(k.out(0).elements(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t o = first; o < last; ++o) {
        const std::int64_t base = offset(outer, o);
        Acc<T> total{};
        for (std::int64_t i = 0; i < inner_count; ++i) {
          total = static_cast<Acc<T>>(total + static_cast<Acc<T>>(from[base + offset(inner, i)]));
        }
        to[o] = static_cast<T>(total);
      }
    });
  });
}

}  // namespace

void add_reduce_kernels(KernelTable& table) { table.add("sum", {run_sum}); }

}  // namespace plimsoll::cpu
