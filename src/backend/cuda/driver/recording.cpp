#include "backend/cuda/driver/recording.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>

namespace plimsoll::cuda {
namespace {

/// What the driver takes for a node of a graph: 3.1 KiB were measured, and a little more.
constexpr Bytes kPerNode = 3584;
/// It takes memory in pieces.
constexpr Bytes kPiece = MiB(2);

/// A graph's part of the room.
class Space {
 public:
  Space(std::shared_ptr<RecordingRoom> room, std::size_t nodes)
      : room_(std::move(room)), nodes_(nodes) {}
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space() { room_->leave(nodes_); }

 private:
  const std::shared_ptr<RecordingRoom> room_;
  const std::size_t nodes_;
};

class GraphRecording final : public Recording {
 public:
  GraphRecording(std::shared_ptr<Context> context, CUstream stream, CUgraph graph,
                 std::unique_ptr<Space> space)
      : context_(std::move(context)), stream_(stream), space_(std::move(space)) {
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
  const std::unique_ptr<Space> space_;  ///< goes after the graph
  CUgraphExec graph_ = nullptr;
};

}  // namespace

std::shared_ptr<RecordingRoom> RecordingRoom::of(int ordinal) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<RecordingRoom>> rooms;
  const std::lock_guard lock(mutex);
  auto& room = rooms[ordinal];
  if (room == nullptr) room = std::make_shared<RecordingRoom>();
  return room;
}

bool RecordingRoom::enter(std::size_t nodes, const std::function<bool(Bytes)>& take) {
  const std::lock_guard lock(mutex_);
  const Bytes wanted = used_ + nodes * kPerNode;
  if (wanted > taken_) {
    const Bytes more = align_up(wanted - taken_, kPiece);
    if (!take(more)) return false;
    taken_ += more;
  }
  used_ = wanted;
  return true;
}

void RecordingRoom::leave(std::size_t nodes) noexcept {
  const std::lock_guard lock(mutex_);
  used_ -= nodes * kPerNode;
}

Bytes RecordingRoom::beyond() const {
  const std::lock_guard lock(mutex_);
  return taken_ - kPaid;
}

std::unique_ptr<Recording> make_recording(std::shared_ptr<Context> context, CUstream stream,
                                          const std::function<void()>& work,
                                          const std::shared_ptr<RecordingRoom>& room,
                                          const std::function<bool(Bytes)>& take) {
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
    std::size_t nodes = 0;
    context->check(driver.cuGraphGetNodes(graph, nullptr, &nodes), "cuGraphGetNodes");
    if (room->enter(nodes, take)) {
      recording = std::make_unique<GraphRecording>(context, stream, graph,
                                                   std::make_unique<Space>(room, nodes));
    }
    log_debug(fmt::format("[record] {}: {} nodes{}", context->name(), nodes,
                          recording != nullptr ? "" : ", not recorded for want of memory"));
  } catch (...) {
    (void)driver.cuGraphDestroy(graph);
    throw;
  }
  context->check(driver.cuGraphDestroy(graph), "cuGraphDestroy");
  return recording;
}

}  // namespace plimsoll::cuda
