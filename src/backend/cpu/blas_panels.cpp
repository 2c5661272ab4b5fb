// Products of 16-bit matrices through f32 panels.
#pragma GCC optimize("O3")

#include <algorithm>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/blas.h"
#include "backend/cpu/clones.h"
#include "backend/cpu/dtype_switch.h"

namespace plimsoll::cpu {
namespace {

// Extents of a panel: large enough that bringing it to f32 is a small part of the product.
constexpr std::int64_t kPanelRows = 256;
constexpr std::int64_t kPanelColumns = 512;
constexpr std::int64_t kPanelDepth = 1024;

bool narrow(DType dtype) { return dtype != DType::f32; }

/// Elements of the three panels, 0 where the operand is f32 already.
struct PanelSizes {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
};

PanelSizes panel_sizes(std::int64_t m, std::int64_t n, std::int64_t k, DType a, DType b, DType c) {
  const std::int64_t rows = std::min(m, kPanelRows);
  const std::int64_t columns = std::min(n, kPanelColumns);
  const std::int64_t depth = std::min(k, kPanelDepth);
  return {narrow(a) ? rows * depth : 0, narrow(b) ? depth * columns : 0,
          narrow(c) ? rows * columns : 0};
}

/// The part of `from` that begins at (row, column) of the matrix as the product reads it, in f32:
/// a copy in `panel`, or the matrix itself.
Matrix<const float> panel_of(const AnyMatrix& from, std::int64_t row, std::int64_t column,
                             std::int64_t rows, std::int64_t columns, float* panel) {
  if (from.transposed) {
    std::swap(row, column);
    std::swap(rows, columns);
  }
  const std::int64_t offset = row * from.stride + column;
  if (!narrow(from.dtype)) {
    return {static_cast<const float*>(from.data) + offset, from.stride, from.transposed};
  }
  const auto* data = static_cast<const std::byte*>(from.data);
  const std::int64_t grain = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(1, columns));
  parallel_for(rows, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      to_f32(data + (offset + i * from.stride) * 2, from.dtype, columns, panel + i * columns);
    }
  });
  return {panel, columns, from.transposed};
}

}  // namespace

namespace {

PLIMSOLL_CLONES void widen_bf16(const BFloat16* __restrict from, std::int64_t count,
                                float* __restrict to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = bfloat_bits_to_float(from[i].bits);
}

PLIMSOLL_CLONES void narrow_bf16(const float* __restrict from, std::int64_t count,
                                 BFloat16* __restrict to) {
  for (std::int64_t i = 0; i < count; ++i) to[i].bits = float_to_bfloat_bits(from[i]);
}

}  // namespace

void to_f32(const void* from, DType dtype, std::int64_t count, float* to) {
  if (dtype == DType::bf16) return widen_bf16(static_cast<const BFloat16*>(from), count, to);
  with_float(dtype, [&]<typename T>() {
    const T* source = static_cast<const T*>(from);
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(source[i]);
  });
}

void from_f32(const float* from, std::int64_t count, void* to, DType dtype) {
  if (dtype == DType::bf16) return narrow_bf16(from, count, static_cast<BFloat16*>(to));
  with_float(dtype, [&]<typename T>() {
    T* target = static_cast<T*>(to);
    for (std::int64_t i = 0; i < count; ++i) target[i] = static_cast<T>(from[i]);
  });
}

Bytes any_gemm_workspace(std::int64_t m, std::int64_t n, std::int64_t k, DType a, DType b,
                         DType c) {
  const PanelSizes sizes = panel_sizes(m, n, k, a, b, c);
  return static_cast<Bytes>(sizes.a + sizes.b + sizes.c) * sizeof(float);
}

void any_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const AnyMatrix& a,
              const AnyMatrix& b, const AnyMatrix& c, bool accumulate, void* workspace) {
  if (!narrow(a.dtype) && !narrow(b.dtype) && !narrow(c.dtype)) {
    return gemm(m, n, k, 1, {static_cast<const float*>(a.data), a.stride, a.transposed},
                {static_cast<const float*>(b.data), b.stride, b.transposed}, accumulate ? 1 : 0,
                {static_cast<float*>(c.data), c.stride});
  }
  const PanelSizes sizes = panel_sizes(m, n, k, a.dtype, b.dtype, c.dtype);
  auto* panel_a = static_cast<float*>(workspace);
  float* panel_b = panel_a + sizes.a;
  float* panel_c = panel_b + sizes.b;
  for (std::int64_t i = 0; i < m; i += kPanelRows) {
    const std::int64_t rows = std::min(kPanelRows, m - i);
    for (std::int64_t j = 0; j < n; j += kPanelColumns) {
      const std::int64_t columns = std::min(kPanelColumns, n - j);
      const Matrix<float> to =
          narrow(c.dtype) ? Matrix<float>{panel_c, columns}
                          : Matrix<float>{static_cast<float*>(c.data) + i * c.stride + j, c.stride};
      if (k == 0) gemm(rows, columns, 0, 1, {}, {}, accumulate ? 1.0F : 0.0F, to);
      for (std::int64_t l = 0; l < k; l += kPanelDepth) {
        const std::int64_t depth = std::min(kPanelDepth, k - l);
        gemm(rows, columns, depth, 1, panel_of(a, i, l, rows, depth, panel_a),
             panel_of(b, l, j, depth, columns, panel_b), l > 0 || accumulate ? 1.0F : 0.0F, to);
      }
      if (!narrow(c.dtype)) continue;
      for (std::int64_t r = 0; r < rows; ++r) {
        from_f32(panel_c + r * columns, columns,
                 static_cast<std::byte*>(c.data) + ((i + r) * c.stride + j) * 2, c.dtype);
      }
    }
  }
}

}  // namespace plimsoll::cpu
