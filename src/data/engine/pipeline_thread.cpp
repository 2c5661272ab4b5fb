#include "data/engine/pipeline_thread.h"

#include <sys/resource.h>

namespace plimsoll::data {
namespace {

thread_local bool t_marked = false;  // NOLINT: a thread knows what it is
thread_local int t_inside = 0;       // NOLINT: and what it does

/// A quarter of a core beside a thread that wants all of it; all of it where nobody does.
constexpr int kNice = 5;

}  // namespace

void mark_pipeline_thread() { t_marked = true; }
bool is_pipeline_thread() { return t_marked; }

void lower_priority() {
  // Linux has a priority per thread; 0 means the calling one. Best effort: a failure is ignored.
  static_cast<void>(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNice));
}

InPipeline::InPipeline() { ++t_inside; }
InPipeline::~InPipeline() { --t_inside; }
bool is_in_pipeline() { return t_marked || t_inside > 0; }

}  // namespace plimsoll::data
