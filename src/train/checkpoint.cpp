#include <plimsoll/train/checkpoint.h>

#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/version.h>
#include <plimsoll/nn/published_names.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/train/safetensors.h>

namespace plimsoll::train {
namespace {

constexpr const char* kStepKey = "plimsoll.step";
constexpr const char* kRateFactorKey = "plimsoll.rate_factor";

/// A tensor that is saved and loaded: its name in the file, and where it is.
struct Slot {
  std::string name;
  Tensor tensor;
  Tag tag;
  std::function<void(Tensor)> set;
};

std::string without_prefix(const std::string& name, const std::string& prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

void add_slot(std::vector<Slot>& slots, std::string name, const Variable& variable) {
  slots.push_back({std::move(name), variable.tensor(), variable.tag(),
                   [variable](Tensor tensor) { variable.set_tensor(std::move(tensor)); }});
}

void add_states(std::vector<Slot>& slots, const std::string& prefix,
                const std::vector<optim::State>& states) {
  for (const optim::State& state : states) add_slot(slots, prefix + state.name(), state);
}

std::vector<Slot> slots_of(const CheckpointParts& parts, const std::string& prefix) {
  std::vector<Slot> slots;
  if (parts.module != nullptr) {
    std::vector<nn::Parameter> all = parts.module->parameters();
    const std::vector<nn::Parameter> buffers = parts.module->buffers();
    all.insert(all.end(), buffers.begin(), buffers.end());
    for (const nn::Parameter& p : all) add_slot(slots, without_prefix(p.name(), prefix), p);
  }
  if (parts.optimizer != nullptr) add_states(slots, "optimizer.", parts.optimizer->state());
  if (parts.loss_scale != nullptr) add_states(slots, "loss_scale.", parts.loss_scale->state());
  return slots;
}

bool is_expected(const SafetensorsHeader::Entry& entry, const CheckpointParts& parts) {
  const std::string& name = entry.name;
  return nn::is_left_out(name, entry.type.shape) ||
         (parts.optimizer == nullptr && name.starts_with("optimizer.")) ||
         (parts.loss_scale == nullptr && name.starts_with("loss_scale."));
}

void check_names(const SafetensorsFile& file, const std::vector<Slot>& slots,
                 const CheckpointParts& parts, bool strict) {
  std::unordered_set<std::string> wanted;
  for (const Slot& slot : slots) {
    wanted.insert(slot.name);
    const TensorType& there = file.entry(slot.name).type;
    const TensorType here = slot.tensor.type();
    const bool converts = is_floating(there.dtype) && is_floating(here.dtype);
    if (there.shape != here.shape || (there.dtype != here.dtype && !converts)) {
      throw DataError(fmt::format("[load_checkpoint] {}: tensor '{}' is {}, but {} is needed",
                                  file.path(), slot.name, there.to_string(), here.to_string()));
    }
  }
  if (!strict) return;
  for (const SafetensorsHeader::Entry& entry : file.header().entries) {
    if (wanted.contains(entry.name) || is_expected(entry, parts)) continue;
    throw DataError(
        fmt::format("[load_checkpoint] {}: nothing is called '{}' here; load without "
                    "`strict` to leave it out",
                    file.path(), entry.name));
  }
}

/// What names of the module begin with and those of the file do not.
std::string prefix_of(const SafetensorsFile& file, const CheckpointParts& parts,
                      const LoadOptions& options) {
  if (!options.prefix.empty() || parts.module == nullptr) return options.prefix;
  std::unordered_set<std::string> there;
  for (const SafetensorsHeader::Entry& entry : file.header().entries) there.insert(entry.name);
  std::vector<std::string> names;
  for (const nn::Parameter& p : parts.module->parameters()) names.push_back(p.name());
  return std::string(
      nn::lacking_prefix(names, [&](const std::string& name) { return there.contains(name); }));
}

/// A number in metadata that may be anybody's, 0 or more; nullopt where there is none of ours.
template <typename Number>
std::optional<Number> number_of(const SafetensorsFile& file, const char* key, const char* what) {
  const auto it = file.header().metadata.find(key);
  if (it == file.header().metadata.end()) return std::nullopt;
  const std::string& text = it->second;
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(number >= 0 && number <= std::numeric_limits<Number>::max())) {
    throw DataError(fmt::format("[load_checkpoint] {}: {} is not {}", file.path(), key, what));
  }
  return number;
}

}  // namespace

void save_checkpoint(const std::string& path, const CheckpointParts& parts,
                     const std::map<std::string, std::string>& metadata) {
  std::vector<NamedTensor> tensors;
  for (Slot& slot : slots_of(parts, "")) {
    tensors.push_back({std::move(slot.name), std::move(slot.tensor)});
  }
  std::map<std::string, std::string> all = metadata;
  all.emplace("format", "pt");  // PyTorch's layout; its tools ask for this word
  all.emplace("plimsoll.version", version());
  if (parts.optimizer != nullptr) {
    all.insert_or_assign(kStepKey, std::to_string(parts.optimizer->step()));
    all.insert_or_assign(kRateFactorKey, fmt::format("{}", parts.optimizer->rate_factor()));
    all.insert_or_assign("plimsoll.optimizer", std::string(parts.optimizer->name()));
  }
  save_safetensors(path, tensors, all);
}

std::map<std::string, std::string> load_checkpoint(const std::string& path,
                                                   const CheckpointParts& parts,
                                                   const Device& device,
                                                   const LoadOptions& options) {
  const SafetensorsFile file(path);
  const std::vector<Slot> slots = slots_of(parts, prefix_of(file, parts, options));
  check_names(file, slots, parts, options.strict);
  const auto step = number_of<std::int64_t>(file, kStepKey, "a number of steps");
  const auto rate_factor = number_of<double>(file, kRateFactorKey, "a factor of the learning rate");

  std::vector<Tensor> targets;
  for (const Slot& slot : slots) {
    targets.push_back(slot.tensor.is_symbolic()
                          ? Tensor::empty(slot.tensor.shape(), slot.tensor.dtype(), device,
                                          {.tag = slot.tag, .label = slot.name})
                          : slot.tensor);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const TensorType& there = file.entry(slots[i].name).type;
    if (there == targets[i].type()) {
      file.read_into(slots[i].name, targets[i]);
      continue;
    }
    const Tensor raw =
        file.read(slots[i].name, targets[i].device(), {.tag = Tag::staging, .label = "checkpoint"});
    ops::assign(targets[i], ops::cast(raw, targets[i].dtype()));
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].tensor.is_symbolic()) slots[i].set(std::move(targets[i]));
  }
  if (parts.optimizer != nullptr) {
    // Without a step the rate is written again all the same: the file's may be another.
    parts.optimizer->set_step(step.value_or(parts.optimizer->step()));
    parts.optimizer->set_rate_factor(rate_factor.value_or(parts.optimizer->rate_factor()));
  }
  return file.header().metadata;
}

}  // namespace plimsoll::train
