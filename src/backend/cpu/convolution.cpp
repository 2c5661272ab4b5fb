#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_convolution_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
