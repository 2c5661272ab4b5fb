#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/ops/op_def.h>
#include <plimsoll/tensor/symbol.h>

namespace plimsoll::ops {

/// One call of an op, its inputs checked and its outputs' types known.
struct OpCall {
  const OpDef& def;
  std::span<const Tensor> inputs;  ///< optional ones that were not given are left out at the end
  const Attributes& attributes;
  std::span<const TensorType> outputs;
};

/// Who carries out ops in this thread: eagerly, on a tape, or into a trace. Model code does not
/// know which.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// The outputs, of the types the call names. Throws OutOfMemory before anything was computed.
  virtual std::vector<Tensor> call(const OpCall& call) = 0;
  /// Whether a tape follows `tensor` here, so that gradients by it may be asked for. For the few
  /// ops that compute their gradients along with their result.
  virtual bool follows(const Tensor& tensor) const;

  /// The one in force in this thread; without a DispatchScope it is eager().
  static Dispatcher& current();
  /// Runs the op's kernel at once, on the device of its inputs.
  static Dispatcher& eager();
};

/// Puts a dispatcher in force in this thread until it goes out of scope, and with it the
/// ViewListener that it may be. Scopes nest.
class DispatchScope {
 public:
  explicit DispatchScope(Dispatcher& dispatcher);
  DispatchScope(const DispatchScope&) = delete;
  DispatchScope& operator=(const DispatchScope&) = delete;
  ~DispatchScope();

 private:
  Dispatcher* before_;
  ViewListener* listener_before_;
};

/// Every op goes through here: casts by the precision policy, checks dtypes and shapes, and hands
/// the call to the dispatcher in force. Undefined tensors at the end stand for optional inputs
/// that are not given. Throws InvalidArgument naming op, shapes and dtypes.
std::vector<Tensor> call(const OpDef& def, std::span<const Tensor> inputs,
                         const Attributes& attributes = {});
/// The same for ops with one output.
Tensor call_one(const OpDef& def, std::initializer_list<Tensor> inputs,
                const Attributes& attributes = {});

/// The dtype that Precision::compute ops run in within a scope, in this thread. Without one, or
/// with f32, nothing is cast and inputs must agree.
class PrecisionScope {
 public:
  explicit PrecisionScope(DType compute);
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;
  ~PrecisionScope();
  static std::optional<DType> current();

 private:
  std::optional<DType> before_;
};

/// What random ops draw from: every draw is a function of these, the op's place in the step and
/// the element's index, and of nothing else.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t micro_batch = 0;
};

/// The key for random ops of this thread, whose places are counted from 0 on. Without one, the
/// seed is 0 and places are counted over the thread's life.
class RandomScope {
 public:
  explicit RandomScope(const RandomKey& key);
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;
  ~RandomScope();

  static RandomKey key();
  /// The place of the next random op.
  static std::int64_t next_id();

 private:
  RandomKey key_before_;
  std::int64_t next_before_;
};

/// Where in the model this thread is: "encoder/block3/attention". Goes into traces and messages.
class NameScope {
 public:
  explicit NameScope(std::string_view name);
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  ~NameScope();
  static const std::string& current();

 private:
  std::size_t length_before_;
};

/// Calls an op without inputs (a fill, a random draw) where `like` is: on its device, or into the
/// trace.
std::vector<Tensor> call_like(const Tensor& like, const OpDef& def, const Attributes& attributes);
std::vector<Tensor> call_on(const Device& device, const OpDef& def, const Attributes& attributes);

/// Within a scope every floating output of an eager op is looked at, and the first NaN or infinity
/// is an Error that names the op, its inputs and the element.
class CheckFiniteScope {
 public:
  CheckFiniteScope();
  CheckFiniteScope(const CheckFiniteScope&) = delete;
  CheckFiniteScope& operator=(const CheckFiniteScope&) = delete;
  ~CheckFiniteScope();
  static bool current();

 private:
  bool before_;
};

}  // namespace plimsoll::ops
