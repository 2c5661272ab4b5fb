#pragma once

#include <string>

#include "backend/cuda/programs/nvrtc.h"

// Programs that are generated for a plan, compiled at run time, kept on disk and loaded into a
// device: groups of pointwise ops (ops/pointwise.h). programs.cpp registers the compiler.

namespace plimsoll::cuda {

/// The run-time compiler of the toolkit that this library was built with; null where there is none.
const Nvrtc* build_nvrtc(std::string* why);

}  // namespace plimsoll::cuda
