#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_dropout_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
