// matmul and linear: oneDNN's matmul for f32 and bf16 where it is there, else gemm of blas.h.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/blas.h"
#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/onednn.h"

namespace plimsoll::cpu {
namespace {

using ops::KernelState;
using ops::OpInputs;

/// `batches` products of m times k with k times n.
struct Product {
  std::int64_t batches = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool bias = false;
  DType dtype = DType::f32;
  /// Each batch's matrices follow each other, or are the same one for all (step 0); false: they
  /// are where batch_of says.
  bool regular = true;
  std::int64_t step_a = 0;
  std::int64_t step_b = 0;
};

/// Where batch `index` of the output's batch dimensions is in an input, in matrices.
std::int64_t batch_of(const Shape& out, const Shape& in, std::int64_t index) {
  std::int64_t at = 0;
  std::int64_t stride = 1;
  const int extra = out.rank() - in.rank();
  for (int i = out.rank() - 3; i >= 0; --i) {
    const std::int64_t here = index % out[i];
    index /= out[i];
    if (i - extra < 0) continue;
    at += in[i - extra] == 1 ? 0 : here * stride;
    stride *= in[i - extra];
  }
  return at;
}

std::int64_t batches_of(const Shape& shape) {
  std::int64_t count = 1;
  for (int i = 0; i < shape.rank() - 2; ++i) count *= shape[i];
  return count;
}

Product matmul_product(const OpInputs& inputs, const Shape& out) {
  const Shape& a = inputs.shape(0);
  const Shape& b = inputs.shape(1);
  Product p;
  p.transpose_a = inputs.attributes().flag("transpose_a");
  p.transpose_b = inputs.attributes().flag("transpose_b");
  p.dtype = inputs.dtype(0);
  p.batches = batches_of(out);
  p.m = out.dim(-2);
  p.n = out.dim(-1);
  p.k = a.dim(p.transpose_a ? -2 : -1);
  const std::int64_t batches_a = batches_of(a);
  const std::int64_t batches_b = batches_of(b);
  p.regular =
      (batches_a == 1 || batches_a == p.batches) && (batches_b == 1 || batches_b == p.batches);
  p.step_a = batches_a == 1 ? 0 : p.m * p.k;
  p.step_b = batches_b == 1 ? 0 : p.k * p.n;
  // Rows of all batches follow each other.
  if (batches_b == 1 && batches_a == p.batches && !p.transpose_a) {
    p.m *= p.batches;
    p.batches = 1;
    p.step_a = 0;
  }
  return p;
}

Product linear_product(const OpInputs& inputs) {
  Product p;
  const ops::Attributes& attributes = inputs.attributes();
  p.transpose_b = !(attributes.has("transposed") && attributes.flag("transposed"));
  p.dtype = inputs.dtype(0);
  p.n = inputs.shape(1)[p.transpose_b ? 0 : 1];
  p.k = inputs.shape(1)[p.transpose_b ? 1 : 0];
  p.m = 1;
  for (int i = 0; i < inputs.shape(0).rank() - 1; ++i) p.m *= inputs.shape(0)[i];
  p.bias = inputs.count() > 2;
  return p;
}

#if PLIMSOLL_HAS_ONEDNN
/// A part of a product that one thread computes: some rows and columns of some batches.
struct ProductPart {
  Part batches;
  Part rows;
  Part columns;
  std::size_t kernel = 0;  ///< parts of the same extents share one
};

struct ProductKernel {
  dnnl::matmul::primitive_desc desc;
  dnnl::matmul primitive;
};
#endif

struct ProductState final : KernelState {
  Product product;
  int threads = 1;
#if PLIMSOLL_HAS_ONEDNN
  std::vector<ProductPart> parts;
  std::vector<ProductKernel> kernels;
  Bytes scratch = 0;  ///< of one part at work
  dnnl::stream stream;
#endif
};

#if PLIMSOLL_HAS_ONEDNN
/// Strides of a matrix in row-major order with rows of `columns` elements, or of one that is
/// stored transposed with rows of `rows`.
struct Steps {
  std::int64_t down;
  std::int64_t across;
};
Steps steps_of(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Steps{1, rows} : Steps{columns, 1};
}

/// A matrix, or `batches` of them, `step` elements apart; 0: the same for all.
onednn::Desc matrix_desc(std::int64_t batches, std::int64_t step, std::int64_t rows,
                         std::int64_t columns, Steps steps, dnnl::memory::data_type type) {
  if (batches == 1) return {{rows, columns}, type, onednn::Dims{steps.down, steps.across}};
  return {{step == 0 ? 1 : batches, rows, columns},
          type,
          onednn::Dims{step == 0 ? rows * columns : step, steps.down, steps.across}};
}

std::optional<ProductKernel> make_kernel(const Product& p, const ProductPart& part,
                                         dnnl::memory::data_type type) {
  const std::int64_t batches = part.batches.size;
  const std::int64_t rows = part.rows.size;
  const std::int64_t columns = part.columns.size;
  onednn::Desc bias;
  if (p.bias) bias = {{1, columns}, type, onednn::Dims{columns, 1}};
  auto desc = onednn::matmul(
      matrix_desc(batches, p.step_a, rows, p.k, steps_of(p.m, p.k, p.transpose_a), type),
      matrix_desc(batches, p.step_b, p.k, columns, steps_of(p.k, p.n, p.transpose_b), type), bias,
      matrix_desc(batches, p.m * p.n, rows, columns, {p.n, 1}, type));
  if (!desc || std::string_view(desc->impl_info_str()).starts_with("ref")) return std::nullopt;
  dnnl::matmul primitive(*desc);
  return ProductKernel{std::move(*desc), std::move(primitive)};
}

/// oneDNN packs a panel of the columns of a part into memory of its own, which no budget counts and
/// which malloc keeps for the next product: for all threads together it stays below a few MiB,
/// however many columns there are. Rows are packed again for each part, which costs a hundredth of
/// what a part of 1,024 columns computes.
std::int64_t most_columns(int threads, std::int64_t depth) {
  constexpr std::int64_t kPacked = 3 << 20;
  constexpr std::int64_t kDepth = 384;  ///< the most elements of a column in a panel
  constexpr std::int64_t kLeast = 512;
  const std::int64_t column = 4 * std::clamp<std::int64_t>(depth, 1, kDepth);
  return std::max(kLeast, kPacked / (column * threads));
}

/// Batches are divided where there are enough of them, else rows and columns of each.
std::vector<ProductPart> divide(const Product& p, int threads) {
  std::vector<ProductPart> parts;
  const auto add = [&](Part batches, ProductGrid grid) {
    const std::int64_t widest = p.n / grid.columns;
    if (const std::int64_t most = most_columns(threads, p.k); widest > most) {
      grid.columns *= (widest + most - 1) / most;
    }
    for (std::int64_t i = 0; i < grid.parts(); ++i) {
      parts.push_back({batches, Part::of(p.m, i / grid.columns, grid.rows, kDivisionBlock),
                       Part::of(p.n, i % grid.columns, grid.columns, kDivisionBlock)});
    }
  };
  if (!p.regular) {
    // Each batch is where it is.
    const ProductGrid grid = ProductGrid::of(p.m, p.n, p.k, threads);
    for (std::int64_t i = 0; i < p.batches; ++i) add({i, 1}, grid);
  } else if (p.batches >= threads) {
    const int used = threads_for(p.batches * p.m * p.n * p.k, threads);
    for (int i = 0; i < used; ++i) add(Part::of(p.batches, i, used), {});
  } else {
    add({0, p.batches}, ProductGrid::of(p.m, p.n, p.k * p.batches, threads));
  }
  return parts;
}

void prepare_onednn(ProductState& state) {
  const Product& p = state.product;
  const auto type = onednn::data_type(p.dtype);
  if (!type || p.batches == 0 || p.m == 0 || p.n == 0 || p.k == 0) return;
  const LibraryScope library;
  std::vector<ProductPart> parts = divide(p, state.threads);
  std::map<std::array<std::int64_t, 3>, std::size_t> known;
  for (ProductPart& part : parts) {
    const auto [at, isnew] = known.try_emplace(
        {part.batches.size, part.rows.size, part.columns.size}, state.kernels.size());
    part.kernel = at->second;
    if (!isnew) continue;
    auto kernel = make_kernel(p, part, *type);
    if (!kernel) return state.kernels.clear();
    state.scratch = std::max<Bytes>(state.scratch, kernel->desc.scratchpad_desc().get_size());
    state.kernels.push_back(std::move(*kernel));
  }
  constexpr Bytes kAlignment = 256;
  state.scratch = (state.scratch + kAlignment - 1) / kAlignment * kAlignment;
  state.workspace =
      state.scratch * std::min<Bytes>(static_cast<Bytes>(state.threads), parts.size());
  state.stream = dnnl::stream(onednn::engine());
  state.parts = std::move(parts);
}

void run_part(const KernelContext& k, const ProductState& state, const ProductPart& part,
              int slot) {
  const Product& p = state.product;
  const dnnl::matmul::primitive_desc& desc = state.kernels[part.kernel].desc;
  const dnnl::engine& engine = onednn::engine();
  std::int64_t a = part.batches.begin * p.step_a;
  std::int64_t b = part.batches.begin * p.step_b;
  if (!p.regular) {
    const Shape& out = k.out(0).shape();
    a = batch_of(out, k.in(0).shape(), part.batches.begin) * p.m * p.k;
    b = batch_of(out, k.in(1).shape(), part.batches.begin) * p.k * p.n;
  }
  a += part.rows.begin * steps_of(p.m, p.k, p.transpose_a).down;
  b += part.columns.begin * steps_of(p.k, p.n, p.transpose_b).across;
  const std::int64_t c =
      part.batches.begin * p.m * p.n + part.rows.begin * p.n + part.columns.begin;
  const auto at = [&](const TensorView& view, std::int64_t element) {
    return view.as<std::byte>() + element * static_cast<std::int64_t>(dtype_size(p.dtype));
  };
  auto* scratch = static_cast<std::byte*>(k.workspace) + static_cast<Bytes>(slot) * state.scratch;
  std::unordered_map<int, dnnl::memory> args = {
      {DNNL_ARG_SRC, {desc.src_desc(), engine, at(k.in(0), a)}},
      {DNNL_ARG_WEIGHTS, {desc.weights_desc(), engine, at(k.in(1), b)}},
      {DNNL_ARG_DST, {desc.dst_desc(), engine, at(k.out(0), c)}},
      {DNNL_ARG_SCRATCHPAD, {desc.scratchpad_desc(), engine, scratch}}};
  if (p.bias) {
    args.emplace(DNNL_ARG_BIAS,
                 dnnl::memory(desc.bias_desc(), engine, at(k.in(2), part.columns.begin)));
  }
  const LibraryScope library;
  onednn::execute(state.kernels[part.kernel].primitive, state.stream, args);
}

void run_onednn(const KernelContext& k, const ProductState& state) {
  parallel_tasks(static_cast<std::int64_t>(state.parts.size()), state.threads,
                 [&](std::int64_t task, int slot) {
                   run_part(k, state, state.parts[static_cast<std::size_t>(task)], slot);
                 });
}
#endif

std::shared_ptr<const KernelState> prepare(const Product& product) {
  auto state = std::make_shared<ProductState>();
  state->product = product;
  state->threads = compute_threads();
#if PLIMSOLL_HAS_ONEDNN
  prepare_onednn(*state);
  if (!state->parts.empty()) return state;
#endif
  if (product.dtype != DType::f64) {
    state->workspace = any_gemm_workspace(product.m, product.n, product.k, product.dtype,
                                          product.dtype, product.dtype);
    // With a bias the sums stay in f32 until it is added.
    if (product.bias && product.dtype != DType::f32) {
      state->workspace = any_gemm_workspace(product.m, product.n, product.k, product.dtype,
                                            product.dtype, DType::f32) +
                         static_cast<Bytes>(std::min<std::int64_t>(product.m, 256) * product.n) * 4;
    }
  }
  return state;
}

/// One product by gemm, without a bias.
void run_gemm(const Product& p, const void* a, const void* b, void* c, void* workspace) {
  const std::int64_t stride_a = p.transpose_a ? p.m : p.k;
  const std::int64_t stride_b = p.transpose_b ? p.k : p.n;
  if (p.dtype == DType::f64) {
    return gemm(p.m, p.n, p.k, 1.0, {static_cast<const double*>(a), stride_a, p.transpose_a},
                {static_cast<const double*>(b), stride_b, p.transpose_b}, 0.0,
                {static_cast<double*>(c), p.n});
  }
  any_gemm(p.m, p.n, p.k, {const_cast<void*>(a), stride_a, p.transpose_a, p.dtype},
           {const_cast<void*>(b), stride_b, p.transpose_b, p.dtype}, {c, p.n, false, p.dtype},
           false, workspace);
}

void run_matmul(const KernelContext& k) {
  const auto& state = static_cast<const ProductState&>(*k.state);
  const Product& p = state.product;
#if PLIMSOLL_HAS_ONEDNN
  if (!state.parts.empty()) return run_onednn(k, state);
#endif
  const ThreadsScope threads(state.threads);
  const auto* a = k.in(0).as<std::byte>();
  const auto* b = k.in(1).as<std::byte>();
  auto* c = k.out(0).as<std::byte>();
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype));
  for (std::int64_t i = 0; i < p.batches; ++i) {
    const std::int64_t ia =
        p.regular ? i * p.step_a : batch_of(k.out(0).shape(), k.in(0).shape(), i) * p.m * p.k;
    const std::int64_t ib =
        p.regular ? i * p.step_b : batch_of(k.out(0).shape(), k.in(1).shape(), i) * p.k * p.n;
    const std::byte* from_a = a + ia * size;
    const std::byte* from_b = b + ib * size;
    std::byte* to = c + i * p.m * p.n * size;
    run_gemm(p, from_a, from_b, to, k.workspace);
  }
}

/// y = x wᵀ + bias by gemm on top of the bias: f32 and f64.
template <typename T>
void linear_gemm(const KernelContext& k, const Product& p) {
  T* y = k.out(0).as<T>();
  const T* bias = p.bias ? k.in(2).as<const T>() : nullptr;
  if (bias != nullptr) {
    for (std::int64_t i = 0; i < p.m; ++i) std::copy_n(bias, p.n, y + i * p.n);
  }
  gemm(p.m, p.n, p.k, T(1), {k.in(0).as<const T>(), p.k},
       {k.in(1).as<const T>(), p.transpose_b ? p.k : p.n, p.transpose_b},
       bias != nullptr ? T(1) : T(0), {y, p.n});
}

/// The same for 16 bits with a bias, some rows at a time, in f32.
void linear_narrow(const KernelContext& k, const Product& p) {
  const std::int64_t rows = std::min<std::int64_t>(p.m, 256);
  auto* sums = static_cast<float*>(k.workspace);
  void* panels = sums + rows * p.n;
  for (std::int64_t i = 0; i < p.m; i += rows) {
    const std::int64_t count = std::min(rows, p.m - i);
    for (std::int64_t r = 0; r < count; ++r) {
      to_f32(k.in(2).data, p.dtype, p.n, sums + r * p.n);
    }
    any_gemm(count, p.n, p.k, {k.in(0).as<std::byte>() + i * p.k * 2, p.k, false, p.dtype},
             {k.in(1).data, p.transpose_b ? p.k : p.n, p.transpose_b, p.dtype},
             {sums, p.n, false, DType::f32}, true, panels);
    from_f32(sums, count * p.n, k.out(0).as<std::byte>() + i * p.n * 2, p.dtype);
  }
}

void run_linear(const KernelContext& k) {
  const auto& state = static_cast<const ProductState&>(*k.state);
  const Product& p = state.product;
#if PLIMSOLL_HAS_ONEDNN
  if (!state.parts.empty()) return run_onednn(k, state);
#endif
  const ThreadsScope threads(state.threads);
  if (p.dtype == DType::f64) return linear_gemm<double>(k, p);
  if (p.dtype == DType::f32) return linear_gemm<float>(k, p);
  if (p.bias) return linear_narrow(k, p);
  run_gemm(p, k.in(0).data, k.in(1).data, k.out(0).data, k.workspace);
}

void add_kernels(KernelTable& table) {
  table.add("matmul", {run_matmul, [](const OpInputs& in, std::span<const TensorType> out) {
                         return prepare(matmul_product(in, out[0].shape));
                       }});
  table.add("linear", {run_linear, [](const OpInputs& in, std::span<const TensorType>) {
                         return prepare(linear_product(in));
                       }});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
