#pragma once

namespace plimsoll::data {

/// Marks the calling thread, for as long as it lives, as one that works for pipelines.
void mark_pipeline_thread();

/// Whether the calling thread is. Such a thread must not wait for somebody who may be waiting for a
/// pipeline.
bool is_pipeline_thread();

}  // namespace plimsoll::data
