#pragma once

namespace plimsoll::data {

/// Whether the calling thread works for pipelines. Such a thread must not wait for somebody who may
/// be waiting for a pipeline: relief functions ask this before they wait.
bool is_pipeline_thread();

}  // namespace plimsoll::data
