#pragma GCC optimize("O3")

#include <algorithm>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/random_stream.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

/// May be written over x.
template <typename T>
PLIMSOLL_CLONES void drop(T* y, const T* x, std::int64_t count, const std::uint32_t* words,
                          std::uint32_t below, Acc<T> factor) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = narrow<T>(words[i] >= below ? widen(x[i]) * factor : Acc<T>(0));
  }
}

/// Element i takes word i of the op's stream.
void run_dropout(const KernelContext& k) {
  const double rate = k.attributes.number("rate");
  const RandomStream stream(k.random, k.attributes.integer("random_id"));
  const auto below = static_cast<std::uint32_t>(rate * 4294967296.0);
  const std::int64_t elements = k.out(0).elements();
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const auto factor = static_cast<Acc<T>>(1 / (1 - rate));
    const std::int64_t rows = (elements + kRandomWords - 1) / kRandomWords;
    parallel_for(rows, 16, [&](std::int64_t first, std::int64_t last) {
      alignas(64) std::uint32_t words[kRandomWords];
      for (std::int64_t r = first; r < last; ++r) {
        const std::int64_t at = r * kRandomWords;
        random_words(stream, static_cast<std::uint64_t>(at), words);
        drop(k.out(0).as<T>() + at, k.in(0).as<const T>() + at,
             std::min(kRandomWords, elements - at), words, below, factor);
      }
    });
  });
}

void add_kernels(KernelTable& table) { table.add("dropout", {run_dropout}); }

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
