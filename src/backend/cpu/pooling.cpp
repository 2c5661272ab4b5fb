#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_pooling_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
