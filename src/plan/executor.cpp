#include <plimsoll/plan/executor.h>

#include <algorithm>
#include <deque>
#include <set>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/device/choice_table.h>
#include <plimsoll/device/owned_stream.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/kernel_alignment.h>

#include "plan/copy_queues.h"
#include "plan/fused_launches.h"
#include "plan/generated_launches.h"
#include "plan/pointwise_groups.h"
#include "plan/range_check.h"
#include "plan/step_model.h"

namespace plimsoll::plan {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;

namespace {

/// Steps whose foreign feeds are kept before the host waits for the first of them.
constexpr std::size_t kFeedsHeld = 3;

}  // namespace

struct Executor::State {
  /// A task ready to run: nothing is looked up or allocated any more.
  struct Launch {
    const ops::Kernel* kernel;
    const Node* node;
    std::shared_ptr<const ops::KernelState> prepared;
    std::vector<ops::TensorView> inputs;
    std::vector<ops::TensorView> outputs;
    void* workspace;
  };

  /// Tensors that are read until the fence.
  struct Fed {
    std::shared_ptr<Fence> fence;
    std::vector<Tensor> tensors;
  };

  /// Several launches as one.
  struct Fused {
    FusedLaunch tasks;
    decltype(ops::FusedKernel::run) run;
  };

  State(const Plan& p, const Device& d, const ExecutorOptions& o)
      : plan(p),
        device(d),
        stream(stream_of(o.stream)),
        bind(o.bind),
        generate(o.fuse && !o.check) {
    range = given(o.range, plan.range, Tag::activations, "plan");
    slot = given(o.workspace, plan.workspace, Tag::workspace, "plan");
  }

  /// The one that is given, or one of its own.
  StreamId stream_of(const std::optional<StreamId>& from_caller) {
    return from_caller ? *from_caller : own.emplace_back(device).id();
  }

  /// Memory of an arena's is told that the stream uses it, so that closing the session waits.
  void used(const std::shared_ptr<Storage>& storage) const {
    if (const Block& block = storage->block()) block.record_use(stream);
  }

  std::shared_ptr<Storage> given(const std::shared_ptr<Storage>& storage, Bytes bytes, Tag tag,
                                 const char* label) const {
    if (storage == nullptr) {
      auto taken = Storage::allocate(device, bytes, tag, label);
      used(taken);
      return taken;
    }
    if (storage->size() < bytes) {
      throw InvalidArgument(fmt::format("[Executor] {} for {} takes {}, but {} are given", label,
                                        tag_name(tag), format_bytes(bytes),
                                        format_bytes(storage->size())));
    }
    used(storage);
    return storage;
  }

  std::byte* at(Bytes offset) { return static_cast<std::byte*>(range->data()) + offset; }

  ops::TensorView view(const Place& place) {
    const Value& value = plan.graph->value(place.value);
    if (!place.persistent) return {at(place.offset), value.type};
    Tensor tensor = bound(value);
    if (tensor.device() != device) {
      throw InvalidArgument(fmt::format("[Executor] {} is on {}, the plan runs on {}", value.name,
                                        tensor.device().name(), device.name()));
    }
    if (!ops::suits_kernels(tensor)) {
      throw InvalidArgument(fmt::format(
          "[Executor] {} does not begin at a multiple of {} bytes; bind a clone() of it",
          value.name, tensor.device().capabilities().kernel_alignment));
    }
    used(tensor.storage());
    return {const_cast<void*>(tensor.raw_data()), value.type};
  }

  /// The dense tensor that a value's memory is bound to.
  Tensor bound(const Value& value) const {
    const Value& root = plan.graph->value(value.memory);
    Tensor tensor = bind ? bind(root) : Tensor();
    if (!tensor.defined()) tensor = root.tensor;
    if (!tensor.defined() || tensor.is_symbolic()) {
      throw InvalidArgument(fmt::format(
          "[Executor] {} ({}) has no values; materialize() it, or make what it belongs to part of "
          "the module that is trained",
          value.name.empty() ? "a persistent value" : value.name, value.type.to_string()));
    }
    if (!tensor.is_contiguous()) {
      throw InvalidArgument(
          fmt::format("[Executor] {} has gaps between its elements; bind a dense one", value.name));
    }
    return tensor;
  }

  void make_copies(const ExecutorOptions& o) {
    if (plan.copies.empty()) return;
    if (plan.host != 0 && (o.host == nullptr || o.host->size() < plan.host)) {
      throw InvalidArgument(fmt::format(
          "[Executor] the plan puts {} into the host's memory, but {} are given",
          format_bytes(plan.host), format_bytes(o.host == nullptr ? 0 : o.host->size())));
    }
    host = o.host;
    std::vector<CopyQueues::Copy> all;
    for (const PlannedCopy& copy : plan.copies) {
      const Value& value = plan.graph->value(copy.place.value);
      CopyQueues::Copy made{.out = copy.out,
                            .device = at(copy.place.offset),
                            .bytes = value.type.bytes(),
                            .begins = copy.begins,
                            .needed = copy.needed};
      if (copy.state) {
        Tensor home = bound(value);
        if (!home.storage()->host_accessible()) {
          throw InvalidArgument(fmt::format(
              "[Executor] {} is on {}, but the plan has it in the host's memory between steps",
              value.name, home.device().name()));
        }
        made.host = home.raw_mutable_data();
      } else {
        made.host = static_cast<std::byte*>(host->data()) + copy.host_offset;
      }
      all.push_back(made);
    }
    beside = {stream_of(o.to_host), stream_of(o.from_host)};
    copies = std::make_unique<CopyQueues>(device, stream, beside[0], beside[1], std::move(all));
  }

  void before(std::size_t task) {
    if (check != nullptr && task < launches.size()) check->before(task);
    if (copies != nullptr) copies->before(static_cast<int>(task));
  }

  /// Copies what is fed to its place. Memory of the host's arenas is read when a copy is submitted,
  /// that of this device's waits for the copy by itself; others' memory is kept until it is done.
  void feed(std::span<const Tensor> feeds) {
    while (!feeding.empty() && (feeding.size() >= kFeedsHeld || feeding.front().fence->done())) {
      feeding.front().fence->wait();
      feeding.pop_front();
    }
    std::vector<Tensor> kept;
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      if (inputs[i].data == nullptr || feeds[i].elements() == 0) continue;
      const Tensor dense = feeds[i].contiguous();
      const Storage& storage = *dense.storage();
      const bool here = !device.capabilities().host_memory && storage.device().same_backend(device);
      device.copy(inputs[i].data, here ? dense.raw_data_on(stream) : dense.raw_data(),
                  dense.nbytes(), stream);
      if (storage.foreign() || !(here || storage.host_accessible())) kept.push_back(dense);
    }
    if (!kept.empty()) feeding.push_back({device.fence(stream), std::move(kept)});
  }

  /// What cannot be recorded, for want of the driver's memory say, is submitted step by step.
  void record(const ops::RandomKey& random) {
    try {
      recording = device.record(stream, [&] { submit(random); });
      if (recording == nullptr && device.capabilities().asynchronous) {
        log_info(
            fmt::format("[Executor] {}: steps are submitted task by task, as the limit has no "
                        "room for what the driver takes to record them",
                        device.name()));
      }
    } catch (const DeviceError& error) {
      log_warning(
          fmt::format("[Executor] steps are submitted task by task, as they could not be "
                      "recorded: {}",
                      error.what()));
    }
  }

  ops::KernelContext context(const Launch& launch, const ops::RandomKey& random) const {
    return {.outputs = launch.outputs,
            .inputs = launch.inputs,
            .attributes = launch.node->attributes,
            .state = launch.prepared.get(),
            .workspace = launch.workspace,
            .queue = queue,
            .random = random,
            .random_at = key};
  }

  void launch(std::size_t task, const ops::RandomKey& random) {
    const Launch& launch = launches[task];
    bool work = launch.node->op->writes != 0;
    for (const ops::TensorView& output : launch.outputs) work = work || output.elements() != 0;
    if (work) {
      const ProfilerRange named(device, launch.node->op->name);
      launch.kernel->run(context(launch, random));
    }
    if (check != nullptr) {
      device.synchronize(stream);
      check->after(task);
    }
  }

  void copy_outputs() {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (outputs[i].elements() == 0) continue;
      device.copy(outputs[i].raw_mutable_data(), results[i].data, outputs[i].nbytes(), stream);
    }
  }

  void launch(const Fused& group, const ops::RandomKey& random) const {
    std::vector<const ops::OpDef*> ops;
    std::vector<ops::KernelContext> calls;
    for (std::size_t i = 0; i < group.tasks.count; ++i) {
      const Launch& one = launches[group.tasks.first + i];
      ops.push_back(one.node->op);
      calls.push_back(context(one, random));
    }
    const ProfilerRange named(device, launches[group.tasks.first].node->op->name);
    group.run(ops, calls, group.tasks.between);
  }

  /// Gives every task and the copies of the outputs to the device.
  void submit(const ops::RandomKey& random) {
    auto group = fused.begin();
    std::size_t made = 0;
    for (std::size_t t = 0; t < launches.size();) {
      before(t);
      if (group != fused.end() && group->tasks.first == t) {
        launch(*group, random);
        t += group++->tasks.count;
      } else if (made < generated.all().size() && generated.all()[made].first == t) {
        const ProfilerRange named(device, "pointwise");
        generated.run(made, queue);
        t += generated.all()[made++].count;
      } else {
        launch(t++, random);
      }
    }
    before(launches.size());
    copy_outputs();
  }

  void fuse(std::span<const ops::FusedKernel> kernels) {
    std::vector<const ops::FusedPattern*> patterns;
    for (const ops::FusedKernel& kernel : kernels) patterns.push_back(kernel.pattern);
    for (const FusedLaunch& tasks : fused_launches(plan, patterns)) {
      const auto kernel = std::ranges::find(kernels, tasks.pattern, &ops::FusedKernel::pattern);
      fused.push_back({tasks, kernel->run});
    }
  }

  /// Not before a second step: many plans run only once.
  void generate_kernels() {
    if (!generate || !GeneratedLaunches::possible(device)) return;
    std::vector<FusedLaunch> taken;
    for (const Fused& f : fused) taken.push_back(f.tasks);
    generated.compile(
        device, pointwise_groups(plan, fused_tasks(taken, plan)),
        [&](const TaskPlace& at) { return launches[at.task].inputs[at.index].data; },
        [&](const TaskPlace& at) { return launches[at.task].outputs[at.index].data; });
  }

  Plan plan;
  Device device;
  std::vector<OwnedStream> own;
  StreamId stream;
  void* queue = nullptr;
  const ops::RandomKey* key = nullptr;  ///< where the device reads the step's; null on the CPU
  std::function<Tensor(const Value&)> bind;
  std::shared_ptr<Storage> range;
  std::shared_ptr<Storage> slot;  ///< workspace that stands apart
  std::shared_ptr<Storage> host;
  std::unique_ptr<CopyQueues> copies;  ///< null if there are none
  std::vector<StreamId> beside;        ///< on which those are
  std::vector<Launch> launches;
  std::vector<std::vector<std::string>> choice_keys;  ///< by task; empty: nobody measures them
  std::vector<Fused> fused;                           ///< by rising task
  bool generate;                                      ///< whether kernels are generated
  GeneratedLaunches generated;
  std::vector<ops::TensorView> inputs;
  std::vector<ops::TensorView> results;  ///< in the range
  std::vector<Tensor> outputs;           ///< copies
  std::unique_ptr<RangeCheck> check;
  std::deque<Fed> feeding;               ///< foreign tensors that copies may still read
  std::unique_ptr<Recording> recording;  ///< the step; goes before the memory it touches
  std::int64_t runs = 0;
};

Executor::Executor(const Plan& plan, const Device& device, const ExecutorOptions& options)
    : state_(std::make_unique<State>(plan, device, options)) {
  State& s = *state_;
  const DeviceScope current(device);
  s.queue = device.queue(s.stream);
  if (device.capabilities().gpu_kernels) {
    if (s.slot->size() < ops::kWorkspaceSlot) {
      throw InvalidArgument(fmt::format("[Executor] the plan has {} of workspace; a GPU needs {}",
                                        format_bytes(s.slot->size()),
                                        format_bytes(ops::kWorkspaceSlot)));
    }
    s.key = reinterpret_cast<const ops::RandomKey*>(static_cast<const std::byte*>(s.slot->data()) +
                                                    s.slot->size() - ops::kWorkspaceReserve);
  }
  const ops::KernelTable& kernels = ops::kernels_of(device);
  // A node that runs again is prepared once.
  std::vector<std::shared_ptr<const ops::KernelState>> prepared(plan.graph->nodes().size());
  ChoiceTable* const choices = choice_table(device);
  const bool exploring = choices != nullptr && choices->exploring();
  std::vector<std::set<std::string>> asked(exploring ? prepared.size() : 0);
  if (exploring) (void)choices->take_asked();
  for (const PlannedTask& task : plan.tasks) {
    const Node& node = plan.graph->node(task.node);
    const ops::Kernel* kernel = kernels.find(*node.op);
    if (kernel == nullptr) {
      throw DeviceError(fmt::format("[{}] has no kernel for {}", node.op->name, device.name()));
    }
    State::Launch launch{.kernel = kernel, .node = &node, .workspace = nullptr};
    std::vector<TensorType> in;
    std::vector<TensorType> out;
    for (const Place& place : task.inputs) {
      launch.inputs.push_back(s.view(place));
      in.push_back(launch.inputs.back().type);
    }
    for (const Place& place : task.outputs) {
      launch.outputs.push_back(s.view(place));
      out.push_back(launch.outputs.back().type);
    }
    auto& known = prepared[static_cast<std::size_t>(task.node)];
    if (known == nullptr && kernel->prepare != nullptr) {
      known = kernel->prepare({*node.op, in, node.attributes}, out);
      if (exploring) asked[static_cast<std::size_t>(task.node)] = choices->take_asked();
    }
    if (exploring) {
      const auto& keys = asked[static_cast<std::size_t>(task.node)];
      s.choice_keys.emplace_back(keys.begin(), keys.end());
    }
    launch.prepared = known;
    const Bytes wanted = known == nullptr ? 0 : known->workspace;
    if (task.workspace != 0) {
      launch.workspace = s.at(task.workspace_offset);
    } else if (wanted != 0) {
      launch.workspace = s.slot->data();
    }
    const Bytes slot = plan.workspace - (s.key != nullptr ? ops::kWorkspaceReserve : 0);
    const Bytes given = task.workspace != 0 ? task.workspace : slot;
    if (wanted > given) {
      throw InternalError(fmt::format("[Executor] {} needs {} of workspace, the plan has {}",
                                      node.op->name, format_bytes(wanted), format_bytes(given)));
    }
    s.launches.push_back(std::move(launch));
  }
  for (const Place& place : plan.inputs) {
    s.inputs.push_back(place.persistent
                           ? ops::TensorView{nullptr, plan.graph->value(place.value).type}
                           : s.view(place));
  }
  Bytes next = 0;
  for (const Place& place : plan.outputs) {
    s.results.push_back(s.view(place));
    const TensorType& type = s.results.back().type;
    if (options.outputs == nullptr) {
      s.outputs.push_back(
          Tensor::empty(type.shape, type.dtype, device, {.tag = Tag::user, .label = "outputs"}));
      s.used(s.outputs.back().storage());
      continue;
    }
    s.used(options.outputs);
    s.outputs.push_back(Tensor::from_storage(options.outputs, type.dtype, type.shape, {}, next));
    next = align_up(next + type.bytes(), kAlignment);
  }
  s.make_copies(options);
  if (options.fuse && !options.check) s.fuse(kernels.fused());
  if (options.check) s.check = std::make_unique<RangeCheck>(plan, s.range->data());
}

Executor::~Executor() {
  try {
    state_->device.synchronize(state_->stream);
    // A step that failed in the middle has copies under way that its stream does not wait for.
    for (const StreamId stream : state_->beside) state_->device.synchronize(stream);
  } catch (const Error&) {  // a device that has failed has nothing running
  }
}

void Executor::begin(std::span<const Tensor> feeds, const ops::RandomKey& random) {
  State& s = *state_;
  if (s.device.closed()) {
    throw InvalidArgument(
        fmt::format("[Executor::run] {} is closed, and its memory gone", s.device.name()));
  }
  if (feeds.size() != s.inputs.size()) {
    throw InvalidArgument(
        fmt::format("[Executor::run] {} feeds for {} inputs", feeds.size(), s.inputs.size()));
  }
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i].type() != s.inputs[i].type) {
      throw InvalidArgument(fmt::format("[Executor::run] input {} ({}) is {}, but {} is fed", i,
                                        s.plan.graph->value(s.plan.inputs[i].value).name,
                                        s.inputs[i].type.to_string(), feeds[i].type().to_string()));
    }
  }
  if (s.check != nullptr) s.check->begin();
  s.feed(feeds);
  if (s.key != nullptr) {
    s.device.copy(const_cast<ops::RandomKey*>(s.key), &random, sizeof(random), s.stream);
  }
}

void Executor::run(std::span<const Tensor> feeds, const ops::RandomKey& random) {
  State& s = *state_;
  const DeviceScope current(s.device);
  const ProfilerRange named(s.device, "step");
  begin(feeds, random);
  // The first step runs as it is, so that libraries load what they need; then it is recorded.
  if (++s.runs == 2 && s.check == nullptr) {
    s.generate_kernels();
    s.record(random);
  }
  if (s.recording != nullptr) {
    s.recording->replay();
  } else {
    s.submit(random);
  }
}

std::vector<double> Executor::run_timed(std::span<const Tensor> feeds,
                                        const ops::RandomKey& random) {
  State& s = *state_;
  const DeviceScope current(s.device);
  const ProfilerRange named(s.device, "timed step");
  const std::unique_ptr<StreamTimer> timer = s.device.make_timer(s.stream);
  begin(feeds, random);
  // What a task waits for is not what it takes.
  for (std::size_t t = 0; t < s.launches.size(); ++t) {
    s.before(t);
    timer->mark();
    s.launch(t, random);
    timer->mark();
  }
  s.before(s.launches.size());
  s.copy_outputs();
  wait();
  const std::vector<double> between = timer->seconds();
  std::vector<double> seconds(s.launches.size());
  for (std::size_t t = 0; t < seconds.size(); ++t) seconds[t] = between[2 * t];
  return seconds;
}

const std::vector<std::vector<std::string>>& Executor::choice_keys() const {
  return state_->choice_keys;
}

void Executor::wait() const { state_->device.synchronize(state_->stream); }

const std::vector<Tensor>& Executor::outputs() const {
  wait();
  return state_->outputs;
}
void Executor::copy_output(std::size_t index, void* to) const {
  const Tensor& output = state_->outputs.at(index);
  if (output.elements() == 0) return;
  state_->device.copy(to, output.raw_data(), output.nbytes(), state_->stream);
}

const Plan& Executor::plan() const { return state_->plan; }

}  // namespace plimsoll::plan
