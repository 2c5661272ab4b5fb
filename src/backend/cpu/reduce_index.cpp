#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_reduce_index_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
