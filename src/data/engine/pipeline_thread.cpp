#include "data/engine/pipeline_thread.h"

namespace plimsoll::data {
namespace {

thread_local bool t_marked = false;  // NOLINT: a thread knows what it is
thread_local int t_inside = 0;       // NOLINT: and what it does

}  // namespace

void mark_pipeline_thread() { t_marked = true; }
bool is_pipeline_thread() { return t_marked; }

InPipeline::InPipeline() { ++t_inside; }
InPipeline::~InPipeline() { --t_inside; }
bool is_in_pipeline() { return t_marked || t_inside > 0; }

}  // namespace plimsoll::data
