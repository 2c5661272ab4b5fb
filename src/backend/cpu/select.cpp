#include "backend/cpu/chunks.h"

namespace plimsoll::cpu {
namespace {

/// Elements are moved, not computed with: only their size matters.
template <typename T>
PLIMSOLL_CLONES void select(void* out, const void* const* in, std::int64_t count, const Numbers&) {
  auto* to = static_cast<T*>(out);
  const auto* condition = static_cast<const std::uint8_t*>(in[0]);
  const auto* a = static_cast<const T*>(in[1]);
  const auto* b = static_cast<const T*>(in[2]);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const T yes = a[i];
    const T no = b[i];
    to[i] = condition[i] != 0 ? yes : no;
  }
}

void run_where(const KernelContext& k) {
  switch (dtype_size(k.out(0).dtype())) {
    case 1:
      return run_chunks(k, {.run = select<std::uint8_t>, .widen = false});
    case 2:
      return run_chunks(k, {.run = select<std::uint16_t>, .widen = false});
    case 4:
      return run_chunks(k, {.run = select<std::uint32_t>, .widen = false});
    default:
      return run_chunks(k, {.run = select<std::uint64_t>, .widen = false});
  }
}

void add_kernels(KernelTable& table) { table.add("where", {run_where}); }

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
