#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace plimsoll {

/// What a run did, as JSON lines: one object per event, with the seconds since the log was opened
/// under "time" and the event's name under "event". A line is written whole, so that a killed run
/// leaves a log that can be read. Thread-safe.
class RunLog {
 public:
  /// Numbers that are not finite are written as null, as JSON has none.
  using Field = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;
  using Fields = std::initializer_list<std::pair<std::string_view, Field>>;

  /// Writes nowhere.
  RunLog();
  /// Adds to the file, or makes it. DataError naming it if that cannot be.
  explicit RunLog(const std::string& path);
  RunLog(RunLog&&) noexcept;
  RunLog& operator=(RunLog&&) noexcept;
  ~RunLog();

  /// Empty if it writes nowhere.
  const std::string& path() const;
  /// A log that cannot be written any more warns once and goes on: training does not end for it.
  void write(std::string_view event, Fields fields = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
