#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/capabilities.h>
#include <plimsoll/device/usage.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/budget.h>
#include <plimsoll/memory/fence.h>

namespace plimsoll {

struct Backend;
class DeviceBackend;
class Session;

/// A limit on a device's memory: bytes, a share of the device, or nothing said.
class Limit {
 public:
  Limit() = default;
  Limit(Bytes bytes) : bytes_(bytes) {}  // NOLINT: {.limit = GiB(8)} should read like that
  /// `share` of what the device has in all, above 0 and at most 1; else InvalidArgument.
  static Limit share(double share);
  /// "8GiB", "50%". Throws InvalidArgument; `what` names the option in the message.
  static Limit parse(std::string_view text, std::string_view what = "limit");

  /// In bytes of a device with `total`; nullopt if nothing was said.
  std::optional<Bytes> resolve(Bytes total) const;

 private:
  std::optional<Bytes> bytes_;
  double share_ = 0;
};

struct DeviceOptions {
  /// Everything the process may take on the device, `runtime` included. Without one: what is free
  /// when the device is opened (on the CPU within the limits of its control groups, less
  /// process_reserve() for the process itself).
  Limit limit = {};
  /// Take the whole limit at once instead of growing.
  bool preallocate = false;
  /// Granularity of the CPU's pages; 0 chooses 2 MiB where huge pages can be had, else 64 KiB.
  Bytes page_size = 0;
  /// Records every allocation and release to this file, in RMM's format.
  std::string trace = {};
};

/// What a device is, as its driver or the system says. Reading it opens nothing.
struct DeviceInfo {
  std::string name;         ///< "cpu:0", "cuda:0"
  std::string description;  ///< "NVIDIA H200", the CPU's model
  Bytes total = 0;          ///< on the CPU the smallest limit of its control groups, too
  /// What nobody holds. nullopt where nothing tells before the device is opened; an opened one
  /// always knows.
  std::optional<Bytes> free = {};
  /// Where `runtime` and Device::use() come from. Of a GPU that was not opened it is unknown,
  /// unless the driver already says that it will not tell.
  UsageSource usage = UsageSource::unknown;
  /// Of a GPU: the libraries that its heavy ops use, with their versions, and what the build had to
  /// do without. "cuBLASLt 13.1.0, cuDNN 9.14.0"
  std::string libraries = {};
};

/// All devices of this machine; the CPU is first. A driver that does not answer is left out.
/// `missing`, if given, gets the name of each backend that has no device here, and why.
std::vector<DeviceInfo> list_devices(std::map<std::string, std::string>* missing = nullptr);

/// One dimension of a strided copy, outermost first: how many items, and how far apart they are on
/// either side, in bytes.
struct StridedDim {
  std::int64_t extent = 1;
  std::int64_t to = 0;
  std::int64_t from = 0;
};

/// Work of a stream that was recorded once and is given to the device again as a whole. The memory
/// it touches must stay where it is. Destroyed before the device closes.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Submits it to the stream it was recorded on. Throws DeviceError.
  virtual void replay() = 0;
};

/// Times between points of a stream's work, by the device's own clock: it costs the work next to
/// nothing, and nobody waits before seconds().
class StreamTimer {
 public:
  virtual ~StreamTimer() = default;
  /// A point after what was submitted so far. Throws DeviceError.
  virtual void mark() = 0;
  /// Seconds from each mark to the next, one less than there are marks; waits for the last of
  /// them. Throws DeviceError.
  virtual std::vector<double> seconds() = 0;
};

/// A device, or a logical one: pages, an arena, a budget.
///
/// A Device is a handle; copies are the same device. It closes with its last handle. Using a handle
/// that was moved from throws InvalidArgument. Thread-safe.
class Device {
 public:
  /// A handle on "cpu:0" (or "cpu"), "cuda:N" (or "cuda"), or a device of another backend by its
  /// name. A process has one budget for each
  /// physical device: the first call opens it, later ones give another handle on it until the last
  /// handle is gone. What later options leave out is as it is; a limit, page size or trace that
  /// differs, or preallocation that was not asked for at first, is an InvalidArgument: move the
  /// limit with budget().set_limit(), or divide it with split(). On a GPU opening makes the context
  /// and charges it to the budget as `runtime`. Throws InvalidArgument for an unknown name or an
  /// impossible limit, DeviceError if the driver fails, BudgetTooSmall if `runtime` does not fit.
  static Device open(std::string_view name, const DeviceOptions& options = {});

  /// "cpu:0"; "cpu:0/1" for a logical device, "cpu:0/validation" for a session.
  const std::string& name() const;
  /// The kind of device it is; its name is the first part of this device's.
  const Backend& backend() const;
  const Capabilities& capabilities() const;
  /// N of "cuda:N"; 0 on the CPU.
  int ordinal() const;
  /// True once the session this device is (or lies in) was closed.
  bool closed() const;
  /// What it is, seen from here: a logical device or a session has at most its limit.
  DeviceInfo info() const;

  /// The root of this device's budgets (of the logical device's, if it is one).
  Budget budget() const;
  Arena& arena() const;

  /// Granularity of the pages of a scope with this limit.
  Bytes page_size(Bytes limit) const;

  /// A block of `bytes` for `label`. Throws OutOfMemory.
  Block allocate(Bytes bytes, Tag tag, std::string_view label, StreamId stream = kHostStream) const;

  /// Logical devices with limits of their own, which are guaranteed: what a logical device has not
  /// used yet can be taken neither by its siblings nor here. Together they must fit into what is
  /// available here, else BudgetTooSmall. Named "cuda:0/0", "cuda:0/1". Moving the limit of a
  /// logical device moves what it is guaranteed.
  std::vector<Device> split(const std::vector<Bytes>& limits) const;

  /// A scope with a budget and pages of its own, which go back when it closes. Its name is one of
  /// a budget: no slash in it. A share is one of the lowest limit from here on.
  Session session(std::string_view name, Limit limit = {}) const;

  /// Bytes of the driver's context and the libraries', with some room, charged to this device as
  /// `runtime`: 0 for logical devices and sessions, as they are charged once.
  Bytes runtime() const;
  /// What this process holds on the device as the system counts it: its RSS, or the driver's
  /// figure for the process. nullopt where the driver does not tell.
  std::optional<Bytes> process_used() const;
  /// The same; where the driver does not tell, by how much less is free than before the device was
  /// opened, never below 0. Then what other processes took and gave back since is in it.
  MemoryUse use() const;
  /// On the CPU: the RSS when the device was opened; reported, not charged.
  Bytes baseline() const;

  /// Copies between any two places that this device and the host can reach; ordered on `stream`
  /// and, for kHostStream, finished on return. Throws DeviceError.
  void copy(void* to, const void* from, Bytes bytes, StreamId stream = kHostStream) const;
  /// Copies items of `item` bytes (1, 2, 4 or 8; both sides aligned to it), both sides on this
  /// device and apart; ordered as copy() is. False where the device has no better way than copy()
  /// of one run after another: nothing was done. Throws DeviceError.
  bool copy_strided(void* to, const void* from, Bytes item, std::span<const StridedDim> dims,
                    StreamId stream = kHostStream) const;
  /// Zeros on this device; ordered as copy() is. Throws DeviceError.
  void fill_zero(void* to, Bytes bytes, StreamId stream = kHostStream) const;

  /// A new stream of work. On the CPU there is only the host's.
  StreamId make_stream() const;
  /// One that its maker needs no more; somebody else gets it. What was submitted to it still runs.
  void release_stream(StreamId stream) const noexcept;
  /// True if both are the same opening of a GPU (or the CPU): streams and fences are common.
  bool same_backend(const Device& other) const;
  /// Waits for all work of `stream`, or of all streams.
  void synchronize(StreamId stream) const;
  void synchronize() const;

  /// A point in the work of `stream`, after everything submitted to it so far; for kHostStream one
  /// that is passed. Throws DeviceError.
  std::shared_ptr<Fence> fence(StreamId stream) const;
  /// Work submitted to `stream` from now on begins after `fence`, which is of this device: the
  /// device waits for it and the host does not. For kHostStream the calling thread waits. Throws
  /// DeviceError.
  void wait(StreamId stream, const std::shared_ptr<Fence>& fence) const;
  /// On the CPU by the host's clock. Destroyed before the device closes.
  std::unique_ptr<StreamTimer> make_timer(StreamId stream) const;

  /// The driver's own handle of a stream, for kernels and libraries; null on the CPU.
  void* queue(StreamId stream) const;
  /// Records what `work` submits to `stream` instead of running it; null where the device cannot
  /// record, or the driver would take memory for it that the limit does not have. What it takes
  /// beyond runtime() is charged until the device is closed, as the driver keeps it. With null,
  /// `work` was not called, or in vain. It may not wait on the host. Another stream takes
  /// part once it waits for a fence of `stream` that was made in `work`; before the end of `work`,
  /// `stream` must wait for a fence of its last. Such fences are for wait() within `work` alone.
  std::unique_ptr<Recording> record(StreamId stream, const std::function<void()>& work) const;

  /// Host memory that the device's copy engines can reach directly, in an arena of its own under
  /// `budget` (of a host device). On the CPU plain pages. The caller keeps the device open.
  std::unique_ptr<Arena> make_pinned_arena(const Budget& budget) const;

  bool operator==(const Device& other) const { return state_ == other.state_; }

  struct State;

 private:
  friend class Session;
  friend class DeviceScope;
  friend class ProfilerRange;
  explicit Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
  /// Throws InvalidArgument naming the function `who` if this handle was moved from.
  State& state(const char* who) const;
  std::shared_ptr<State> state_;
};

/// While it lives, kernels and libraries that this thread calls run on the device. Scopes nest.
class DeviceScope {
 public:
  explicit DeviceScope(const Device& device);
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope();

 private:
  Device device_;
};

/// While it lives, what this thread submits stands under `name` in a profiler of the device's
/// (NVTX on CUDA); nothing where none is attached, and nothing on the CPU. Ranges nest.
class ProfilerRange {
 public:
  ProfilerRange(const Device& device, std::string_view name);
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
  ~ProfilerRange();

 private:
  DeviceBackend& backend_;
};

/// A scope on a device: a budget and an arena that belong to it alone. Closing it returns every
/// page, live blocks included; tensors that are still around can no longer be read. Movable.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// The session as a device: tensors and pipelines take it like any other.
  const Device& device() const;
  Budget budget() const;
  Arena& arena() const;

  /// Idempotent; also done on destruction.
  void close();

 private:
  friend class Device;
  explicit Session(Device device);
  /// Throws InvalidArgument naming the function `who` if this session was moved from.
  const Device& held(const char* who) const;
  std::unique_ptr<Device> device_;
};

}  // namespace plimsoll
