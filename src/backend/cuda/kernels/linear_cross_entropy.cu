// linear_cross_entropy, a chunk of tokens at a time: logits by cuBLASLt in the inputs' dtype; the
// loss of each row and its gradient in place by our own kernel; then both gradients by cuBLASLt,
// the weight's summed over the chunks in f32.
#include <limits>
#include <optional>

#include <plimsoll/ops/linear_cross_entropy_chunks.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tf32.h>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/libraries/gemm.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {
namespace {

using ops::KernelState;
using ops::OpInputs;

constexpr int kRowThreads = 512;
constexpr int kSumThreads = 1024;
/// At least what the kernel over rows has of shared memory besides the row.
constexpr std::size_t kStaticShared = 1024;
/// Vectors of a row that a thread has on their way at a time.
constexpr int kInFlight = 4;

template <typename T>
__device__ __forceinline__ Acc<T> exp_of(Acc<T> x) {
  if constexpr (is_narrow_v<T>) {
    return __expf(x);
  } else {
    return exp(x);
  }
}

/// Vector `v` of a row of `classes`. Rows start at multiples of 128 bytes; what lies behind the end
/// of their logits is nobody's.
template <typename T, int N = kVector<T>>
__device__ __forceinline__ Vec<T, N> load_part(const T* row, std::int64_t v, std::int64_t classes) {
  if ((v + 1) * N <= classes) return load_vec<N>(row + v * N);
  Vec<T, N> part;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    part.lane[i] = v * N + i < classes ? row[v * N + i] : narrow<T>(Acc<T>(0));
  }
  return part;
}
/// The highest of some numbers and the sum of exp(number - highest).
template <typename A>
struct Top {
  A highest;
  A sum;
};

/// What a sum by `from` is worth by `to`, which is at least that.
template <typename A>
__device__ __forceinline__ A rescale(A from, A to) {
  return from == to ? A(1) : exp(from - to);
}

template <typename A>
__device__ __forceinline__ Top<A> both(const Top<A>& a, const Top<A>& b) {
  const A highest = fmax(a.highest, b.highest);
  return {highest, a.sum * rescale(a.highest, highest) + b.sum * rescale(b.highest, highest)};
}

template <typename A>
__device__ Top<A> block_top(Top<A> mine) {
  __shared__ Top<A> warps[kRowThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    const Top<A> other = {__shfl_xor_sync(0xffffffffU, mine.highest, offset),
                          __shfl_xor_sync(0xffffffffU, mine.sum, offset)};
    mine = both(mine, other);
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  Top<A> all = warps[0];
  for (int i = 1; i < kRowThreads / 32; ++i) all = both(all, warps[i]);
  return all;
}

/// One block per row: its loss, and its gradient in the logits' place. A label that is no class
/// makes both NaN. `Shared`: the row is kept in shared memory between its two passes; the rows of
/// all multiprocessors together are more than the second-level cache holds.
template <typename T, typename Label, bool Shared>
__global__ void __launch_bounds__(kRowThreads)
    row_kernel(T* logits, std::int64_t stride, std::int64_t classes, const Label* labels,
               Acc<T>* losses, bool gradient) {
  using A = Acc<T>;
  constexpr int kN = kVector<T>;
  extern __shared__ __align__(16) unsigned char row_memory[];
  auto* kept = reinterpret_cast<Vec<T, kN>*>(row_memory);
  T* row = logits + blockIdx.x * stride;
  const auto label = static_cast<std::int64_t>(labels[blockIdx.x]);
  if (label < 0 || label >= classes) {
    const A value = label == ops::kIgnoreLabel ? A(0) : std::numeric_limits<A>::quiet_NaN();
    if (threadIdx.x == 0) losses[blockIdx.x] = value;
    if (!gradient) return;
    for (std::int64_t i = threadIdx.x; i < (classes + kN - 1) / kN * kN; i += kRowThreads) {
      row[i] = narrow<T>(i < classes ? value : A(0));
    }
    return;
  }
  const A own = widen(row[label]);
  const A lowest = -std::numeric_limits<A>::infinity();
  Top<A> mine = {lowest, A(0)};
  const std::int64_t vectors = (classes + kN - 1) / kN;
  for (std::int64_t first = threadIdx.x; first < vectors; first += kInFlight * kRowThreads) {
    Vec<T, kN> read[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const std::int64_t v = first + u * kRowThreads;
      if (v < vectors) read[u] = load_part(row, v, classes);
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const std::int64_t v = first + u * kRowThreads;
      if (v >= vectors) break;
      if constexpr (Shared) kept[v] = read[u];
      A values[kN];
      A highest = mine.highest;
#pragma unroll
      for (int i = 0; i < kN; ++i) {
        values[i] = v * kN + i < classes ? widen(read[u].lane[i]) : lowest;
        highest = fmax(highest, values[i]);
      }
      A sum = mine.sum * rescale(mine.highest, highest);
#pragma unroll
      for (int i = 0; i < kN; ++i) {
        // exp(-inf - -inf) would be NaN where nothing higher has been seen yet.
        sum += values[i] == lowest ? A(0) : exp_of<T>(values[i] - highest);
      }
      mine = {highest, sum};
    }
  }
  const Top<A> all = block_top(mine);
  if (threadIdx.x == 0) losses[blockIdx.x] = all.highest - own + log(all.sum);
  if (!gradient) return;
  const A factor = A(1) / all.sum;
  for (std::int64_t first = threadIdx.x; first < vectors; first += kInFlight * kRowThreads) {
    Vec<T, kN> read[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const std::int64_t v = first + u * kRowThreads;
      if (v >= vectors) break;
      if constexpr (Shared) {
        read[u] = kept[v];  // what this thread itself has put there
      } else {
        read[u] = load_part(row, v, classes);
      }
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const std::int64_t v = first + u * kRowThreads;
      if (v >= vectors) break;
      A values[kN];
#pragma unroll
      for (int i = 0; i < kN; ++i) {
        // Products read whole vectors: there are zeros behind the last class.
        values[i] =
            v * kN + i < classes ? exp_of<T>(widen(read[u].lane[i]) - all.highest) * factor : A(0);
        if (v * kN + i == label) values[i] -= A(1);
      }
      store_wide<kN>(row + v * kN, values);
    }
  }
}

/// One block: the mean of the losses and the number of labels that count, at least 1.
template <typename A, typename Label>
__global__ void __launch_bounds__(kSumThreads)
    mean_kernel(const A* losses, const Label* labels, std::int64_t tokens, A* mean, A* count) {
  __shared__ double sums[kSumThreads];
  __shared__ long long counts[kSumThreads];
  double sum = 0;
  long long counted = 0;
  for (std::int64_t i = threadIdx.x; i < tokens; i += kSumThreads) {
    sum += static_cast<double>(losses[i]);
    counted += static_cast<std::int64_t>(labels[i]) != ops::kIgnoreLabel ? 1 : 0;
  }
  sums[threadIdx.x] = sum;
  counts[threadIdx.x] = counted;
  for (int half = kSumThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      sums[threadIdx.x] += sums[threadIdx.x + half];
      counts[threadIdx.x] += counts[threadIdx.x + half];
    }
  }
  if (threadIdx.x != 0) return;
  const double divisor = counts[0] > 1 ? static_cast<double>(counts[0]) : 1.0;
  *mean = static_cast<A>(sums[0] / divisor);
  *count = static_cast<A>(divisor);
}

/// The products of a chunk, for some of the classes.
struct Products {
  std::int64_t first = 0;  ///< class that they begin with
  std::optional<Gemm> logits;
  std::optional<Gemm> dx;
  std::optional<Gemm> dweight;
};

/// All of a chunk. The library is four times slower where an extent is no multiple of 16 bytes, so
/// that the last few classes have products of their own.
struct ChunkProducts {
  Products few;  ///< comes first: its gradient by x is rounded once more, and is small
  Products most;
};

struct State final : KernelState {
  std::int64_t tokens = 0;
  std::int64_t features = 0;
  std::int64_t classes = 0;
  bool with_dx = false;
  bool with_dweight = false;
  bool tf32 = false;
  ops::LinearCrossEntropyChunks chunks;
  ChunkProducts main;  ///< of a whole chunk
  ChunkProducts rest;  ///< of the last one, if that has fewer tokens
};

void choose(const State& s, std::int64_t rows, std::int64_t first, std::int64_t count, DType dtype,
            Products& products) {
  const auto libraries = Libraries::current();
  const DType sums = dtype == DType::f64 ? DType::f64 : DType::f32;
  const GemmOperand x{.dtype = dtype,
                      .stride = s.features,
                      .alignment = alignment_of_step(s.chunks.rows * s.features, dtype)};
  const Bytes weight_at = alignment_of_step(first * s.features, dtype);
  const Bytes logits_at = alignment_of_step(first, dtype);
  const GemmOperand weight{.dtype = dtype, .stride = s.features, .alignment = weight_at};
  GemmOperand weight_across = weight;
  weight_across.transposed = true;
  const GemmOperand logits{.dtype = dtype, .stride = s.chunks.stride, .alignment = logits_at};
  GemmOperand logits_across = logits;
  logits_across.transposed = true;
  const Bytes limit = s.chunks.scratch;
  products.first = first;
  products.logits.emplace(libraries->blas(),
                          GemmSpec{.m = rows,
                                   .n = count,
                                   .k = s.features,
                                   .a = x,
                                   .b = weight_across,
                                   .c = logits,
                                   .tf32 = s.tf32},
                          limit);
  if (s.with_dx) {
    products.dx.emplace(libraries->blas(),
                        GemmSpec{.m = rows,
                                 .n = s.features,
                                 .k = count,
                                 .a = logits,
                                 .b = weight,
                                 .c = x,
                                 .tf32 = s.tf32},
                        limit);
  }
  if (s.with_dweight) {
    products.dweight.emplace(
        libraries->blas(),
        GemmSpec{.m = count,
                 .n = s.features,
                 .k = rows,
                 .a = logits_across,
                 .b = x,
                 .c = {.dtype = sums,
                       .stride = s.features,
                       .alignment = alignment_of_step(first * s.features, sums)},
                 .tf32 = s.tf32},
        limit);
  }
}

void choose(const State& s, std::int64_t rows, DType dtype, ChunkProducts& products) {
  const auto unit = static_cast<std::int64_t>(16 / dtype_size(dtype));
  const std::int64_t most = s.classes / unit * unit;
  if (most > 0) choose(s, rows, 0, most, dtype, products.most);
  if (most < s.classes) choose(s, rows, most, s.classes - most, dtype, products.few);
}

std::shared_ptr<const KernelState> prepare(const OpInputs& in, std::span<const TensorType>) {
  auto state = std::make_shared<State>();
  State& s = *state;
  s.tokens = in.shape(0)[0];
  s.features = in.shape(0)[1];
  s.classes = in.shape(1)[0];
  s.with_dx = in.attributes().flag("with_dx");
  s.with_dweight = in.attributes().flag("with_dweight");
  s.tf32 = ops::uses_tf32(in.attributes());
  s.chunks = ops::linear_cross_entropy_chunks(s.tokens, s.features, s.classes, in.dtype(0));
  s.workspace = s.chunks.total();
  if (s.tokens == 0 || s.features == 0) return state;
  choose(s, s.chunks.rows, in.dtype(0), s.main);
  if (const std::int64_t left = s.tokens % s.chunks.rows; left != 0) {
    choose(s, left, in.dtype(0), s.rest);
  }
  return state;
}

/// Bytes of shared memory for a row; 0 where two rows do not fit a multiprocessor, or where one is
/// so short that the caches hold it anyway.
template <typename T, typename Label>
std::size_t shared_row(const State& s) {
  constexpr std::size_t kMost = std::size_t{112} << 10;
  constexpr std::size_t kLeast = std::size_t{16} << 10;
  const auto bytes = static_cast<std::size_t>(s.chunks.stride) * sizeof(T);
  if (bytes < kLeast || bytes > kMost) return 0;
  int device = 0;
  int most = 0;
  check(cudaGetDevice(&device), "linear_cross_entropy");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "linear_cross_entropy");
  // The same for every call, as the attribute is the kernel's and not the launch's.
  const std::size_t allowed = std::min(kMost, static_cast<std::size_t>(most) - kStaticShared);
  if (bytes > allowed) return 0;
  check(
      cudaFuncSetAttribute(row_kernel<T, Label, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(allowed)),
      "linear_cross_entropy");
  return bytes;
}

template <typename T, typename Label>
void run_as(const KernelContext& k, const State& s) {
  using A = Acc<T>;
  const cudaStream_t stream = queue_of(k);
  auto* logits = static_cast<T*>(k.workspace);
  auto* losses = reinterpret_cast<A*>(static_cast<std::byte*>(k.workspace) + s.chunks.logits);
  void* scratch = static_cast<std::byte*>(k.workspace) + s.chunks.logits + s.chunks.losses;
  const Label* labels = k.in(2).as<const Label>();
  const auto libraries = Libraries::current();
  if (s.with_dweight && s.tokens == 0 && k.out(3).elements() != 0) {
    check(cudaMemsetAsync(k.out(3).data, 0, k.out(3).type.bytes(), stream), "linear_cross_entropy");
  }
  const std::size_t kept = shared_row<T, Label>(s);
  for (std::int64_t i = 0; i < s.tokens; i += s.chunks.rows) {
    const std::int64_t rows = std::min(s.chunks.rows, s.tokens - i);
    const ChunkProducts& products = rows == s.chunks.rows ? s.main : s.rest;
    const T* x = k.in(0).as<const T>() + i * s.features;
    if (s.features == 0) {
      fill_rows(logits, nullptr, rows, s.classes, s.chunks.stride, k.in(0).dtype(), stream);
    }
    for (const Products* p : {&products.few, &products.most}) {
      if (!p->logits) continue;
      p->logits->run(libraries->blas(), stream, x, k.in(1).as<const T>() + p->first * s.features,
                     logits + p->first, nullptr, scratch);
    }
    const bool gradient = s.with_dx || s.with_dweight;
    if (kept != 0) {
      row_kernel<T, Label, true><<<static_cast<unsigned>(rows), kRowThreads, kept, stream>>>(
          logits, s.chunks.stride, s.classes, labels + i, losses + i, gradient);
    } else {
      row_kernel<T, Label, false><<<static_cast<unsigned>(rows), kRowThreads, 0, stream>>>(
          logits, s.chunks.stride, s.classes, labels + i, losses + i, gradient);
    }
    check_launch("linear_cross_entropy");
    bool begun = false;
    for (const Products* p : {&products.few, &products.most}) {
      if (p->dx) {
        p->dx->run(libraries->blas(), stream, logits + p->first,
                   k.in(1).as<const T>() + p->first * s.features, k.out(2).as<T>() + i * s.features,
                   nullptr, scratch, begun);
        begun = true;
      }
      if (p->dweight) {
        p->dweight->run(libraries->blas(), stream, logits + p->first, x,
                        k.out(3).as<A>() + p->first * s.features, nullptr, scratch, i > 0);
      }
    }
  }
  mean_kernel<A, Label>
      <<<1, kSumThreads, 0, stream>>>(losses, labels, s.tokens, k.out(0).as<A>(), k.out(1).as<A>());
  check_launch("linear_cross_entropy");
}

void run(const KernelContext& k) {
  const auto& state = static_cast<const State&>(*k.state);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    if (k.in(2).dtype() == DType::i32) {
      run_as<T, std::int32_t>(k, state);
    } else {
      run_as<T, std::int64_t>(k, state);
    }
  });
}

/// to = from * dloss / count, rounded once. `to` may be `from`.
template <typename From, typename To>
__global__ void __launch_bounds__(kThreads)
    grad_kernel(const From* from, const Acc<From>* dloss, const Acc<From>* count, To* to,
                std::int64_t elements) {
  constexpr int kN = kVector<From> < kVector<To> ? kVector<From> : kVector<To>;
  const Acc<From> factor = *dloss / *count;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t vectors = elements / kN;
  for (std::int64_t v = thread; v < vectors; v += threads) {
    Acc<From> in[kN];
    Acc<To> out[kN];
    load_wide<kN>(from + v * kN, in);
#pragma unroll
    for (int i = 0; i < kN; ++i) out[i] = static_cast<Acc<To>>(in[i] * factor);
    store_wide<kN>(to + v * kN, out);
  }
  for (std::int64_t i = vectors * kN + thread; i < elements; i += threads) {
    to[i] = narrow<To>(static_cast<Acc<To>>(widen(from[i]) * factor));
  }
}

void run_grad(const KernelContext& k) {
  const std::int64_t elements = k.out(0).elements();
  if (elements == 0) return;
  with_float(k.in(0).dtype(), [&]<typename From>() {
    using A = Acc<From>;
    with_float(k.out(0).dtype(), [&]<typename To>() {
      grad_kernel<From, To><<<blocks_for((elements + 3) / 4), kThreads, 0, queue_of(k)>>>(
          k.in(0).as<const From>(), k.in(1).as<const A>(), k.in(2).as<const A>(), k.out(0).as<To>(),
          elements);
    });
  });
  check_launch("linear_cross_entropy_grad");
}

void add_kernels(KernelTable& table) {
  table.add("linear_cross_entropy", {run, prepare});
  table.add("linear_cross_entropy_grad", {run_grad});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
