#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_compare_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
