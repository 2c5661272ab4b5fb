#include <limits>
#include <type_traits>

#include <plimsoll/backend/common/convert.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/chunks.h"
#include "backend/cpu/clones.h"
#include "backend/cpu/dtype_switch.h"

namespace plimsoll::cpu {
namespace {

/// converted() without branches, so that the loop becomes one of vectors: floats have the limits of
/// the small integers exactly.
template <typename To>
PLIMSOLL_CLONES void floats_to_small(To* to, const float* from, std::int64_t count) {
  constexpr auto low = static_cast<float>(std::numeric_limits<To>::min());
  constexpr auto high = static_cast<float>(std::numeric_limits<To>::max());
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = from[i];
    const float above = x > low ? x : low;
    const float within = above < high ? above : high;
    to[i] = static_cast<To>(static_cast<std::int32_t>(x == x ? within : 0.0F));
  }
}

template <typename To, typename From>
void cast_row(void* out, const void* const* in, std::int64_t count, const Numbers&) {
  if constexpr (std::is_same_v<From, float> && std::is_integral_v<To> && sizeof(To) < 4 &&
                !std::is_same_v<To, bool>) {
    return floats_to_small(static_cast<To*>(out), static_cast<const float*>(in[0]), count);
  }
  auto* to = static_cast<To*>(out);
  const auto* from = static_cast<const From*>(in[0]);
  for (std::int64_t i = 0; i < count; ++i) to[i] = backend::converted<To>(from[i]);
}

/// f64 as f32 such that rounding that to 16 bits is as if f64 had been: the last bit says that
/// something was lost (rounding to odd).
PLIMSOLL_INLINE float rounded_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(x)) --bits;
  if (static_cast<double>(nearest) != x && x == x) bits |= 1U;
  return std::bit_cast<float>(bits);
}
template <typename From>
void cast_to_odd(void* out, const void* const* in, std::int64_t count, const Numbers&) {
  auto* to = static_cast<float*>(out);
  const auto* from = static_cast<const From*>(in[0]);
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<From, std::int64_t>) {
      // Bits that a double has no room for become one.
      const std::int64_t x = from[i];
      const bool wide = x > (std::int64_t{1} << 53) || x < -(std::int64_t{1} << 53);
      const std::int64_t kept =
          wide ? ((x & ~std::int64_t{2047}) | ((x & 2047) != 0 ? 2048 : 0)) : x;
      to[i] = rounded_to_odd(static_cast<double>(kept));
    } else {
      to[i] = rounded_to_odd(static_cast<double>(from[i]));
    }
  }
}

bool is_16_bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
DType wide_dtype(DType dtype) { return is_16_bit(dtype) ? DType::f32 : dtype; }

/// All dtypes but bytes and the 16-bit floats, which come and go as f32.
template <typename Body>
void with_wide(DType dtype, Body&& body) {
  switch (wide_dtype(dtype)) {
    case DType::f64:
      return body.template operator()<double>();
    case DType::f32:
      return body.template operator()<float>();
    case DType::boolean:
      return body.template operator()<bool>();
    default:
      return with_integer(dtype, static_cast<Body&&>(body));
  }
}

void run_cast(const KernelContext& k) {
  const DType from = k.in(0).dtype();
  const DType to = k.out(0).dtype();
  if (is_16_bit(to)) {
    if (from == DType::f64) return run_chunks(k, {.run = cast_to_odd<double>});
    if (from == DType::i64) return run_chunks(k, {.run = cast_to_odd<std::int64_t>});
    if (from == DType::i32) return run_chunks(k, {.run = cast_to_odd<std::int32_t>});
  }
  with_wide(from, [&]<typename From>() {
    with_wide(to, [&]<typename To>() { run_chunks(k, {.run = cast_row<To, From>}); });
  });
}

void run_join_rows(const KernelContext& k) {
  const TensorView& whole = k.out(0);
  auto* to = whole.as<std::byte>();
  for (const TensorView& input : k.inputs) {
    const TensorView part{to, {whole.dtype(), input.shape()}};
    KernelContext one = k;
    one.outputs = {&part, 1};
    one.inputs = {&input, 1};
    run_cast(one);
    to += part.type.bytes();
  }
}

void add_kernels(KernelTable& table) {
  table.add("cast", {run_cast});
  table.add("join_rows", {run_join_rows});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
