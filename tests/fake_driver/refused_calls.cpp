// All other calls that are looked up in the driver: each is this one function, unless fake_cuda.cpp
// has it. Their types do not matter, as none of them looks at its arguments.

#include "backend/cuda/driver/driver.h"

extern "C" CUresult plimsoll_refuse() { return CUDA_ERROR_NOT_SUPPORTED; }

#define PLIMSOLL_TEXT(name) #name
#define PLIMSOLL_REFUSE(call) \
  __asm__(".weak " PLIMSOLL_TEXT(call) "\n.set " PLIMSOLL_TEXT(call) ", plimsoll_refuse\n");
PLIMSOLL_CUDA_DRIVER_CALLS(PLIMSOLL_REFUSE)
