#pragma once

#include <plimsoll/data/pipeline_thread.h>

namespace plimsoll::data {

/// Marks the calling thread, for as long as it lives, as one that works for pipelines.
void mark_pipeline_thread();

/// Has the system prefer other threads of the process to the calling one where both want a core.
void lower_priority();

/// The calling thread runs a pipeline that it consumes, in next() or the like.
class InPipeline {
 public:
  InPipeline();
  InPipeline(const InPipeline&) = delete;
  InPipeline& operator=(const InPipeline&) = delete;
  ~InPipeline();
};

/// Whether it does, or works for pipelines: then it must not wait for any pipeline to be quiet.
bool is_in_pipeline();

}  // namespace plimsoll::data
