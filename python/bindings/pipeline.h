#pragma once

namespace plimsoll::python {

/// Ends the threads of all pipelines: before the interpreter goes, which some of them call. Needs
/// the GIL.
void stop_all_pipelines();

}  // namespace plimsoll::python
