#include "report/page_data.h"

#include <algorithm>
#include <set>

#include <plimsoll/base/version.h>

#include "report/json_fields.h"

namespace plimsoll::report {
namespace {

/// How many of each there may be, of all runs of a page together.
struct Most {
  std::size_t memory = 4500;
  std::size_t steps = 6000;
  std::size_t events = 2000;
  std::size_t metrics = 6000;
  bool timelines = false;  ///< of all plans

  static Most unlimited() {
    constexpr std::size_t kAll = std::size_t{1} << 60U;
    return {kAll, kAll, kAll, kAll, true};
  }
};
constexpr std::size_t kLongestText = 4000;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json size_or_null(Bytes bytes) { return bytes == kUnlimited ? Json() : Json(bytes); }

/// A text of the run's, cut where nobody would read on.
std::string shown(const std::string& text) {
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + " …";
}

Json held_list(const std::vector<RunHeld>& held) {
  Json list = Json::array();
  for (const RunHeld& each : held) {
    list.push_back(each.holder);
    list.push_back(each.bytes);
  }
  return list;
}

Json device_json(const RunDevice& device, std::size_t most) {
  Json time = Json::array();
  Json used = Json::array();
  Json limit = Json::array();
  Json system = Json::array();
  Json held = Json::array();
  for (const std::size_t i : thinned(device.memory, most)) {
    const RunMemory& each = device.memory[i];
    time.push_back(each.time);
    used.push_back(each.used);
    limit.push_back(size_or_null(each.limit));
    system.push_back(each.system);
    held.push_back(held_list(each.held));
  }
  return {{"name", shown(device.name)},
          {"samples", device.memory.size()},
          {"time", time},
          {"used", used},
          {"limit", limit},
          {"system", system},
          {"held", held},
          {"peak",
           {{"time", device.peak.time},
            {"used", device.peak.used},
            {"held", held_list(device.peak.held)}}}};
}

Json steps_json(const Run& run, std::size_t most) {
  Json all = {{"count", run.steps.size()}};
  for (const char* name : {"time", "step", "steps", "epoch", "loss", "loss_min", "loss_max",
                           "accuracy", "lr", "seconds", "waited", "elements", "used"}) {
    all[name] = Json::array();
  }
  for (const RunStep& step : thinned(run.steps, most)) {
    all["time"].push_back(step.time);
    all["step"].push_back(step.step);
    all["steps"].push_back(step.steps);
    all["epoch"].push_back(step.epoch);
    all["loss"].push_back(number_or_null(step.loss));
    all["loss_min"].push_back(number_or_null(step.loss_min));
    all["loss_max"].push_back(number_or_null(step.loss_max));
    all["accuracy"].push_back(number_or_null(step.accuracy));
    all["lr"].push_back(number_or_null(step.lr));
    all["seconds"].push_back(number_or_null(step.seconds));
    all["waited"].push_back(number_or_null(step.waited));
    all["elements"].push_back(step.elements);
    all["used"].push_back(step.used);
  }
  return all;
}

/// What happens every epoch gives way to what happens once.
Json events_json(const Run& run, std::size_t most) {
  static const std::set<std::string, std::less<>> kRegular = {"epoch", "validation", "checkpoint",
                                                              "skipped", "skipped_count"};
  std::size_t regular = 0;
  for (const RunEvent& event : run.events) regular += kRegular.contains(event.kind) ? 1 : 0;
  const std::size_t stride = 1 + regular / most;
  Json all = Json::array();
  std::size_t seen = 0;
  for (const RunEvent& event : run.events) {
    if (kRegular.contains(event.kind) && seen++ % stride != 0) continue;
    if (all.size() >= 2 * most) break;
    Json json = parsed(event.json);
    if (!json.is_object()) continue;
    for (auto& [name, value] : json.items()) {
      if (value.is_string()) value = shown(value.get<std::string>());
    }
    json["time"] = event.time;
    json["event"] = event.kind;
    all.push_back(std::move(json));
  }
  return all;
}

Json metrics_json(const Run& run, std::size_t most) {
  const auto stride = static_cast<std::int64_t>(1 + run.metrics.size() / most);
  const std::int64_t last = run.metrics.empty() ? 0 : run.metrics.back().epoch;
  std::map<std::string, std::pair<double, double>> extremes;
  for (const RunMetric& each : run.metrics) {
    const auto [it, added] = extremes.try_emplace(each.name, each.value, each.value);
    it->second.first = std::fmin(it->second.first, each.value);
    it->second.second = std::fmax(it->second.second, each.value);
  }
  Json all = Json::array();
  for (const RunMetric& each : run.metrics) {
    const auto& [least, largest] = extremes[each.name];
    if (each.epoch % stride != 0 && each.epoch != last && each.value != least &&
        each.value != largest) {
      continue;
    }
    all.push_back({each.time, each.epoch, shown(each.name), number_or_null(each.value)});
  }
  return all;
}

Json plans_json(const Run& run, bool timelines) {
  Json all = Json::array();
  for (std::size_t i = 0; i < run.plans.size(); ++i) {
    const RunPlan& plan = run.plans[i];
    // Timelines are large: the first, and the last ones.
    const bool whole = timelines || i == 0 || i + 3 >= run.plans.size();
    Json seconds = Json::array();
    for (const double each : plan.op_seconds) seconds.push_back(number_or_null(each));
    all.push_back({{"time", plan.time},
                   {"step", plan.step},
                   {"why", shown(plan.why)},
                   {"plan", parsed(plan.json)},
                   {"timeline", whole ? parsed(plan.timeline) : Json()},
                   {"op_seconds", seconds}});
  }
  return all;
}

Json run_json(const Run& run, const Most& most, std::size_t runs) {
  Json holders = Json::array();
  for (const RunHolder& each : run.holders) {
    holders.push_back({shown(each.device), shown(each.budget), shown(each.tag), shown(each.label)});
  }
  Json devices = Json::array();
  for (const RunDevice& device : run.devices) {
    devices.push_back(device_json(device, most.memory / runs / run.devices.size()));
  }
  Json problems = Json::array();
  for (const RunProblem& each : run.problems) problems.push_back({each.line, shown(each.what)});
  Json pipelines = Json::array();
  for (const auto& [name, line] : run.pipelines) pipelines.push_back(parsed(line));
  Json options = Json::object();
  for (const auto& [name, value] : run.options) options[shown(name)] = shown(value);
  return {{"name", shown(run.name)},
          {"path", shown(run.path)},
          {"format", run.format},
          {"state", state_name(run.state)},
          {"ending", shown(run.ending)},
          {"verdict", shown(run.verdict())},
          {"about", parsed(run.about)},
          {"begin", parsed(run.begin)},
          {"end", parsed(run.end)},
          {"out_of_memory", parsed(run.out_of_memory)},
          {"leak", parsed(run.leak)},
          {"curve", parsed(run.curve)},
          {"options", options},
          {"began", run.began},
          {"seconds", run.seconds},
          {"parts", run.parts},
          {"earlier", run.earlier},
          {"holders", holders},
          {"devices", devices},
          {"steps", steps_json(run, std::max<std::size_t>(2, most.steps / runs))},
          {"metrics", metrics_json(run, std::max<std::size_t>(2, most.metrics / runs))},
          {"events", events_json(run, std::max<std::size_t>(2, most.events / runs))},
          {"event_count", run.events.size()},
          {"plans", plans_json(run, most.timelines)},
          {"pipelines", pipelines},
          {"problems", problems},
          {"problem_count", run.problem_count}};
}

/// "<" could end the script element or begin a comment in it; the two separators end a line of
/// JavaScript in old engines.
std::string script_safe(const std::string& json) {
  std::string safe;
  safe.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else if (json.compare(i, 3, "\xE2\x80\xA8") == 0 || json.compare(i, 3, "\xE2\x80\xA9") == 0) {
      safe += json[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string page_data(std::span<const Run> runs, const PageDataOptions& options) {
  const Most most = options.thin ? Most() : Most::unlimited();
  Json all = Json::array();
  for (const Run& run : runs) all.push_back(run_json(run, most, runs.size()));
  return script_safe(
      dumped({{"plimsoll", version()}, {"live", options.live}, {"runs", std::move(all)}}));
}

}  // namespace plimsoll::report
