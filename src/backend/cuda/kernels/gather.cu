// gather and one_hot: nothing is computed, so elements are moved as words of up to 16 bytes. An
// index outside its dimension gives NaN, or 0 where elements are no floats.
#include "backend/cuda/kernels/gather.cuh"

#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

constexpr int kInFlight = 4;

/// The bits of a dtype's NaN or 0, repeated to 8 bytes.
std::uint64_t outside_bits(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x7ff8000000000000U;
    case DType::f32:
      return 0x7fc000007fc00000U;
    case DType::f16:
      return 0x7e007e007e007e00U;
    case DType::bf16:
      return 0x7fc07fc07fc07fc0U;
    default:
      return 0;
  }
}

template <typename W>
__device__ __forceinline__ W word_of(std::uint64_t bits) {
  if constexpr (sizeof(W) == 16) {
    const auto low = static_cast<unsigned>(bits);
    const auto high = static_cast<unsigned>(bits >> 32);
    return make_uint4(low, high, low, high);
  } else if constexpr (sizeof(W) == 8) {
    return make_uint2(static_cast<unsigned>(bits), static_cast<unsigned>(bits >> 32));
  } else {
    return static_cast<W>(bits);
  }
}

/// Slices of `slice` words; `positions` of them for each of the outer ones.
template <typename W>
__global__ void __launch_bounds__(kThreads)
    gather_words(W* to, const W* from, Indices indices, std::int64_t positions, std::int64_t extent,
                 std::int64_t slice, std::int64_t words, std::uint64_t outside) {
  const std::int64_t tile = kThreads * kInFlight;
  for (std::int64_t first = blockIdx.x * tile; first < words; first += gridDim.x * tile) {
    W held[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t at = first + i * kThreads + threadIdx.x;
      if (at >= words) break;
      const Split row = split(at, slice);
      const Split place = split(row.quotient, positions);
      const std::int64_t index = indices[place.remainder];
      const bool inside = index >= 0 && index < extent;
      held[i] = inside ? from[(place.quotient * extent + index) * slice + row.remainder]
                       : word_of<W>(outside);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::int64_t at = first + i * kThreads + threadIdx.x;
      if (at < words) to[at] = held[i];
    }
  }
}

template <int Bytes>
void gather_by(const KernelContext& k, const Around& source, std::int64_t slice_bytes) {
  using W = Word<Bytes>;
  const std::int64_t slice = slice_bytes / Bytes;
  const std::int64_t positions = k.in(1).elements();
  const std::int64_t words = source.outer * positions * slice;
  gather_words<W><<<blocks_for((words + kInFlight - 1) / kInFlight), kThreads, 0, queue_of(k)>>>(
      k.out(0).as<W>(), k.in(0).as<const W>(), indices_of(k.in(1)), positions, source.extent, slice,
      words, outside_bits(k.out(0).dtype()));
}

void run_gather(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Around source = around(k.in(0).shape(), k.attributes.integer("axis"));
  const auto bytes = source.inner * static_cast<std::int64_t>(dtype_size(k.out(0).dtype()));
  // Where both pointers and a slice may be cut.
  const auto cut = reinterpret_cast<std::uintptr_t>(k.in(0).data) |
                   reinterpret_cast<std::uintptr_t>(k.out(0).data) |
                   static_cast<std::uintptr_t>(bytes);
  if (cut % 16 == 0) {
    gather_by<16>(k, source, bytes);
  } else if (cut % 8 == 0) {
    gather_by<8>(k, source, bytes);
  } else if (cut % 4 == 0) {
    gather_by<4>(k, source, bytes);
  } else if (cut % 2 == 0) {
    gather_by<2>(k, source, bytes);
  } else {
    gather_by<1>(k, source, bytes);
  }
  check_launch("gather");
}

template <typename W>
__global__ void __launch_bounds__(kThreads)
    set_ones(W* to, Indices labels, std::int64_t count, std::int64_t classes, W one) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += stride) {
    const std::int64_t label = labels[i];
    if (label >= 0 && label < classes) to[i * classes + label] = one;
  }
}

std::uint64_t one_bits(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x3ff0000000000000U;
    case DType::f32:
      return 0x3f800000U;
    case DType::f16:
      return 0x3c00U;
    case DType::bf16:
      return 0x3f80U;
    default:
      return 1;
  }
}

void run_one_hot(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const DType dtype = k.out(0).dtype();
  check(cudaMemsetAsync(k.out(0).data, 0, k.out(0).type.bytes(), queue_of(k)), "one_hot");
  const std::int64_t count = k.in(0).elements();
  with_size(dtype_size(dtype), [&]<typename W>() {
    set_ones<W><<<blocks_for(count), kThreads, 0, queue_of(k)>>>(
        k.out(0).as<W>(), indices_of(k.in(0)), count, k.attributes.integer("classes"),
        static_cast<W>(one_bits(dtype)));
  });
  check_launch("one_hot");
}

void add_kernels(KernelTable& table) {
  table.add("gather", {run_gather});
  table.add("one_hot", {run_one_hot});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
