// What a trainer learns from datasets: types and sizes of batches, and what decoding takes.

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/batch_sizes.h>
#include <plimsoll/data/needs.h>
#include <plimsoll/device/default_device.h>

#include "train/step_runner.h"
#include "train/trainer_impl.h"

namespace plimsoll::train {
namespace {

/// Memory and checkpoints know values by their names.
void refuse_same_names(const nn::Module& model) {
  std::set<std::string> names;
  for (const auto& all : {model.parameters(), model.buffers()}) {
    for (const nn::Parameter& each : all) {
      if (names.insert(each.name()).second) continue;
      throw InvalidArgument(
          fmt::format("[Trainer] two parameters of the model are called '{}'; if one is shared "
                      "with another module, that module must be part of the model",
                      each.name()));
    }
  }
}

/// What the first batch is, by making it.
data::ElementSpec first_of(const data::Dataset& dataset, const Device& host) {
  data::Pipeline pipeline(dataset, host, {.name = "first batch"});
  const std::optional<data::Element> element = pipeline.next();
  if (!element) throw InvalidArgument("[Trainer] the dataset has no elements");
  data::ElementSpec spec;
  for (const data::Value& value : *element) spec.components.push_back(data::TensorSpec::of(value));
  spec.names = dataset.element_spec().names;
  return spec;
}

/// True if all extents but the first are known.
bool tells_types(const data::ElementSpec& spec) {
  return spec.known && std::ranges::all_of(spec.components, [](const data::TensorSpec& each) {
           return each.dims && !each.dims->empty() &&
                  std::all_of(each.dims->begin() + 1, each.dims->end(),
                              [](std::int64_t extent) { return extent >= 0; });
         });
}

std::size_t component(const data::ElementSpec& spec, const std::string& name) {
  std::size_t place = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), place);
  if (error != std::errc() || end != name.data() + name.size()) return spec.index(name);
  if (place >= spec.components.size()) {
    throw InvalidArgument(
        fmt::format("[Trainer] there is no component {}; elements are {}", name, spec.to_string()));
  }
  return place;
}

TensorType of_size(TensorType type, std::int64_t n) {
  std::vector<std::int64_t> dims(type.shape.begin(), type.shape.end());
  dims.front() = n;
  return {type.dtype, Shape(std::span<const std::int64_t>(dims))};
}

TensorType of_one(const data::TensorSpec& spec) {
  std::vector<std::int64_t> dims = *spec.dims;
  dims.front() = 1;
  return {spec.dtype, Shape(std::span<const std::int64_t>(dims))};
}

/// True if the second of two components has a distribution over the classes for each of the labels
/// that a model takes: what MixUp and CutMix make.
bool gives_distributions(const data::ElementSpec& spec, const std::vector<TensorType>& own) {
  if (own.size() != 2 || spec.components.size() != 2 || !tells_types(spec)) return false;
  const data::TensorSpec& target = spec.components[1];
  const TensorType& labels = own[1];
  const std::vector<std::int64_t>& dims = *target.dims;
  bool fits = !is_floating(labels.dtype) && is_floating(target.dtype) &&
              static_cast<int>(dims.size()) == labels.shape.rank() + 1;
  for (int d = 1; fits && d < labels.shape.rank(); ++d) {
    fits = dims[static_cast<std::size_t>(d)] == labels.shape[d];
  }
  return fits;
}

/// All components have the batch in front.
void require_batch(const data::ElementSpec& spec, const std::vector<std::size_t>& used) {
  const auto front = [&](std::size_t i) { return spec.components[i].dims->front(); };
  for (const std::size_t i : used) {
    if (front(i) < 0 || front(used.front()) < 0 || front(i) == front(used.front())) continue;
    throw InvalidArgument(fmt::format(
        "[Trainer] elements are {}: the first dimension of every component is the batch, but "
        "components {} and {} have {} and {} there; where an element is one example (a graph, "
        "say), "
        "batch it: dataset.batch(1), and take x[0] in the model",
        spec.to_string(), used.front(), i, front(used.front()), front(i)));
  }
}

}  // namespace

Device Trainer::Impl::device() const {
  return options.device ? *options.device : DefaultDevice::get();
}

Batch Trainer::Impl::batch(std::int64_t n) const {
  Batch result;
  if (!inputs.empty()) {
    for (const TensorType& type : inputs) result.inputs.push_back(of_size(type, n));
    for (const TensorType& type : targets) result.targets.push_back(of_size(type, n));
    return result;
  }
  result.inputs = model.batch_types(n);
  if (result.inputs.size() < 2) {
    throw InvalidArgument(
        "[Trainer] the model does not say what a batch is; plan from a dataset, which does: "
        "plan(train)");
  }
  result.targets.push_back(result.inputs.back());
  result.inputs.pop_back();
  return result;
}

void Trainer::Impl::learn(const data::Dataset& dataset, const Device& host) {
  if (!inputs.empty()) return;
  data::ElementSpec spec = dataset.element_spec();
  const std::vector<TensorType> own = model.batch_types(1);
  if (!own.empty() && !gives_distributions(spec, own)) return;
  if (!tells_types(spec)) spec = first_of(dataset, host);
  if (!tells_types(spec) || spec.components.size() < 2) {
    const bool unbatched = std::ranges::any_of(spec.components, [](const data::TensorSpec& each) {
      return each.dims && each.dims->empty();
    });
    throw InvalidArgument(
        fmt::format("[Trainer] elements are {}; training needs batches of (input, target){}",
                    spec.to_string(), unbatched ? ": dataset.batch(32)" : ""));
  }
  std::vector<std::size_t> to;
  for (const std::string& name : options.targets) to.push_back(component(spec, name));
  if (to.empty()) to.push_back(spec.components.size() - 1);
  std::vector<std::size_t> from;
  for (const std::string& name : options.inputs) from.push_back(component(spec, name));
  for (std::size_t i = 0; options.inputs.empty() && i < spec.components.size(); ++i) {
    if (std::ranges::find(to, i) == to.end()) from.push_back(i);
  }
  if (from.empty()) {
    throw InvalidArgument(
        fmt::format("[Trainer] elements are {}; nothing is left to feed", spec.to_string()));
  }
  std::vector<std::size_t> used = from;
  used.insert(used.end(), to.begin(), to.end());
  require_batch(spec, used);
  std::vector<TensorType> fed;
  std::vector<TensorType> compared;
  for (const std::size_t i : from) fed.push_back(of_one(spec.components[i]));
  for (const std::size_t i : to) compared.push_back(of_one(spec.components[i]));
  components = std::move(used);
  inputs = std::move(fed);
  targets = std::move(compared);
  try {
    prepare();
  } catch (...) {
    inputs.clear();
    targets.clear();
    components.clear();
    throw;
  }
}

void Trainer::Impl::prepare() {
  if (!gradients.empty()) return;
  model.build(batch(1).inputs);
  refuse_same_names(model);
  // Whoever loads its state before the first plan has attached it.
  if (optimizer.parameters().empty()) optimizer.attach(model);
  const auto declare = [&](Tag tag) {
    std::vector<optim::State> states;
    for (const Variable& p : optimizer.parameters()) {
      states.push_back(Variable::declare({DType::f32, p.type().shape},
                                         {.name = p.name(), .trainable = false, .tag = tag}));
    }
    return states;
  };
  gradients = declare(Tag::gradients);
  if (options.moving_average > 0) average = declare(Tag::parameters);
}

nn::Tensors Trainer::Impl::feeds_of(const data::Element& element, bool with_targets) const {
  std::vector<std::size_t> wanted = components;
  const std::size_t fed = inputs.empty() ? 1 : inputs.size();
  if (wanted.empty()) wanted = {0, 1};
  if (!with_targets) wanted.resize(std::min(fed, wanted.size()));
  nn::Tensors feeds;
  const bool counts = !components.empty() || !with_targets || element.size() == 2;
  for (const std::size_t i : wanted) {
    if (!counts || i >= element.size() || element[i].is_scalar() ||
        element[i].tensor().rank() < 1) {
      throw InvalidArgument(fmt::format(
          "[fit] elements are {}; training needs batches of (input, target)", element.to_string()));
    }
    feeds.push_back(element[i].tensor());
  }
  return feeds;
}

void Trainer::check(const data::ElementSpec& spec) const {
  if (!spec.known) return;
  const Batch one = impl_->batch(1);
  std::vector<TensorType> types = one.inputs;
  types.insert(types.end(), one.targets.begin(), one.targets.end());
  std::vector<data::TensorSpec> wanted;
  std::string wants;
  for (const TensorType& type : types) {
    wanted.push_back(
        data::TensorSpec::of(type.dtype, type.shape).unbatched().batched(data::kAnyExtent));
    wants += (wants.empty() ? "" : ", ") + wanted.back().to_string();
  }
  // Whatever a spec leaves open may turn out to be right.
  const auto may_be = [](const data::TensorSpec& has, const data::TensorSpec& is) {
    if (has.dtype != is.dtype) return false;
    if (!has.dims) return true;
    return std::ranges::equal(*has.dims, *is.dims, [](std::int64_t a, std::int64_t b) {
      return a == b || a == data::kAnyExtent || b == data::kAnyExtent;
    });
  };
  std::vector<std::size_t> places = impl_->components;
  const bool counts = !places.empty() || spec.components.size() == types.size();
  if (places.empty()) places = {0, 1};
  bool fits = counts && places.size() == wanted.size();
  for (std::size_t i = 0; fits && i < places.size(); ++i) {
    fits = places[i] < spec.components.size() && may_be(spec.components[places[i]], wanted[i]);
  }
  if (fits) return;
  throw InvalidArgument(fmt::format(
      "[Trainer] elements are {}; training needs batches of (input, target), and the model wants "
      "({})",
      spec.to_string(), wants));
}

TrainingPlan Trainer::plan(const data::Dataset& train,
                           const std::optional<data::Dataset>& validation,
                           const PlanRequest& given) const {
  const Device device = impl_->device();
  const Device host = host_of("plan", device, given.host);
  impl_->prediction.reset();  // its memory is for training now
  impl_->learn(train, host);
  check(train.element_spec());
  if (validation) check(validation->element_spec());
  PlanRequest request = given;
  const auto sizes_of = [&](const data::Dataset& dataset, const char* what) {
    data::BatchSizes sizes = data::batch_sizes(dataset);
    if (sizes.full == 0) sizes.full = first_of(dataset, host).components.front().dims->front();
    if (sizes.full < 1) {
      throw InvalidArgument(
          fmt::format("[plan] the {} dataset has no batches; use .batch(n)", what));
    }
    return sizes;
  };
  if (request.batch == 0) {
    const data::BatchSizes sizes = sizes_of(train, "training");
    const bool only_one = train.cardinality() == 1 && sizes.remainder > 0;
    request.batch = only_one ? sizes.remainder : sizes.full;
    if (sizes.remainder > 0 && !only_one) request.remainders = {sizes.remainder};
  }
  if (validation && request.validation_batch == 0) {
    const data::BatchSizes sizes = sizes_of(*validation, "validation");
    const bool only_one = validation->cardinality() == 1 && sizes.remainder > 0;
    request.validation_batch = only_one ? sizes.remainder : sizes.full;
    if (sizes.remainder > 0 && !only_one) request.validation_remainders = {sizes.remainder};
  }
  if (request.decode == 0) {
    const auto needs = [&](const data::Dataset& dataset) {
      const data::DecodeNeeds found = data::decode_needs(dataset);
      if (found.largest > request.decode) {
        request.decode = found.largest;
        request.decode_file = found.largest_file;
      }
    };
    needs(train);
    if (validation) needs(*validation);
  }
  return plan(request, device);
}

}  // namespace plimsoll::train
