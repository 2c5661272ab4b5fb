#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_gather_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
