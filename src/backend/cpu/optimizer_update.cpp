#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_optimizer_update_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
