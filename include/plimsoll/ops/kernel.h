#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/fused.h>
#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// Scratch that a kernel of a GPU may count on without asking: a slot of this size per stream,
/// which no budget changes. Ops that need more say so in OpDef::workspace.
inline constexpr Bytes kWorkspaceSlot = MiB(32);
/// The end of the slot, which belongs to the executor: the key of random ops is there.
inline constexpr Bytes kWorkspaceReserve = KiB(4);

/// A dense, row-major array somewhere on the device. Owns nothing.
struct TensorView {
  void* data = nullptr;
  TensorType type;

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  std::int64_t elements() const { return type.elements(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// What a kernel prepares once for a signature: a library's primitive, an algorithm, a plan.
/// Used by any number of threads at a time, so it does not change.
struct KernelState {
  virtual ~KernelState() = default;
  /// Scratch bytes that a run needs, the same for every run; never a function of the budget.
  Bytes workspace = 0;
};

/// One run of a kernel. Everything it touches is here; it allocates nothing on the device.
struct KernelContext {
  std::span<const TensorView> outputs;
  std::span<const TensorView> inputs;  ///< optional ones that were not given are missing at the end
  const Attributes& attributes;
  const KernelState* state = nullptr;
  void* workspace = nullptr;  ///< of state->workspace bytes, aligned to 256
  void* queue = nullptr;      ///< the driver's stream that the work goes to; null on the CPU
  RandomKey random = {};
  /// Where the device reads the key when the work runs, for work that is recorded once and run
  /// with many keys; null: `random` it is.
  const RandomKey* random_at = nullptr;

  const TensorView& in(int i) const { return inputs[static_cast<std::size_t>(i)]; }
  const TensorView& out(int i) const { return outputs[static_cast<std::size_t>(i)]; }
};

/// How a backend runs an op. An op that writes an input finds it in `inputs`, and the output for
/// it has the same address.
struct Kernel {
  void (*run)(const KernelContext& context) = nullptr;
  /// Null where there is nothing to prepare and no workspace. Deterministic: the same types and
  /// attributes give the same algorithm, whatever the budget.
  std::shared_ptr<const KernelState> (*prepare)(const OpInputs& inputs,
                                                std::span<const TensorType> outputs) = nullptr;
};

/// How a backend runs the calls of a pattern in one launch, or a few.
struct FusedKernel {
  const FusedPattern* pattern = nullptr;
  /// `ops` and `calls` belong together. `between` is whether anybody but the second of a chain
  /// reads what the first hands on to it; else that need not be written.
  void (*run)(std::span<const OpDef* const> ops, std::span<const KernelContext> calls,
              bool between) = nullptr;
};

/// The kernels of a backend. Filled once, then read by any thread.
class KernelTable {
 public:
  /// Throws InternalError if there is no such op or it has one already.
  void add(std::string_view op, Kernel kernel);
  /// Null if there is none.
  const Kernel* find(const OpDef& op) const;

  /// Throws InternalError if there is no such pattern or it has one already.
  void add_fused(std::string_view pattern, decltype(FusedKernel::run) run);
  std::span<const FusedKernel> fused() const { return fused_; }

 private:
  std::unordered_map<const OpDef*, Kernel> kernels_;
  std::vector<FusedKernel> fused_;
};

/// Registers kernels of the backend of that name when the program or the library it stands in is
/// loaded. `add` is called when the backend's first kernel is looked up, which must be later:
///
///     const RegisterKernels kRegistered("cpu", [](KernelTable& table) { table.add("relu", ...);
///     });
///
/// Throws InternalError where it is too late.
struct RegisterKernels {
  using Add = void (*)(KernelTable& table);
  RegisterKernels(std::string_view backend, Add add);
};

/// The kernels for a device, or of the backend of that name, in a table that lasts. DeviceError if
/// there are none, with the reason. Every op has one of the CPU's.
const KernelTable& kernels_of(const Device& device);
const KernelTable& kernels_of(std::string_view backend);

}  // namespace plimsoll::ops
