#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <plimsoll/base/run_log.h>
#include <plimsoll/device/device.h>

namespace plimsoll::train {

/// Writes to a run log who holds what on some devices, from a thread of its own: a line "memory"
/// whenever that has changed and at least once a second, and a line "peak" when more is held than
/// ever before. It looks every 20 ms at first and half as often after each 2,000 lines, so that
/// a day of training takes a few MB. Costs the training thread nothing but sample().
class MemoryLog {
 public:
  /// The log outlives it. Does nothing if the log writes nowhere.
  MemoryLog(RunLog& log, std::vector<Device> devices);
  MemoryLog(const MemoryLog&) = delete;
  MemoryLog& operator=(const MemoryLog&) = delete;
  /// Writes the last lines.
  ~MemoryLog();

  /// Looks now, whatever the clock says: before and after something that moves memory.
  void sample();

 private:
  struct Watched {
    explicit Watched(Device watched) : device(std::move(watched)) {}
    Device device;
    std::vector<std::pair<std::int64_t, Bytes>> held;  ///< as it was last written
    Bytes used = 0;
    Bytes limit = 0;
    Bytes peak = 0;         ///< of the ledger, as it was last written
    double written = -1e9;  ///< when
    double peaked = -1e9;
    double asked = -1e9;  ///< when the system was
    Bytes system = 0;
  };
  using Holders = std::vector<std::pair<std::int64_t, Bytes>>;

  void run();
  void look(bool last);
  void look_at(Watched& watched, bool last);
  void note_peak(Watched& watched, double now);
  /// Those of a line: the largest by name, the others together by tag.
  Holders numbered(const std::string& device, const std::vector<Holder>& holders);
  /// The number of a holder; its line is written when it gets one.
  std::int64_t number(const std::string& device, const std::string& budget, Tag tag,
                      const std::string& label);

  RunLog& log_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::vector<Watched> devices_;
  std::map<std::tuple<std::string, std::string, Tag, std::string>, std::int64_t> numbers_;
  std::chrono::milliseconds pause_;
  std::int64_t lines_ = 0;  ///< since the pause last grew
  std::thread thread_;
};

}  // namespace plimsoll::train
