// solve, triangular_solve, cholesky and svd: one matrix after another, each in one thread.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/lapack.h"

namespace plimsoll::cpu {
namespace {

template <typename Body>
void with_matrix(DType dtype, Body&& body) {
  if (dtype == DType::f32) return body.template operator()<float>();
  if (dtype == DType::f64) return body.template operator()<double>();
  backend::no_kernel_for("cpu", dtype);
}

/// How many matrices there are, of which `rows` and `columns` are the last dimensions.
struct Matrices {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t count;

  explicit Matrices(const TensorType& type)
      : rows(type.shape.dim(-2)),
        columns(type.shape.dim(-1)),
        count(type.elements() / std::max<std::int64_t>(1, rows * columns)) {}
};

Bytes rounded(Bytes bytes) { return (bytes + 63) / 64 * 64; }

/// The scratch of one solve: a copy of a, b by columns, pivots.
struct SolveParts {
  Bytes matrix;
  Bytes right;
  Bytes pivots;
  SolveParts(std::int64_t n, std::int64_t columns, std::size_t size)
      : matrix(rounded(static_cast<Bytes>(n * n) * size)),
        right(rounded(static_cast<Bytes>(n * columns) * size)),
        pivots(rounded(static_cast<Bytes>(n) * sizeof(int))) {}
  Bytes total() const { return matrix + right + pivots; }
};

void run_solve(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Matrices b(k.out(0).type);
  const std::int64_t n = b.rows;
  with_matrix(k.out(0).dtype(), [&]<typename T>() {
    const SolveParts parts(n, b.columns, sizeof(T));
    const std::int64_t grain = std::max<std::int64_t>(1, 32768 / (n * n * (n + b.columns)));
    parallel_for(b.count, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        auto* scratch =
            static_cast<std::byte*>(k.workspace) + static_cast<Bytes>(i) * parts.total();
        auto* matrix = reinterpret_cast<T*>(scratch);
        auto* right = reinterpret_cast<T*>(scratch + parts.matrix);
        auto* pivots = reinterpret_cast<int*>(scratch + parts.matrix + parts.right);
        T* x = k.out(0).as<T>() + i * n * b.columns;
        std::copy_n(k.in(0).as<const T>() + i * n * n, n * n, matrix);
        std::copy_n(k.in(1).as<const T>() + i * n * b.columns, n * b.columns, x);
        if (!lu_solve(n, b.columns, matrix, x, right, pivots)) {
          throw InvalidArgument(fmt::format(
              "[solve] matrix {} of {} is singular; add a multiple of the identity", i, b.count));
        }
      }
    });
  });
}

std::shared_ptr<const ops::KernelState> prepare_solve(const ops::OpInputs& inputs,
                                                      std::span<const TensorType> outputs) {
  auto state = std::make_shared<ops::KernelState>();
  if (outputs[0].elements() == 0) return state;
  const Matrices b(outputs[0]);
  const SolveParts parts(b.rows, b.columns, dtype_size(inputs.dtype(0)));
  state->workspace = static_cast<Bytes>(b.count) * parts.total();
  return state;
}

void run_triangular_solve(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Matrices b(k.out(0).type);
  std::memmove(k.out(0).data, k.in(1).data, k.out(0).type.bytes());
  with_matrix(k.out(0).dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < b.count; ++i) {
      triangular_solve(b.rows, b.columns, k.in(0).as<const T>() + i * b.rows * b.rows,
                       k.out(0).as<T>() + i * b.rows * b.columns, k.attributes.flag("upper"),
                       k.attributes.flag("transpose"));
    }
  });
}

void run_cholesky(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Matrices a(k.out(0).type);
  const std::int64_t n = a.rows;
  with_matrix(k.out(0).dtype(), [&]<typename T>() {
    for (std::int64_t m = 0; m < a.count; ++m) {
      const T* from = k.in(0).as<const T>() + m * n * n;
      T* to = k.out(0).as<T>() + m * n * n;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          to[i * n + j] = j > i ? T(0) : (from[i * n + j] + from[j * n + i]) / 2;
        }
      }
      if (!cholesky(n, to)) {
        throw InvalidArgument(
            fmt::format("[cholesky] matrix {} of {} is not positive definite; add a multiple of "
                        "the identity",
                        m, a.count));
      }
    }
  });
}

/// Signs that do not depend on the library: of each column of u the largest element is positive.
template <typename T>
void settle_signs(std::int64_t m, std::int64_t n, std::int64_t least, T* u, T* vh) {
  for (std::int64_t c = 0; c < least; ++c) {
    T largest = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      if (std::abs(u[i * least + c]) > std::abs(largest)) largest = u[i * least + c];
    }
    if (!(largest < T(0))) continue;
    for (std::int64_t i = 0; i < m; ++i) u[i * least + c] = -u[i * least + c];
    for (std::int64_t j = 0; j < n; ++j) vh[c * n + j] = -vh[c * n + j];
  }
}

void run_svd(const KernelContext& k) {
  if (k.in(0).elements() == 0) return;
  const Matrices a(k.in(0).type);
  const std::int64_t least = std::min(a.rows, a.columns);
  with_matrix(k.in(0).dtype(), [&]<typename T>() {
    auto* matrix = static_cast<T*>(k.workspace);
    const Bytes bytes = rounded(static_cast<Bytes>(a.rows * a.columns) * sizeof(T));
    auto* scratch = static_cast<std::byte*>(k.workspace) + bytes;
    for (std::int64_t i = 0; i < a.count; ++i) {
      std::copy_n(k.in(0).as<const T>() + i * a.rows * a.columns, a.rows * a.columns, matrix);
      T* u = k.out(0).as<T>() + i * a.rows * least;
      T* vh = k.out(2).as<T>() + i * least * a.columns;
      if (!svd(a.rows, a.columns, matrix, u, k.out(1).as<T>() + i * least, vh, scratch)) {
        throw InvalidArgument(fmt::format(
            "[svd] matrix {} of {} does not converge; is everything in it finite?", i, a.count));
      }
      settle_signs(a.rows, a.columns, least, u, vh);
    }
  });
}

std::shared_ptr<const ops::KernelState> prepare_svd(const ops::OpInputs& inputs,
                                                    std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  if (inputs[0].elements() == 0) return state;
  const Matrices a(inputs[0]);
  with_matrix(inputs.dtype(0), [&]<typename T>() {
    state->workspace = rounded(static_cast<Bytes>(a.rows * a.columns) * sizeof(T)) +
                       svd_scratch<T>(a.rows, a.columns);
  });
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("solve", {run_solve, prepare_solve});
  table.add("triangular_solve", {run_triangular_solve});
  table.add("cholesky", {run_cholesky});
  table.add("svd", {run_svd, prepare_svd});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
