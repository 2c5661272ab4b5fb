#include <plimsoll/train/training_plan.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/text.h>
#include <plimsoll/plan/generated_kernels.h>
#include <plimsoll/plan/slow_tasks.h>

#include "train/layout.h"

namespace plimsoll::train {
namespace {

/// The plan that a phase's peak is in.
const plan::Plan& largest(const Phase& phase) {
  return **std::max_element(phase.steps.begin(), phase.steps.end(),
                            [](const auto& a, const auto& b) { return a->range < b->range; });
}

const char* kind_name(Phase::Kind kind) {
  return kind == Phase::Kind::train ? "training" : "validation";
}

}  // namespace

Bytes Phase::range() const {
  Bytes most = 0;
  for (const auto& step : steps) most = std::max(most, step->range);
  return most;
}

Bytes Phase::host() const {
  Bytes most = 0;
  for (const auto& step : steps) most = std::max(most, step->host);
  return most;
}

double Phase::seconds() const {
  double sum = 0;
  for (std::int64_t part = 0; part < parts; ++part) sum += step(part).seconds;
  return sum;
}

const plan::Plan& Phase::step(std::int64_t part) const {
  if (part == 0) return *steps.front();
  return part + 1 == parts ? *steps.back() : *steps[1];
}

Bytes TrainingPlan::planned_peak() const {
  Bytes bytes =
      align_up(outputs, kAlignment) + align_up(workspace, kAlignment) + align_up(range, kAlignment);
  for (const PackedBlock& block : blocks) bytes += align_up(block.bytes, kAlignment);
  return bytes;
}

const Phase* TrainingPlan::find(Phase::Kind kind, std::int64_t batch) const {
  const auto it = std::find_if(phases.begin(), phases.end(), [&](const Phase& phase) {
    return phase.kind == kind && phase.batch == batch;
  });
  return it == phases.end() ? nullptr : &*it;
}

std::map<Tag, Bytes> TrainingPlan::at_peak() const {
  std::map<Tag, Bytes> all = largest(phases.front()).at_peak;
  all[Tag::parameters] = all[Tag::optimizer] = 0;
  for (const PackedBlock& block : blocks) {
    if (block.tag != Tag::gradients) all[block.tag] += block.bytes;
  }
  all[Tag::user] = outputs;
  all[Tag::runtime] = runtime + heap;
  std::erase_if(all, [](const auto& each) { return each.second == 0; });
  return all;
}

std::string TrainingPlan::explain() const {
  std::string text = budget == kUnlimited ? fmt::format("takes {}\n", format_bytes(total()))
                                          : fmt::format("fits: {} of {}\n", format_bytes(total()),
                                                        format_bytes(budget));
  const auto add = [&](const std::string& line, std::size_t indent) {
    text += wrapped(line, indent) + "\n";
  };
  std::string held;
  const auto hold = [&](std::string_view what, Bytes bytes) {
    held += fmt::format("{}{} {}", held.empty() ? "  " : ", ", what, format_bytes(bytes));
  };
  for (const auto& [tag, bytes] : at_peak()) hold(tag_name(tag), bytes);
  if (input != 0) hold("input pipelines", input);
  if (others != 0) hold("others", others);
  add(held, 2);
  for (const Phase& phase : phases) {
    const plan::Plan& step = largest(phase);
    add(fmt::format("  {} with {}: {} for a step, {} predicted{}", kind_name(phase.kind),
                    phase.batch, format_bytes(phase.range()), format_duration(phase.seconds()),
                    phase.parts == 1 ? ""
                                     : fmt::format("; split into {} x {}, equal up to rounding",
                                                   phase.parts, phase.batch / phase.parts)),
        4);
    for (const plan::Measure& measure : step.measures) {
      add(fmt::format("    {} (saves {}, +{:.1f}% time)", measure.what, format_bytes(measure.saved),
                      step.kept_seconds > 0 ? measure.seconds / step.kept_seconds * 100 : 0.0),
          6);
    }
    for (const std::string& line : plan::generated_lines(step)) add("    " + line, 6);
    for (const plan::SlowTasks& slow : plan::slow_tasks(step)) {
      add("    slow: " + slow.to_string(), 6);
    }
  }
  if (pinned() != 0) {
    add(fmt::format("  in pinned host memory: {} of optimizer state, {} of activations",
                    format_bytes(away.bytes), format_bytes(host)),
        4);
  }
  add(fmt::format("  planned peak {} ({}); {} in pages of {}", format_bytes(planned_peak()),
                  counted(static_cast<std::int64_t>(planned_peak()), "byte"), format_bytes(charged),
                  format_bytes(page_size)),
      4);
  add(fmt::format("  without recomputation or reuse of memory the peak would be {}",
                  format_bytes(unconstrained_peak)),
      4);
  if (lent != 0) {
    add(fmt::format("  {} is free, and lent to the input pipelines until it is needed",
                    format_bytes(lent)),
        4);
  }
  if (const std::string note = runtime_note(device); !note.empty()) add("  note: " + note, 4);
  return text;
}

std::string TrainingPlan::to_json() const {
  using PlanJson = nlohmann::ordered_json;
  PlanJson json;
  json["device"] = device.name;
  json["budget"] = budget == kUnlimited ? PlanJson() : PlanJson(budget);
  json["total"] = total();
  json["planned_peak"] = planned_peak();
  json["charged"] = charged;
  json["unconstrained_peak"] = unconstrained_peak;
  json["unconstrained_kept"] = unconstrained_kept;
  json["range"] = range;
  json["outputs"] = outputs;
  json["workspace"] = workspace;
  json["runtime"] = runtime;
  json["usage"] = usage_name(device.usage);
  const std::string note = runtime_note(device);
  json["note"] = note.empty() ? PlanJson() : PlanJson(note);
  json["heap"] = heap;
  json["input"] = input;
  json["lent"] = lent;
  json["others"] = others;
  json["pinned"] = pinned();
  json["batch"] = batch();
  json["parts"] = parts();
  json["seconds"] = phases.front().seconds();
  for (const PackedBlock& block : blocks) {
    json["persistent"][std::string(tag_name(block.tag))] = block.bytes;
  }
  for (const auto& [tag, bytes] : at_peak()) json["at_peak"][std::string(tag_name(tag))] = bytes;
  json["phases"] = PlanJson::array();
  for (const Phase& phase : phases) {
    PlanJson each = {{"kind", kind_name(phase.kind)},
                     {"batch", phase.batch},
                     {"parts", phase.parts},
                     {"range", phase.range()},
                     {"lower_bound", largest(phase).lower_bound},
                     {"seconds", phase.seconds()},
                     {"measures", PlanJson::array()},
                     {"generated", PlanJson::array()},
                     {"slow", PlanJson::array()}};
    for (const plan::GeneratedKernels& kernels : plan::generated_kernels(largest(phase))) {
      each["generated"].push_back({{"kernels", kernels.count},
                                   {"ops", kernels.ops},
                                   {"bytes", kernels.bytes},
                                   {"bytes_apart", kernels.apart_bytes},
                                   {"seconds", kernels.seconds},
                                   {"seconds_apart", kernels.apart_seconds}});
    }
    for (const plan::SlowTasks& slow : plan::slow_tasks(largest(phase))) {
      each["slow"].push_back({{"op", slow.op},
                              {"tasks", slow.count},
                              {"seconds", slow.seconds},
                              {"reason", slow.reason},
                              {"remedy", slow.remedy}});
    }
    for (const plan::Measure& measure : largest(phase).measures) {
      each["measures"].push_back(
          {{"what", measure.what}, {"saved", measure.saved}, {"seconds", measure.seconds}});
    }
    json["phases"].push_back(std::move(each));
  }
  return json.dump();
}

}  // namespace plimsoll::train
