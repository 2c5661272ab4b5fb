#include "backend/cuda/recording.h"

#include <utility>

#include <plimsoll/base/error.h>

namespace plimsoll::cuda {
namespace {

class GraphRecording final : public Recording {
 public:
  GraphRecording(std::shared_ptr<Context> context, CUstream stream, CUgraph graph)
      : context_(std::move(context)), stream_(stream) {
    const Driver& driver = context_->driver();
    context_->check(driver.cuGraphInstantiateWithFlags(&graph_, graph, 0), "cuGraphInstantiate");
    // What the graph takes on the device it takes now, not in the first step that replays it.
    const CUresult result = driver.cuGraphUpload(graph_, stream_);
    if (result == CUDA_SUCCESS) return;
    (void)driver.cuGraphExecDestroy(graph_);
    context_->check(result, "cuGraphUpload");
  }
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;
  ~GraphRecording() override {
    if (context_->gone()) return;
    try {
      const Context::Scope scope(*context_);
      (void)context_->driver().cuStreamSynchronize(stream_);
      (void)context_->driver().cuGraphExecDestroy(graph_);
    } catch (const Error&) {  // a device that has failed has nothing to give back
    }
  }

  void replay() override {
    const Context::Scope scope(*context_);
    context_->check(context_->driver().cuGraphLaunch(graph_, stream_), "cuGraphLaunch");
  }

 private:
  const std::shared_ptr<Context> context_;
  const CUstream stream_;
  CUgraphExec graph_ = nullptr;
};

}  // namespace

std::unique_ptr<Recording> make_recording(std::shared_ptr<Context> context, CUstream stream,
                                          const std::function<void()>& work) {
  const Driver& driver = context->driver();
  const Context::Scope scope(*context);
  context->check(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                 "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    work();
  } catch (...) {
    (void)driver.cuStreamEndCapture(stream, &graph);
    if (graph != nullptr) (void)driver.cuGraphDestroy(graph);
    throw;
  }
  context->check(driver.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  std::unique_ptr<Recording> recording;
  try {
    recording = std::make_unique<GraphRecording>(context, stream, graph);
  } catch (...) {
    (void)driver.cuGraphDestroy(graph);
    throw;
  }
  context->check(driver.cuGraphDestroy(graph), "cuGraphDestroy");
  return recording;
}

}  // namespace plimsoll::cuda
