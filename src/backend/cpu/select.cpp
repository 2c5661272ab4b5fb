#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_select_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
