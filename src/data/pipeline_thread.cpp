#include "data/pipeline_thread.h"

namespace plimsoll::data {
namespace {

thread_local bool t_marked = false;  // NOLINT: a thread knows what it is

}  // namespace

void mark_pipeline_thread() { t_marked = true; }
bool is_pipeline_thread() { return t_marked; }

}  // namespace plimsoll::data
