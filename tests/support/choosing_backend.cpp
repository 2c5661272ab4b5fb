#include "support/choosing_backend.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/ops/kernel.h>

#include "device/device_state.h"

namespace plimsoll::test {
namespace {

constexpr const char* kName = "chooser";

const Backend& cpu() { return *find_backend("cpu"); }

DeviceInfo describe(int ordinal) {
  DeviceInfo info = cpu().describe(0);
  info.name = fmt::format("{}:{}", kName, ordinal);
  info.description = "a CPU that chooses";
  return info;
}

/// In tests there are none to be listed: they open their own.
int count([[maybe_unused]] std::string& why) {
#ifdef PLIMSOLL_CHOOSER_IS_LISTED
  return 1;
#else
  why = "tests open them by themselves";
  return 0;
#endif
}

const RegisterBackend kBackend({.name = kName,
                                .title = "choosing CPUs",
                                .count = count,
                                .describe = describe,
                                .open = [](int,
                                           const DeviceOptions&) -> std::shared_ptr<DeviceBackend> {
                                  return std::make_shared<ChoosingDevice>();
                                }});

/// The device whose work the thread prepares or runs; none where a plan asks for workspaces.
thread_local std::vector<ChoosingDevice*> current;

struct ProductState final : ops::KernelState {
  std::shared_ptr<const KernelState> cpu;
  std::vector<std::size_t> numbers;  ///< of the halves, or of the whole
  int times = 1;                     ///< that it is computed, all in all
};

const ops::Kernel& cpu_product() {
  static const ops::Kernel* const kernel = [] {
    const auto all = ops::all_ops();
    const auto op = std::ranges::find(all, "matmul", &ops::OpDef::name);
    return ops::kernels_of("cpu").find(**op);
  }();
  return *kernel;
}

std::string key_of(const ops::OpInputs& inputs) {
  std::string key = "product";
  for (const TensorType& type : inputs.types()) key += " " + type.to_string();
  return key + " " + inputs.attributes().to_string();
}

std::size_t choose(ChoosingDevice& device, const std::string& key) {
  if (const auto text = device.table.preferred(key)) {
    const auto number = device.number_of(*text);
    if (number && device.times(key, *number) != 0) {
      device.table.took(key, *text);
      return *number;
    }
    device.table.give_up(
        key, number ? device.library + " has no such algorithm here" : "this is " + device.library);
  }
  const std::size_t rule = device.rule(key);
  device.table.took(key, device.algorithm(rule));
  if (device.table.exploring()) {
    std::vector<std::string> others;
    for (std::size_t i = 0; i < device.work.size(); ++i) others.push_back(device.algorithm(i));
    device.table.offer(key, others);
  }
  return rule;
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType> outputs) {
  auto state = std::make_shared<ProductState>();
  state->cpu = cpu_product().prepare(inputs, outputs);
  if (state->cpu != nullptr) state->workspace = state->cpu->workspace;
  if (current.empty()) return state;
  ChoosingDevice& device = *current.back();
  std::vector<std::string> keys = {key_of(inputs)};
  if (device.halves) keys = {keys[0] + " top", keys[0] + " bottom"};
  state->times = 0;
  for (const std::string& key : keys) {
    state->numbers.push_back(choose(device, key));
    state->times += device.times(key, state->numbers.back());
  }
  return state;
}

void run(const ops::KernelContext& context) {
  const auto& state = static_cast<const ProductState&>(*context.state);
  ops::KernelContext on_cpu = context;
  on_cpu.state = state.cpu.get();
  const bool counts = !current.empty() && current.back()->own_clock;
  for (int i = 0; i < (counts ? 1 : state.times); ++i) cpu_product().run(on_cpu);
  const ops::TensorView& y = context.out(0);
  if (counts) {
    const std::int64_t inner = context.in(0).elements() * context.in(1).elements();
    current.back()->computed(static_cast<double>(inner) * state.times);
  }
  if (y.dtype() != DType::f32) return;
  // All but the first keep fewer bits, so few that losses show it. Each takes as long.
  constexpr std::array kSplits = {0.F, 4097.F, 8193.F, 16385.F};
  std::span<float> values(y.as<float>(), static_cast<std::size_t>(y.elements()));
  for (const std::size_t number : state.numbers) {
    const float split = kSplits[number % kSplits.size()];
    for (float& value : values) {
      const float high = value * split;
      value = high - (high - value);
    }
  }
}

const ops::RegisterKernels kKernels(kName, [](ops::KernelTable& table) {
  for (const ops::OpDef* op : ops::all_ops()) {
    const ops::Kernel* kernel = ops::kernels_of("cpu").find(*op);
    if (kernel == nullptr) continue;
    table.add(op->name, op->name == "matmul" ? ops::Kernel{run, prepare} : *kernel);
  }
});

}  // namespace

ChoosingDevice::ChoosingDevice() : device(describe(0)), cpu_(cpu().open(0, {})) {}

void ChoosingDevice::enter() { current.push_back(this); }
void ChoosingDevice::leave() noexcept { current.pop_back(); }

void ChoosingDevice::computed(double operations) {
  constexpr double kRate = 1e12;
  const double between = std::uniform_real_distribution<double>(-noise, noise)(random_);
  now_ += operations / kRate * (1 + between);
}

std::unique_ptr<StreamTimer> ChoosingDevice::make_timer(StreamId stream) {
  struct Timer final : StreamTimer {
    explicit Timer(const double& now) : clock(now) {}
    void mark() override { marks.push_back(clock); }
    std::vector<double> seconds() override {
      std::vector<double> between;
      for (std::size_t i = 1; i < marks.size(); ++i) between.push_back(marks[i] - marks[i - 1]);
      return between;
    }
    const double& clock;
    std::vector<double> marks;
  };
  if (!own_clock) return DeviceBackend::make_timer(stream);
  return std::make_unique<Timer>(now_);
}

std::string ChoosingDevice::algorithm(std::size_t number) const {
  return fmt::format("{} number={}", library, number);
}

std::optional<std::size_t> ChoosingDevice::number_of(const std::string& text) const {
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (text == algorithm(i)) return i;
  }
  return std::nullopt;
}

std::size_t ChoosingDevice::rule(const std::string& key) const {
  std::size_t number = 0;
  while (times(key, number) == 0) ++number;
  return number;
}

int ChoosingDevice::times(const std::string& key, std::size_t number) const {
  const bool turned = alternates && key.size() % 2 == 1;
  return work[turned ? work.size() - 1 - number : number];
}

Device open_choosing(const std::shared_ptr<ChoosingDevice>& backend, Bytes limit) {
  return Device::State::open(backend, {.limit = limit});
}

}  // namespace plimsoll::test
