#pragma GCC optimize("O3")

#include <plimsoll/base/parallel.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/random_draws.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGroup = RandomDraws::kGroup;

/// Elements [first, last), of which the first starts a group. May be written over x.
template <typename T>
PLIMSOLL_CLONES void drop(T* y, const T* x, std::int64_t first, std::int64_t last,
                          const RandomDraws& draws, std::uint32_t below, Acc<T> factor) {
  std::uint32_t words[kGroup];
  std::int64_t at = first;
  for (; at + kGroup <= last; at += kGroup) {
    draws.group(at / kGroup, words);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < kGroup; ++i) {
      y[at + i] = narrow<T>(words[i] >= below ? widen(x[at + i]) * factor : Acc<T>(0));
    }
  }
  if (at == last) return;
  draws.group(at / kGroup, words);
  for (std::int64_t i = 0; i < last - at; ++i) {
    y[at + i] = narrow<T>(words[i] >= below ? widen(x[at + i]) * factor : Acc<T>(0));
  }
}

void run_dropout(const KernelContext& k) {
  const double rate = k.attributes.number("rate");
  const RandomDraws draws(k.random, k.attributes.integer("random_id"));
  const auto below = static_cast<std::uint32_t>(rate * 4294967296.0);
  const std::int64_t elements = k.out(0).elements();
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const auto factor = static_cast<Acc<T>>(1 / (1 - rate));
    parallel_for((elements + kGroup - 1) / kGroup, 256, [&](std::int64_t first, std::int64_t last) {
      drop(k.out(0).as<T>(), k.in(0).as<const T>(), first * kGroup,
           std::min(last * kGroup, elements), draws, below, factor);
    });
  });
}

}  // namespace

void add_dropout_kernels(KernelTable& table) { table.add("dropout", {run_dropout}); }

}  // namespace plimsoll::cpu
