#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/text.h>
#include <plimsoll/plan/generated_kernels.h>
#include <plimsoll/plan/plan.h>
#include <plimsoll/plan/slow_tasks.h>

namespace plimsoll::plan {
namespace {

/// Tensors that the trace captured, the largest first.
std::vector<const graph::Value*> constants_of(const graph::Graph& graph) {
  std::vector<bool> read(graph.values().size());
  for (const graph::Node& node : graph.nodes()) {
    for (const graph::ValueId input : node.inputs) read[static_cast<std::size_t>(input)] = true;
  }
  std::vector<const graph::Value*> all;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] && graph.values()[i].role == graph::Role::constant) {
      all.push_back(&graph.values()[i]);
    }
  }
  std::ranges::stable_sort(all, std::greater<>(),
                           [](const graph::Value* value) { return value->type.bytes(); });
  return all;
}

}  // namespace

Bytes Plan::total() const {
  const Bytes page = device.page_size == 0 ? 1 : device.page_size;
  return (arena_bytes() + page - 1) / page * page + runtime;
}

std::string Plan::explain() const {
  std::string text = budget == kUnlimited ? fmt::format("takes {}\n", format_bytes(total()))
                                          : fmt::format("fits: {} of {}\n", format_bytes(total()),
                                                        format_bytes(budget));
  const auto add = [&](const std::string& line, std::size_t indent) {
    text += wrapped(line, indent) + "\n";
  };
  std::string held;
  for (const auto& [tag, bytes] : at_peak) {
    if (bytes == 0) continue;
    held += fmt::format("{}{} {}", held.empty() ? "  " : ", ", tag_name(tag), format_bytes(bytes));
  }
  add(held, 2);
  for (const Measure& measure : measures) {
    add(fmt::format("  {} (saves {}, +{:.1f}% time)", measure.what, format_bytes(measure.saved),
                    kept_seconds > 0 ? measure.seconds / kept_seconds * 100 : 0.0),
        4);
  }
  for (const graph::Value* constant : constants_of(*graph)) {
    text += fmt::format("  constant {}, {}: {}, captured by the trace\n", constant->name,
                        constant->type.to_string(), format_bytes(constant->type.bytes()));
  }
  const double gap =
      lower_bound == 0 ? 0 : (static_cast<double>(range) / static_cast<double>(lower_bound) - 1);
  add(fmt::format("  {}, {} predicted; placed {:.2f}% above the lower bound",
                  counted(static_cast<std::int64_t>(tasks.size()), "task"),
                  format_duration(seconds), gap * 100),
      4);
  if (tf32_saves > 0.05 * seconds) {
    add(fmt::format("  with the precision tf32 instead of f32: {} predicted",
                    format_duration(seconds - tf32_saves)),
        4);
  }
  if (unconstrained_peak != 0) {
    add(fmt::format("  without recomputation or reuse of memory the peak would be {}",
                    format_bytes(unconstrained_peak)),
        4);
  }
  for (const std::string& line : generated_lines(*this)) add("  " + line, 4);
  for (const SlowTasks& slow : slow_tasks(*this)) add("  slow: " + slow.to_string(), 4);
  if (const std::string note = runtime_note(device); !note.empty()) add("  note: " + note, 4);
  return text;
}

std::string Plan::to_json() const {
  nlohmann::json json;
  json["device"] = device.name;
  json["budget"] = budget == kUnlimited ? nlohmann::json() : nlohmann::json(budget);
  json["total"] = total();
  json["arena"] = arena_bytes();
  json["range"] = range;
  json["lower_bound"] = lower_bound;
  json["persistent"] = persistent;
  json["workspace"] = workspace;
  json["runtime"] = runtime;
  json["usage"] = usage_name(device.usage);
  const std::string note = runtime_note(device);
  json["note"] = note.empty() ? nlohmann::json() : nlohmann::json(note);
  json["host"] = host;
  json["away"] = away;
  json["unconstrained_peak"] = unconstrained_peak;
  json["seconds"] = seconds;
  json["seconds_unconstrained"] = kept_seconds;
  json["seconds_waiting"] = wait_seconds;
  json["seconds_tf32"] = tf32_saves > 0 ? nlohmann::json(seconds - tf32_saves) : nlohmann::json();
  json["tasks"] = tasks.size();
  json["copies"] = copies.size();
  for (const auto& [tag, bytes] : at_peak) json["at_peak"][std::string(tag_name(tag))] = bytes;
  json["constants"] = nlohmann::json::array();
  for (const graph::Value* constant : constants_of(*graph)) {
    json["constants"].push_back({{"name", constant->name}, {"bytes", constant->type.bytes()}});
  }
  json["measures"] = nlohmann::json::array();
  for (const Measure& measure : measures) {
    json["measures"].push_back(
        {{"what", measure.what}, {"saved", measure.saved}, {"seconds", measure.seconds}});
  }
  json["generated"] = nlohmann::json::array();
  for (const GeneratedKernels& kernels : generated_kernels(*this)) {
    json["generated"].push_back({{"kernels", kernels.count},
                                 {"ops", kernels.ops},
                                 {"elements", kernels.elements},
                                 {"bytes", kernels.bytes},
                                 {"bytes_apart", kernels.apart_bytes},
                                 {"seconds", kernels.seconds},
                                 {"seconds_apart", kernels.apart_seconds}});
  }
  json["slow"] = nlohmann::json::array();
  for (const SlowTasks& slow : slow_tasks(*this)) {
    json["slow"].push_back({{"op", slow.op},
                            {"tasks", slow.count},
                            {"seconds", slow.seconds},
                            {"reason", slow.reason},
                            {"remedy", slow.remedy}});
  }
  return json.dump();
}

}  // namespace plimsoll::plan
