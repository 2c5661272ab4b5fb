#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/rounded.cuh"

namespace plimsoll::cuda {
namespace {

/// input 0 = input 1
void run_assign(const KernelContext& k) {
  check(cudaMemcpyAsync(k.in(0).data, k.in(1).data, k.in(0).type.bytes(), cudaMemcpyDeviceToDevice,
                        queue_of(k)),
        "assign");
}

template <typename T>
__global__ void __launch_bounds__(256)
    move(T* target, const T* value, std::int64_t count, T keep, T share) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += step) {
    target[i] = rounded::add(rounded::mul(target[i], keep), rounded::mul(value[i], share));
  }
}

/// input 0 = keep * input 0 + share * input 1
template <typename T>
void run_move(const KernelContext& k) {
  const std::int64_t count = k.in(0).elements();
  if (count == 0) return;
  move<<<blocks_for(count, 256, 4096), 256, 0, queue_of(k)>>>(
      k.in(0).as<T>(), k.in(1).as<const T>(), count, static_cast<T>(k.attributes.number("keep")),
      static_cast<T>(k.attributes.number("share")));
  check_launch("move_towards");
}

void add_kernels(KernelTable& table) {
  table.add("assign", {run_assign});
  table.add("move_towards", {[](const KernelContext& k) {
              k.in(0).dtype() == DType::f64 ? run_move<double>(k) : run_move<float>(k);
            }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
