// A trace for Perfetto: packets with track events, as protobuf. Field numbers are those of
// perfetto's trace_packet.proto, track_descriptor.proto and track_event.proto.

#include <algorithm>
#include <cmath>

#include <plimsoll/report/exports.h>

#include "report/export_names.h"
#include "report/json_fields.h"
#include "report/proto_writer.h"
#include "report/write_file.h"

namespace plimsoll::report {
namespace {

class Trace {
 public:
  std::uint64_t process(const std::string& name, std::int64_t pid) {
    const ProtoWriter about =
        ProtoWriter()
            .number(1, static_cast<std::uint64_t>(std::max<std::int64_t>(pid, 1)))
            .text(6, valid_text(name));
    return describe(ProtoWriter().number(1, ++tracks_).message(3, about));
  }
  /// Slices.
  std::uint64_t track(std::uint64_t parent, const std::string& name) {
    return describe(ProtoWriter().number(1, ++tracks_).text(2, valid_text(name)).number(5, parent));
  }
  std::uint64_t counter(std::uint64_t parent, const std::string& name, bool bytes) {
    constexpr std::uint64_t kSizeBytes = 3;
    ProtoWriter unit;
    if (bytes) unit.number(3, kSizeBytes);
    return describe(ProtoWriter()
                        .number(1, ++tracks_)
                        .text(2, valid_text(name))
                        .number(5, parent)
                        .message(8, unit));
  }

  void slice(std::uint64_t track, double begin, double end, const std::string& name) {
    event(begin, ProtoWriter().number(9, 1).number(11, track).text(23, valid_text(name)));
    event(std::max(begin, end), ProtoWriter().number(9, 2).number(11, track));
  }
  void instant(std::uint64_t track, double time, const std::string& name) {
    event(time, ProtoWriter().number(9, 3).number(11, track).text(23, valid_text(name)));
  }
  void count(std::uint64_t track, double time, Bytes value) {
    event(time, ProtoWriter().number(9, 4).number(11, track).number(30, value));
  }
  void count(std::uint64_t track, double time, double value) {
    if (std::isfinite(value)) {
      event(time, ProtoWriter().number(9, 4).number(11, track).real(44, value));
    }
  }

  const std::string& bytes() const { return trace_.bytes(); }

 private:
  std::uint64_t describe(const ProtoWriter& track) {
    trace_.message(1, ProtoWriter().message(60, track).number(10, kSequence));
    return tracks_;
  }
  void event(double time, const ProtoWriter& event) {
    const auto ns = static_cast<std::uint64_t>(std::llround(std::max(time, 0.0) * 1e9));
    trace_.message(1, ProtoWriter().number(8, ns).number(10, kSequence).message(11, event));
  }

  static constexpr std::uint64_t kSequence = 1;
  ProtoWriter trace_;
  std::uint64_t tracks_ = 0;
};

void add_steps(Trace& trace, std::uint64_t process, const Run& run) {
  if (run.steps.empty()) return;
  const std::uint64_t steps = trace.track(process, "steps");
  const std::uint64_t loss = trace.counter(process, "loss", false);
  double before = 0;
  for (const RunStep& step : run.steps) {
    const double seconds =
        std::isnan(step.seconds) ? 0 : step.seconds * static_cast<double>(step.steps);
    const std::string name = step.steps == 1 ? "step " + std::to_string(step.step)
                                             : "steps to " + std::to_string(step.step);
    // They do not overlap: a step that ran beside the one before begins where that one ended.
    trace.slice(steps, std::max(before, step.time - seconds), step.time, name);
    trace.count(loss, step.time, step.loss);
    before = step.time;
  }
}

void add_events(Trace& trace, std::uint64_t process, const Run& run) {
  const std::uint64_t phases = trace.track(process, "validation and checkpoints");
  const std::uint64_t epochs = trace.track(process, "epochs");
  const std::uint64_t others = trace.track(process, "events");
  double epoch_began = 0;
  double before = 0;
  for (const RunEvent& event : run.events) {
    const Json json = parsed(event.json);
    if (event.kind == "validation" || event.kind == "checkpoint") {
      const double seconds = number_or(field(json, "seconds"), 0);
      trace.slice(phases, std::max(before, event.time - seconds), event.time, event.kind);
      before = event.time;
    } else if (event.kind == "epoch") {
      trace.slice(epochs, epoch_began, event.time, "epoch " + std::to_string(count(json, "epoch")));
      epoch_began = event.time;
    } else {
      std::string name = event.kind;
      for (const char* more : {"why", "message", "text"}) {
        if (const std::string words = text(json, more); !words.empty()) name += ": " + words;
      }
      trace.instant(others, event.time, name);
    }
  }
}

/// Each holder's tag as a counter; one that goes is set to 0 once.
void add_memory(Trace& trace, std::uint64_t process, const Run& run) {
  for (const RunDevice& device : run.devices) {
    const std::uint64_t used = trace.counter(process, device.name + " used", true);
    const std::uint64_t limit = trace.counter(process, device.name + " budget", true);
    const std::uint64_t system = trace.counter(process, device.name + " by the system", true);
    std::map<std::string, std::uint64_t> tracks;
    std::map<std::string, Bytes> last;
    for (const RunMemory& memory : device.memory) {
      trace.count(used, memory.time, memory.used);
      if (memory.limit != kUnlimited) trace.count(limit, memory.time, memory.limit);
      if (memory.system != 0) trace.count(system, memory.time, memory.system);
      std::map<std::string, Bytes> now;
      for (const RunHeld& held : memory.held) now[run.holders[held.holder].tag] += held.bytes;
      for (const auto& [tag, bytes] : last) now.try_emplace(tag, 0);
      for (const auto& [tag, bytes] : now) {
        const auto [it, added] = tracks.try_emplace(tag, 0);
        if (added) it->second = trace.counter(process, device.name + " " + tag, true);
        const auto before = last.find(tag);
        if (before == last.end() || before->second != bytes) {
          trace.count(it->second, memory.time, bytes);
        }
      }
      last = std::move(now);
    }
  }
}

/// The ops of one step as the first plan has them, from where the run's first step began.
void add_plan(Trace& trace, std::uint64_t process, const Run& run) {
  if (run.plans.empty()) return;
  const RunPlan& plan = run.plans.front();
  const Json timeline = parsed(plan.timeline);
  const Json* const tasks = field(timeline, "tasks");
  const Json* const names = field(timeline, "names");
  if (tasks == nullptr || !tasks->is_array() || names == nullptr || !names->is_array()) return;
  const bool measured = plan.op_seconds.size() == tasks->size();
  const std::uint64_t track =
      trace.track(process, measured ? "ops of a step, as measured" : "ops of a step, as predicted");
  double at = run.steps.empty() ? plan.time : run.steps.front().time;
  const auto name_of = [&](const Json& row, std::size_t place) -> std::string {
    const std::int64_t index = row.size() > place ? count_or(&row[place], -1) : -1;
    if (index < 0 || static_cast<std::size_t>(index) >= names->size()) return "";
    const Json& name = (*names)[static_cast<std::size_t>(index)];
    return name.is_string() ? name.get<std::string>() : "";
  };
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    const Json& row = (*tasks)[i];
    if (!row.is_array() || row.size() < 3) continue;
    double seconds = number_or(&row[2], 0);
    if (measured && !std::isnan(plan.op_seconds[i])) seconds = plan.op_seconds[i];
    const std::string scope = name_of(row, 1);
    trace.slice(track, at, at + seconds, name_of(row, 0) + (scope.empty() ? "" : " " + scope));
    at += std::max(seconds, 0.0);
  }
}

}  // namespace

void write_perfetto(std::span<const Run> runs, const std::string& path) {
  Trace trace;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::uint64_t process = trace.process(runs[i].name, static_cast<std::int64_t>(i) + 1);
    add_steps(trace, process, runs[i]);
    add_events(trace, process, runs[i]);
    add_memory(trace, process, runs[i]);
    add_plan(trace, process, runs[i]);
  }
  write_file(path, trace.bytes());
}

}  // namespace plimsoll::report
