#include "report/run_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/run_log.h>

#include "report/reports_json.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kMostProblems = 100;
/// Beyond any run; what claims to be later is damaged.
constexpr double kLongestRun = 1e9;

}  // namespace

void RunReader::problem(std::int64_t line, std::string what) {
  ++run_.problem_count;
  if (run_.problems.size() < kMostProblems) run_.problems.push_back({line, std::move(what)});
}

void RunReader::read(std::string_view text, std::int64_t line) {
  line_ = line;
  if (text.empty()) return;
  const Json json = parsed(text);
  if (json.is_discarded() || !json.is_object()) {
    problem(line, "this is not a JSON object; the line is left out");
    return;
  }
  const std::string event = report::text(json, "event");
  const double time = number(json, "time");
  if (event.empty() || !(time >= 0 && time < kLongestRun)) {
    problem(line, fmt::format("it has no {}; the line is left out",
                              event.empty() ? "\"event\"" : "\"time\" that can be"));
    return;
  }
  if (event != "run") {
    time_ = offset_ + time;
    run_.seconds = std::max(run_.seconds, time_);
  }
  dispatch(event, json);
}

void RunReader::read_rest(std::string_view text, std::int64_t line) {
  if (text.empty()) return;
  if (parsed(text).is_object()) {
    read(text, line);
  } else {
    problem(line, "the last line is cut off");
  }
}

void RunReader::dispatch(const std::string& event, const Json& json) {
  if (event == "step") {
    read_step(json);
  } else if (event == "memory") {
    read_memory(json);
  } else if (event == "holder") {
    read_holder(json);
  } else if (event == "peak") {
    read_peak(json);
  } else if (event == "metric") {
    run_.metrics.push_back(
        {time_, count(json, "epoch"), text(json, "name"), number(json, "value")});
  } else if (event == "plan") {
    read_plan(json);
  } else if (event == "op_times") {
    read_op_times(json);
  } else if (event == "pipeline") {
    run_.pipelines[text(json, "name")] = dumped(json);
  } else if (event == "run") {
    read_run(json);
  } else if (event == "begin") {
    read_begin(json);
  } else if (event == "end") {
    read_end(json);
  } else if (event == "curve") {
    if (const Json* const points = field(json, "points"))
      run_.curve = dumped(checked_curve(*points));
  } else {
    if (event == "refused" || event == "failed") {
      ended_ = true;
      run_.state = event == "refused" ? RunState::refused : RunState::failed;
      run_.ending = text(json, "message");
      read_reports(json);
    }
    add_event(event, json);
  }
}

void RunReader::read_reports(const Json& json) {
  if (const Json* const report = field(json, "out_of_memory")) {
    run_.out_of_memory = dumped(checked_refusal(*report));
  }
  if (const Json* const report = field(json, "leak")) run_.leak = dumped(checked_leak(*report));
}

void RunReader::read_run(const Json& json) {
  const std::int64_t format = count(json, "format");
  if (format > RunLog::kFormat) {
    problem(line_, fmt::format("the log is of format {}, and this version reads {}; what it does "
                               "not know is left out",
                               format, RunLog::kFormat));
  }
  ids_.clear();
  const double began = number_or(field(json, "began"), 0);
  if (run_.about == "null") {
    run_.about = dumped(json);
    run_.format = format;
    run_.began = began;
  } else {
    // A part that goes on with the run: as if there had been no pause.
    const double pause = began - (run_.began + run_.seconds);
    offset_ = time_ = run_.seconds;
    ended_ = false;
    run_.state = RunState::killed;
    run_.ending.clear();
    run_.out_of_memory = run_.leak = "null";
    Json event = {{"event", "resumed"}};
    if (run_.began > 0 && pause > 0) event["pause"] = pause;
    add_event("resumed", event);
  }
  ++run_.parts;
  run_.pid = count(json, "pid");
  add_options(field(json, "options"));
  for (const char* name : {"model", "data"}) {
    if (const std::string value = text(json, name); !value.empty()) run_.options[name] = value;
  }
}

void RunReader::add_options(const Json* json) {
  if (json == nullptr || !json->is_object()) return;
  for (const auto& [name, value] : json->items()) {
    const Json& one = value.is_array() && value.size() == 1 ? value.front() : value;
    run_.options[name] = one.is_string() ? one.get<std::string>() : dumped(one);
  }
}

void RunReader::read_begin(const Json& json) {
  if (run_.begin == "null") run_.begin = dumped(json);
  if (run_.parts == 0) run_.parts = 1;  // the first version had no line "run"
  const std::int64_t step = count(json, "step");
  // Steps that are done again.
  std::erase_if(run_.steps, [&](const RunStep& each) { return each.step > step; });
  const std::int64_t epoch = count(json, "epoch", std::numeric_limits<std::int64_t>::max());
  std::erase_if(run_.metrics, [&](const RunMetric& each) { return each.epoch > epoch; });
  add_options(field(json, "settings"));
  if (const Bytes budget = size(json, "budget"); budget > 0) {
    run_.options["budget"] = format_bytes(budget);
  }
  if (const std::string name = text(json, "device"); !name.empty()) {
    run_.options["device"] = name;
    device(name);
  }
}

void RunReader::read_end(const Json& json) {
  ended_ = true;
  run_.end = dumped(json);
  run_.ending = text(json, "stopped");
  run_.state = run_.ending.empty() ? RunState::finished : RunState::stopped;
  add_event("end", json);
}

void RunReader::read_step(const Json& json) {
  RunStep step;
  step.time = time_;
  step.step = count(json, "step", -1);
  if (step.step < 0) return problem(line_, "a step without its number; the line is left out");
  step.steps = std::max<std::int64_t>(1, count(json, "steps", 1));
  step.epoch = count(json, "epoch");
  step.loss = number(json, "loss");
  step.loss_min = number_or(field(json, "loss_min"), step.loss);
  step.loss_max = number_or(field(json, "loss_max"), step.loss);
  step.accuracy = number(json, "accuracy");
  step.lr = number(json, "lr");
  step.seconds = number(json, "seconds");
  step.waited = number(json, "waited");
  step.elements = count(json, "elements");
  step.used = size(json, "used");
  run_.steps.push_back(step);
}

RunDevice& RunReader::device(const std::string& name) {
  const auto it = std::ranges::find(run_.devices, name, &RunDevice::name);
  if (it != run_.devices.end()) return *it;
  run_.devices.push_back({.name = name, .memory = {}, .peak = {}});
  return run_.devices.back();
}

void RunReader::read_holder(const Json& json) {
  const std::int64_t id = count(json, "id", -1);
  if (id < 0) return problem(line_, "a holder without its number; the line is left out");
  ids_[id] = add_holder(
      {text(json, "device"), text(json, "budget"), text(json, "tag"), text(json, "label")});
}

std::size_t RunReader::add_holder(const RunHolder& holder) {
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", holder.device, holder.budget, holder.tag, holder.label);
  const auto [it, added] = places_.try_emplace(key, run_.holders.size());
  if (added) run_.holders.push_back(holder);
  return it->second;
}

std::size_t RunReader::holder(std::int64_t id) {
  const auto known = ids_.find(id);
  if (known != ids_.end()) return known->second;
  if (missing_.insert(id).second) {
    problem(line_, fmt::format("the line that names holder {} is missing", id));
  }
  return ids_[id] = add_holder({"", "", "unknown", fmt::format("holder {}", id)});
}

std::vector<RunHeld> RunReader::held(const Json& json) {
  std::vector<RunHeld> all;
  const Json* const list = field(json, "holders");
  if (list == nullptr || !list->is_array()) return all;
  for (std::size_t i = 0; i + 1 < list->size(); i += 2) {
    const std::int64_t id = count_or(&(*list)[i], -1);
    const std::int64_t bytes = count_or(&(*list)[i + 1], 0);
    if (id >= 0 && bytes > 0) all.push_back({holder(id), static_cast<Bytes>(bytes)});
  }
  return all;
}

void RunReader::read_memory(const Json& json) {
  const std::string name = text(json, "device");
  if (name.empty()) return problem(line_, "memory of no device; the line is left out");
  RunMemory memory{.time = time_,
                   .used = size(json, "used"),
                   .limit = size(json, "limit"),
                   .peak = size(json, "peak"),
                   .system = size(json, "system"),
                   .held = held(json)};
  RunDevice& on = device(name);
  on.peak.used = std::max({on.peak.used, memory.peak, memory.used});
  on.memory.push_back(std::move(memory));
}

void RunReader::read_peak(const Json& json) {
  const std::string name = text(json, "device");
  if (name.empty()) return problem(line_, "the peak of no device; the line is left out");
  std::vector<RunHeld> now = held(json);
  const auto sum = [](const std::vector<RunHeld>& list) {
    double bytes = 0;
    for (const RunHeld& each : list) bytes += static_cast<double>(each.bytes);
    return bytes;
  };
  RunDevice& on = device(name);
  on.peak.used = std::max(on.peak.used, size(json, "charged"));
  if (sum(now) < sum(on.peak.held)) return;  // of a part of the run that held less
  on.peak.held = std::move(now);
  on.peak.time = time_;
}

void RunReader::read_plan(const Json& json) {
  const Json* const plan = field(json, "plan");
  const Json* const timeline = field(json, "timeline");
  if (plan == nullptr || !plan->is_object()) {
    return problem(line_, "a plan without its figures; the line is left out");
  }
  run_.plans.push_back(
      {.time = time_,
       .step = count(json, "step"),
       .why = text(json, "why"),
       .json = dumped(*plan),
       .timeline = timeline != nullptr && timeline->is_object() ? dumped(*timeline) : "null",
       .op_seconds = {}});
  if (run_.plans.size() > 1) {
    add_event("plan",
              Json{{"event", "plan"}, {"why", text(json, "why")}, {"step", count(json, "step")}});
  }
}

void RunReader::read_op_times(const Json& json) {
  const Json* const seconds = field(json, "seconds");
  if (run_.plans.empty() || seconds == nullptr || !seconds->is_array()) {
    return problem(line_, "op times without their plan; the line is left out");
  }
  std::vector<double>& times = run_.plans.back().op_seconds;
  times.clear();
  for (const Json& each : *seconds) {
    times.push_back(number_or(&each, std::numeric_limits<double>::quiet_NaN()));
  }
}

void RunReader::add_event(const std::string& event, const Json& json) {
  Json kept = json;
  kept.erase("out_of_memory");
  kept.erase("leak");
  run_.events.push_back({time_, event, dumped(kept)});
}

void RunReader::finish() {
  if (ended_ || run_.state == RunState::refused) return;
  run_.state = run_.parts == 0 && run_.steps.empty() ? RunState::empty : RunState::killed;
}

}  // namespace plimsoll::report
