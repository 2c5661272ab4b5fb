#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_attention_kernels(KernelTable&) {}

}  // namespace plimsoll::cpu
