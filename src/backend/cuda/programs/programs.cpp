#include "backend/cuda/programs/programs.h"

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/ops/pointwise.h>

#include "backend/cuda/driver/context.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/programs/cubin_cache.h"
#include "backend/cuda/programs/program_room.h"

namespace plimsoll::cuda {
namespace {

using ops::PointwiseGroup;
using ops::PointwiseKernel;
using ops::PointwiseProgramText;

/// The driver takes memory for code in pieces.
constexpr Bytes kPiece = MiB(2);
/// What it takes for a program beside its code.
constexpr Bytes kBeside = KiB(64);
/// Of local memory that a thread may need: more, and the driver would take memory for all threads
/// of the device at the first launch.
constexpr int kMostLocal = 1024;

/// A program's part of what was paid when the device was opened.
class Space {
 public:
  Space(std::shared_ptr<ProgramRoom> room, Bytes bytes) : room_(std::move(room)), bytes_(bytes) {}
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space() { room_->leave(bytes_); }

 private:
  const std::shared_ptr<ProgramRoom> room_;
  const Bytes bytes_;
};

/// Code in a device's memory.
class Module {
 public:
  Module(std::shared_ptr<Context> context, const std::string& cubin)
      : context_(std::move(context)) {
    context_->check(context_->driver().cuModuleLoadData(&module_, cubin.data()),
                    "cuModuleLoadData");
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    if (context_->gone()) return;
    try {
      const Context::Scope scope(*context_);
      (void)context_->driver().cuModuleUnload(module_);
    } catch (const Error&) {  // a device that has failed has nothing to give back
    }
  }

  /// Loads it, if the driver has not yet.
  CUfunction function(const std::string& name) const {
    CUfunction found = nullptr;
    context_->check(context_->driver().cuModuleGetFunction(&found, module_, name.c_str()),
                    "cuModuleGetFunction");
    return found;
  }
  int local_bytes(CUfunction function) const {
    int bytes = 0;
    context_->check(
        context_->driver().cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function),
        "cuFuncGetAttribute");
    return bytes;
  }
  const Context& context() const { return *context_; }

 private:
  const std::shared_ptr<Context> context_;
  CUmodule module_ = nullptr;
};

class Program final : public ops::PointwiseProgram {
 public:
  /// How a group is launched.
  struct Launch {
    CUfunction function = nullptr;
    std::int64_t elements = 0;
    unsigned blocks = 0;
    std::vector<std::uint64_t> numbers;  ///< and inner extents: what follows the pointers
  };

  Program(std::unique_ptr<Space> space, std::unique_ptr<Module> module,
          std::vector<Launch> launches)
      : space_(std::move(space)), module_(std::move(module)), launches_(std::move(launches)) {}

  void run(std::size_t group, std::span<const void* const> arrays, std::span<void* const> written,
           void* queue) const override {
    const Launch& launch = launches_.at(group);
    // Eight bytes for each parameter: smaller ones are read from the first of them.
    constexpr std::size_t kMost = 1 + ops::kMostPointwiseArrays * 2 + ops::kMostPointwiseWritten +
                                  ops::kMostPointwiseSteps * 2;
    std::array<std::uint64_t, kMost> values{};
    std::array<void*, kMost> parameters{};
    std::size_t count = 0;
    const auto add = [&](std::uint64_t value) {
      values.at(count) = value;
      parameters.at(count) = &values.at(count);
      ++count;
    };
    add(static_cast<std::uint64_t>(launch.elements));
    for (const void* array : arrays) add(reinterpret_cast<std::uintptr_t>(array));
    for (const void* result : written) add(reinterpret_cast<std::uintptr_t>(result));
    for (const std::uint64_t number : launch.numbers) add(number);
    const Context& context = module_->context();
    context.check(
        context.driver().cuLaunchKernel(launch.function, launch.blocks, 1, 1, 256, 1, 1, 0,
                                        static_cast<CUstream>(queue), parameters.data(), nullptr),
        "cuLaunchKernel");
  }

 private:
  const std::unique_ptr<Space> space_;  ///< goes after the code
  const std::unique_ptr<Module> module_;
  const std::vector<Launch> launches_;
};

/// "sm_90"; empty for GPUs that have no instructions for bf16.
std::string architecture_of(const Context& context) {
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    context.check(context.driver().cuDeviceGetAttribute(&value, which, context.device()),
                  "cuDeviceGetAttribute");
    return value;
  };
  const int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return major < 8 ? std::string() : fmt::format("sm_{}{}", major, minor);
}

/// From disk, or compiled and kept there.
std::string cubin_of(const Nvrtc& nvrtc, const std::string& source,
                     const std::string& architecture) {
  std::string key = fmt::format("NVRTC {}\n{}\n", nvrtc.version(), architecture);
  for (const RtcHeader& header : rtc_headers()) {
    key += fmt::format("{}\n{}\n", header.name, header.text);
  }
  key += source;
  const CubinCache cache(CubinCache::default_folder());
  if (std::optional<std::string> kept = cache.find(key)) {
    log_debug(fmt::format("[programs] {} bytes of code from {}", kept->size(), cache.path_of(key)));
    return std::move(*kept);
  }
  const auto begin = std::chrono::steady_clock::now();
  std::string cubin = nvrtc.compile(source, rtc_headers(), architecture);
  log_debug(
      fmt::format("[programs] {} bytes of source to {} of code for {} in {:.2f} s", source.size(),
                  cubin.size(), architecture,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()));
  cache.keep(key, cubin);
  return cubin;
}

std::shared_ptr<const ops::PointwiseProgram> compile(std::span<const PointwiseGroup> groups,
                                                     const std::function<bool(Bytes)>& take) {
  const Nvrtc* nvrtc = build_nvrtc(nullptr);
  if (nvrtc == nullptr) return nullptr;
  const std::shared_ptr<Context> context = Libraries::current()->context();
  const std::string architecture = architecture_of(*context);
  if (architecture.empty()) return nullptr;

  std::vector<PointwiseKernel> kernels;
  for (const PointwiseGroup& group : groups) kernels.push_back(ops::pointwise_kernel(group));
  const PointwiseProgramText program = ops::pointwise_program(kernels);
  const std::string cubin = cubin_of(*nvrtc, program.text, architecture);

  const std::shared_ptr<ProgramRoom> room = ProgramRoom::of(context->ordinal());
  const Bytes bytes = cubin.size() + kBeside;
  std::unique_ptr<Space> space;
  if (room->enter(bytes)) {
    space = std::make_unique<Space>(room, bytes);
  } else if (!take(align_up(bytes, kPiece))) {
    return nullptr;
  }

  const Context::Scope scope(*context);
  auto module = std::make_unique<Module>(context, cubin);
  std::vector<CUfunction> functions;
  for (const std::string& name : program.functions) {
    functions.push_back(module->function(name));
    if (const int local = module->local_bytes(functions.back()); local > kMostLocal) {
      log_debug(fmt::format("[programs] {} bytes of local memory: not used", local));
      return nullptr;
    }
  }
  std::vector<Program::Launch> launches;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const PointwiseKernel& kernel = kernels[g];
    const std::int64_t blocks = (groups[g].elements + kernel.each_block - 1) / kernel.each_block;
    Program::Launch launch{.function = functions[program.function_of[g]],
                           .elements = groups[g].elements,
                           .blocks = static_cast<unsigned>(blocks),
                           .numbers = kernel.numbers};
    launch.numbers.insert(launch.numbers.end(), kernel.inner.begin(), kernel.inner.end());
    launches.push_back(std::move(launch));
  }
  return std::make_shared<Program>(std::move(space), std::move(module), std::move(launches));
}

const ops::RegisterPointwise kRegistered("cuda", {.compile = compile});

}  // namespace

const Nvrtc* build_nvrtc(std::string* why) {
  return Nvrtc::load(CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10, why);
}

std::shared_ptr<ProgramRoom> ProgramRoom::of(int ordinal) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<ProgramRoom>> rooms;
  const std::lock_guard lock(mutex);
  auto& room = rooms[ordinal];
  if (room == nullptr) room = std::make_shared<ProgramRoom>();
  return room;
}

bool ProgramRoom::enter(Bytes bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > kPaid - used_) return false;
  used_ += bytes;
  return true;
}

void ProgramRoom::leave(Bytes bytes) noexcept {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

}  // namespace plimsoll::cuda
