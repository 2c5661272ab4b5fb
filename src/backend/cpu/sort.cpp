// sort: row by row, a stable sort of places, merged in scratch of the kernel's own.
#include <algorithm>
#include <numeric>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

/// The smaller first, NaN behind all.
template <typename T>
bool before(T a, T b) {
  return a < b || (b != b && a == a);
}

constexpr std::int64_t kRun = 16;  ///< short runs are sorted by insertion

/// Places 0 to `count` in the order of their values: `in_order(a, b)` says whether b must come
/// before a. Runs are merged from `places` to `scratch` and back.
template <typename Before>
void stable_order(std::int64_t* places, std::int64_t* scratch, std::int64_t count, Before before) {
  std::iota(places, places + count, std::int64_t{0});
  for (std::int64_t begin = 0; begin < count; begin += kRun) {
    const std::int64_t end = std::min(begin + kRun, count);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      const std::int64_t place = places[i];
      std::int64_t at = i;
      for (; at > begin && before(place, places[at - 1]); --at) places[at] = places[at - 1];
      places[at] = place;
    }
  }
  std::int64_t* from = places;
  std::int64_t* to = scratch;
  for (std::int64_t width = kRun; width < count; width *= 2) {
    for (std::int64_t begin = 0; begin < count; begin += 2 * width) {
      const std::int64_t middle = std::min(begin + width, count);
      const std::int64_t end = std::min(begin + 2 * width, count);
      std::merge(from + begin, from + middle, from + middle, from + end, to + begin, before);
    }
    std::swap(from, to);
  }
  if (from != places) std::copy_n(from, count, places);
}

void run_sort(const KernelContext& k) {
  const std::int64_t size = k.in(0).shape().dim(-1);
  if (k.in(0).elements() == 0) return;
  const bool descending = k.attributes.flag("descending");
  auto* scratch = static_cast<std::int64_t*>(k.workspace);
  with_number(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    const auto grain = std::max<std::int64_t>(1, 4096 / size);
    parallel_for(k.in(0).elements() / size, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const T* x = k.in(0).as<const T>() + row * size;
        std::int64_t* places = k.out(1).as<std::int64_t>() + row * size;
        stable_order(places, scratch + row * size, size, [&](std::int64_t a, std::int64_t b) {
          const auto left = static_cast<A>(x[a]);
          const auto right = static_cast<A>(x[b]);
          return descending ? before(right, left) : before(left, right);
        });
        T* y = k.out(0).as<T>() + row * size;
        for (std::int64_t i = 0; i < size; ++i) y[i] = x[places[i]];
      }
    });
  });
}

std::shared_ptr<const ops::KernelState> prepare_sort(const ops::OpInputs& inputs,
                                                     std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  state->workspace = static_cast<Bytes>(inputs[0].elements()) * sizeof(std::int64_t);
  return state;
}

void add_kernels(KernelTable& table) { table.add("sort", {run_sort, prepare_sort}); }

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
