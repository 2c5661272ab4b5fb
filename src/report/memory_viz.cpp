// The plan of a step as a snapshot of PyTorch's allocator: its viewer shows what is live when.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/tag.h>
#include <plimsoll/report/exports.h>

#include "report/export_names.h"
#include "report/json_fields.h"
#include "report/pickle_writer.h"
#include "report/write_file.h"

namespace plimsoll::report {
namespace {

/// Addresses that JavaScript counts exactly, and no real one.
constexpr std::uint64_t kStateAddress = std::uint64_t{1} << 40U;
constexpr std::uint64_t kRangeAddress = std::uint64_t{1} << 44U;
constexpr std::size_t kFlushEvery = 1000;

struct Value {
  std::string name = {};
  Bytes offset = 0;
  Bytes bytes = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

struct Step {
  std::vector<double> begins = {0};  ///< of tasks, in seconds, and the end
  std::vector<Value> values;
  std::map<std::string, Bytes> persistent;  ///< by tag
  Bytes range = 0;

  /// Operations of a trace have no times: a microsecond each.
  double seconds_before(std::int64_t task) const {
    if (begins.size() == 1) return static_cast<double>(task) * 1e-6;
    return begins[static_cast<std::size_t>(
        std::clamp<std::int64_t>(task, 0, static_cast<std::int64_t>(begins.size()) - 1))];
  }
};

std::string tag_of(std::int64_t tag) {
  return tag >= 0 && static_cast<std::size_t>(tag) < kTagCount
             ? std::string(kTagNames[static_cast<std::size_t>(tag)])
             : "unknown";
}

Step step_of(const RunPlan& plan) {
  const Json timeline = parsed(plan.timeline);
  const Json figures = parsed(plan.json);
  Step step;
  const Json none = Json::array();
  const auto list = [&](const char* name) -> const Json& {
    const Json* const found = field(timeline, name);
    return found != nullptr && found->is_array() ? *found : none;
  };
  const Json& names = list("names");
  const auto name_of = [&](const Json& row, std::size_t place) -> std::string {
    const std::int64_t index =
        row.is_array() && row.size() > place ? count_or(&row[place], -1) : -1;
    if (index < 0 || static_cast<std::size_t>(index) >= names.size()) return "";
    const Json& name = names[static_cast<std::size_t>(index)];
    return name.is_string() ? valid_text(name.get<std::string>()) : "";
  };
  const Json& tasks = list("tasks");
  for (const Json& row : tasks) {
    const double seconds = row.is_array() && row.size() > 2 ? number_or(&row[2], 0) : 0;
    step.begins.push_back(step.begins.back() + std::max(seconds, 0.0));
  }
  for (const Json& row : list("values")) {
    if (!row.is_array() || row.size() < 7) continue;
    Value value{.offset = static_cast<Bytes>(std::max<std::int64_t>(0, count_or(&row[3], 0))),
                .bytes = static_cast<Bytes>(std::max<std::int64_t>(0, count_or(&row[4], 0))),
                .from = count_or(&row[5], 0),
                .to = count_or(&row[6], 0)};
    if (value.bytes == 0 || value.offset > kStateAddress || value.bytes > kStateAddress) continue;
    const std::int64_t made = value.from;
    std::string name = name_of(row, 2);
    if (made >= 0 && static_cast<std::size_t>(made) < tasks.size()) {
      const Json& task = tasks[static_cast<std::size_t>(made)];
      if (name.empty()) name = name_of(task, 0);
      if (const std::string scope = name_of(task, 1); !scope.empty()) name += " in " + scope;
    }
    value.name = fmt::format("{} ({})", name, tag_of(count_or(&row[1], -1)));
    step.range = std::max(step.range, value.offset + value.bytes);
    step.values.push_back(std::move(value));
  }
  std::ranges::stable_sort(step.values, {}, &Value::from);
  if (const Json* const persistent = field(figures, "persistent");
      persistent != nullptr && persistent->is_object()) {
    for (const auto& [tag, bytes] : persistent->items()) {
      const std::int64_t size = count_or(&bytes, 0);
      if (size > 0) step.persistent[valid_text(tag)] = static_cast<Bytes>(size);
    }
  }
  return step;
}

class Snapshot {
 public:
  std::string of(const Step& step) {
    out_.begin_dict();
    out_.text("segments");
    out_.begin_list();
    segments(step);
    out_.end_list();
    out_.text("device_traces");
    out_.begin_list();
    out_.begin_list();
    trace(step);
    out_.end_list();
    out_.end_list();
    out_.end_dict();
    return out_.take();
  }

 private:
  void frames(const std::string& name) {
    out_.text("frames");
    out_.begin_list();
    out_.begin_dict();
    out_.entry("name", name);
    out_.entry("filename", "plimsoll");
    out_.entry("line", std::uint64_t{0});
    out_.end_dict();
    out_.end_list();
  }

  void begin_segment(std::uint64_t address, Bytes total, Bytes active) {
    out_.begin_dict();
    out_.entry("device", std::uint64_t{0});
    out_.entry("address", address);
    out_.entry("total_size", total);
    out_.entry("allocated_size", active);
    out_.entry("active_size", active);
    out_.entry("requested_size", active);
    out_.entry("stream", std::uint64_t{0});
    out_.entry("segment_type", "large");
    out_.text("blocks");
    out_.begin_list();
  }
  void end_segment() {
    out_.end_list();
    out_.end_dict();
  }
  void block(std::uint64_t address, Bytes bytes, const char* state, const std::string& name) {
    out_.begin_dict();
    out_.entry("address", address);
    out_.entry("size", bytes);
    out_.entry("requested_size", bytes);
    out_.entry("state", state);
    frames(name);
    out_.end_dict();
  }

  /// What is there when the step has ended: state, and the empty range.
  void segments(const Step& step) {
    Bytes sum = 0;
    for (const auto& [tag, bytes] : step.persistent) sum += bytes;
    if (sum > 0) {
      begin_segment(kStateAddress, sum, sum);
      std::uint64_t at = kStateAddress;
      for (const auto& [tag, bytes] : step.persistent) {
        block(at, bytes, "active_allocated", tag);
        at += bytes;
      }
      end_segment();
    }
    if (step.range == 0) return;
    begin_segment(kRangeAddress, step.range, 0);
    block(kRangeAddress, step.range, "inactive", "the range of a step");
    end_segment();
  }

  void event(const char* action, const Value& value, double seconds) {
    if (++events_ % kFlushEvery == 0) out_.flush_list();
    out_.begin_dict();
    out_.entry("action", action);
    out_.entry("addr", kRangeAddress + value.offset);
    out_.entry("size", value.bytes);
    out_.entry("stream", std::uint64_t{0});
    out_.entry("time_us", static_cast<std::uint64_t>(std::max(seconds, 0.0) * 1e6));
    frames(value.name);
    out_.end_dict();
  }

  void free(const Value& value, double seconds) {
    event("free_requested", value, seconds);
    event("free_completed", value, seconds);
  }

  /// Frees `value` when its last task has ended.
  void release(const Step& step, const Value& value) {
    free(value, step.seconds_before(value.to + 1));
    live_.erase(value.offset);
    ends_.erase({value.to, value.offset});
  }

  void trace(const Step& step) {
    for (const Value& value : step.values) {
      while (!ends_.empty() && ends_.begin()->first < value.from) {
        release(step, *live_.at(ends_.begin()->second));
      }
      // What it is written over, in place, goes first.
      auto other = live_.upper_bound(value.offset);
      if (other != live_.begin() &&
          std::prev(other)->first + std::prev(other)->second->bytes > value.offset) {
        --other;
      }
      while (other != live_.end() && other->first < value.offset + value.bytes) {
        const Value& before = *other->second;
        ++other;
        free(before, step.seconds_before(value.from));
        live_.erase(before.offset);
        ends_.erase({before.to, before.offset});
      }
      event("alloc", value, step.seconds_before(value.from));
      live_[value.offset] = &value;
      ends_.insert({value.to, value.offset});
    }
    while (!ends_.empty()) release(step, *live_.at(ends_.begin()->second));
  }

  std::map<Bytes, const Value*> live_;             ///< by offset
  std::set<std::pair<std::int64_t, Bytes>> ends_;  ///< last tasks and offsets of those
  PickleWriter out_;
  std::size_t events_ = 0;
};

}  // namespace

void write_memory_viz(const Run& run, const std::string& path) {
  const auto whole = std::find_if(run.plans.rbegin(), run.plans.rend(),
                                  [](const RunPlan& plan) { return plan.timeline != "null"; });
  if (whole == run.plans.rend()) {
    throw InvalidArgument(fmt::format(
        "[report] {} has no plan with its timeline, which --memory-viz draws; train again with "
        "--log",
        run.name));
  }
  write_file(path, Snapshot().of(step_of(*whole)));
}

}  // namespace plimsoll::report
