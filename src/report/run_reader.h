#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include <plimsoll/report/run.h>

#include "report/json_fields.h"

namespace plimsoll::report {

/// Reads the lines of a log into a Run, one after the other.
class RunReader {
 public:
  explicit RunReader(Run& run) : run_(run) {}

  /// One line, without its end. `line` is its number, from 1.
  void read(std::string_view text, std::int64_t line);
  /// What `text` has no line end for: the process was killed while it wrote it, or the file was
  /// cut.
  void read_rest(std::string_view text, std::int64_t line);
  /// There are no more lines.
  void finish();

 private:
  void problem(std::int64_t line, std::string what);
  void dispatch(const std::string& event, const Json& json);
  void read_run(const Json& json);
  void read_begin(const Json& json);
  void read_end(const Json& json);
  void read_reports(const Json& json);
  void read_step(const Json& json);
  void read_holder(const Json& json);
  void read_memory(const Json& json);
  void read_peak(const Json& json);
  void read_plan(const Json& json);
  void read_op_times(const Json& json);
  void add_event(const std::string& event, const Json& json);
  void add_options(const Json* json);
  RunDevice& device(const std::string& name);
  std::vector<RunHeld> held(const Json& json);
  std::size_t holder(std::int64_t id);
  std::size_t add_holder(const RunHolder& holder);

  Run& run_;
  double offset_ = 0;  ///< of this part's times
  double time_ = 0;    ///< of the line that is read
  bool ended_ = false;
  std::int64_t line_ = 0;
  std::map<std::int64_t, std::size_t> ids_;  ///< of this part, by the log's numbers
  std::map<std::string, std::size_t> places_;
  std::set<std::int64_t> missing_;
};

}  // namespace plimsoll::report
