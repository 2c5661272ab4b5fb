#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace plimsoll {

/// What a run did, as JSON lines: one object per event, with the seconds since the log was opened
/// under "time" and the event's name under "event". docs/run-log.md lists the events. Each line is
/// written with one call as soon as it is known, so that a killed run leaves a log that can be read
/// up to its last moment. Thread-safe.
class RunLog {
 public:
  /// The version of the format, written by begin(). Version 1 had no "run" line.
  static constexpr std::int64_t kFormat = 2;

  /// Text that is JSON already: an array or an object. It must be valid and without line ends.
  struct Json {
    std::string text;
  };
  /// Numbers that are not finite are written as null, as JSON has none.
  using Field = std::variant<bool, std::int64_t, std::uint64_t, double, std::string, Json>;
  using NamedField = std::pair<std::string_view, Field>;
  using Fields = std::initializer_list<NamedField>;

  /// Writes nowhere.
  RunLog();
  /// Adds to the file, or makes it. DataError naming it if that cannot be.
  explicit RunLog(const std::string& path);
  RunLog(RunLog&&) noexcept;
  RunLog& operator=(RunLog&&) noexcept;
  ~RunLog();

  /// Empty if it writes nowhere.
  const std::string& path() const;
  /// False if it writes nowhere: what is dear to find out need not be.
  bool writes() const;
  /// Seconds since the log was opened: "time" of a line that is written now.
  double seconds() const;

  /// The line "run", once: the format's version, Plimsoll's, the time of day, process, machine and
  /// the commit of the repository around the working directory, and `fields` after them. Trainer
  /// calls it where the program has not.
  void begin(Fields fields = {});
  /// A log that cannot be written any more warns once and goes on: training does not end for it.
  void write(std::string_view event, Fields fields = {});
  void write(std::string_view event, const std::vector<NamedField>& fields);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace plimsoll
