#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/trace.h>

#include "memory/close_file.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kDay = 24 * 3600;

/// Seconds since the epoch of the last local midnight.
std::int64_t local_midnight() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return now - (local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec);
}

pid_t thread_number() {
  static thread_local const pid_t kNumber = gettid();
  return kNumber;
}

}  // namespace

/// Called under an arena's lock and from releases: a line is formatted into a buffer of fixed size,
/// so that nothing here allocates or throws.
struct TraceRecorder::State {
  static constexpr std::size_t kMaxLine = 160;

  void write(std::string_view action, std::uintptr_t address, Bytes bytes, StreamId stream) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const pid_t thread = thread_number();
    const std::lock_guard lock(mutex);
    if (used + kMaxLine > buffer.size()) flush();
    const std::int64_t second = (now.tv_sec - midnight) % kDay;
    const auto result = fmt::format_to_n(buffer.data() + used, kMaxLine,
                                         "{},{:02}:{:02}:{:02}.{:06},{},{:#x},{},{}\n", thread,
                                         second / 3600, second / 60 % 60, second % 60,
                                         now.tv_nsec / 1000, action, address, bytes, stream);
    used += result.size;
  }

  void flush() {
    if (ok && std::fwrite(buffer.data(), 1, used, file.get()) != used) ok = false;
    used = 0;
  }

  std::mutex mutex;
  std::unique_ptr<std::FILE, CloseFile> file;
  std::int64_t midnight = local_midnight();
  std::atomic<bool> ok = true;
  std::size_t used = 0;
  std::array<char, std::size_t{64} << 10> buffer;
};

TraceRecorder::TraceRecorder(const std::string& path) : state_(std::make_unique<State>()) {
  state_->file.reset(std::fopen(path.c_str(), "wbe"));
  if (!state_->file) {
    throw InvalidArgument(fmt::format("[trace] cannot write {}: {}", path, std::strerror(errno)));
  }
  std::setvbuf(state_->file.get(), nullptr, _IONBF, 0);
  constexpr std::string_view kHeader = "Thread,Time,Action,Pointer,Size,Stream\n";
  std::memcpy(state_->buffer.data(), kHeader.data(), kHeader.size());
  state_->used = kHeader.size();
}

TraceRecorder::~TraceRecorder() { flush(); }

void TraceRecorder::allocate(std::uintptr_t address, Bytes bytes, StreamId stream) {
  state_->write("allocate", address, bytes, stream);
}

void TraceRecorder::release(std::uintptr_t address, Bytes bytes, StreamId stream) {
  state_->write("free", address, bytes, stream);
}

void TraceRecorder::flush() {
  const std::lock_guard lock(state_->mutex);
  state_->flush();
}

bool TraceRecorder::ok() const { return state_->ok; }

}  // namespace plimsoll
