// matmul and linear: products by cuBLASLt.
#include <algorithm>
#include <optional>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/libraries/product.h"

namespace plimsoll::cuda {
namespace {

using ops::BatchDim;
using ops::KernelState;
using ops::OpInputs;
using ops::ProductShape;

struct ProductState final : KernelState {
  ops::Products products;
  bool empty = false;           ///< no sums: zeros, or the bias
  std::optional<Product> main;  ///< takes the shape's batches
  std::optional<Product> rest;  ///< takes what is left of the inner ones
};

std::shared_ptr<const KernelState> prepare(ops::Products products) {
  auto state = std::make_shared<ProductState>();
  state->products = std::move(products);
  if (state->products.empty()) return state;
  const ProductShape& s = state->products.shape;
  state->empty = s.k == 0;
  if (state->empty) return state;
  Product::Alignment alignment;
  if (state->products.calls() > 1) {
    alignment = {.a = alignment_of_step(s.m * s.k, s.dtype),
                 .b = alignment_of_step(s.k * s.n, s.dtype),
                 .c = alignment_of_step(s.m * s.n, s.dtype)};
  }
  const auto libraries = Libraries::current();
  state->main.emplace(libraries->blas(), s, alignment);
  state->workspace = state->main->workspace();
  if (const std::int64_t left = state->products.batches_left(); left != 0) {
    ProductShape last = s;
    last.batches = left;
    state->rest.emplace(libraries->blas(), last, alignment);
    state->workspace = std::max(state->workspace, state->rest->workspace());
  }
  return state;
}

void run(const KernelContext& k) {
  const auto& state = static_cast<const ProductState&>(*k.state);
  const ProductShape& s = state.products.shape;
  const BatchDim& inner = state.products.inner;
  const cudaStream_t stream = queue_of(k);
  const void* bias = s.bias ? k.in(2).data : nullptr;
  if (state.empty) {
    const std::int64_t rows = s.n == 0 ? 0 : k.out(0).elements() / s.n;
    return fill_rows(k.out(0).data, bias, rows, s.n, s.n, s.dtype, stream);
  }
  if (!state.main) return;
  const auto libraries = Libraries::current();
  const auto size = static_cast<std::int64_t>(dtype_size(s.dtype));
  std::int64_t calls = 1;
  for (const BatchDim& dim : state.products.outer) calls *= dim.extent;
  for (std::int64_t call = 0; call < calls; ++call) {
    std::int64_t index = call;
    std::int64_t at_a = 0;
    std::int64_t at_b = 0;
    for (auto dim = state.products.outer.rbegin(); dim != state.products.outer.rend(); ++dim) {
      at_a += index % dim->extent * dim->step_a;
      at_b += index % dim->extent * dim->step_b;
      index /= dim->extent;
    }
    for (std::int64_t i = 0; i < inner.extent; i += s.batches) {
      const Product& product = inner.extent - i < s.batches ? *state.rest : *state.main;
      const std::int64_t a = (at_a + i * inner.step_a) * s.m * s.k;
      const std::int64_t b = (at_b + i * inner.step_b) * s.k * s.n;
      const std::int64_t c = (call * inner.extent + i) * s.m * s.n;
      product.run(libraries->blas(), stream, k.in(0).as<const std::byte>() + a * size,
                  k.in(1).as<const std::byte>() + b * size, k.out(0).as<std::byte>() + c * size,
                  bias, k.workspace);
    }
  }
}

void add_kernels(KernelTable& table) {
  table.add("matmul", {run, [](const OpInputs& in, std::span<const TensorType> out) {
                         return prepare(ops::products_of_matmul(in, out));
                       }});
  table.add("linear", {run, [](const OpInputs& in, std::span<const TensorType>) {
                         return prepare(ops::products_of_linear(in));
                       }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
