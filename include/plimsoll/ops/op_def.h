#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/ops/attributes.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

struct OpDef;
struct GpuWork;

/// A set of dtypes.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (const DType dtype : dtypes) bits_ |= bit(dtype);
  }
  constexpr bool has(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  constexpr DTypeSet operator|(DTypeSet other) const {
    DTypeSet both;
    both.bits_ = bits_ | other.bits_;
    return both;
  }
  /// "f32, f16"
  std::string to_string() const;

 private:
  static constexpr std::uint32_t bit(DType dtype) { return 1U << static_cast<unsigned>(dtype); }
  std::uint32_t bits_ = 0;
};

inline constexpr DTypeSet kFloats = {DType::f64, DType::f32, DType::f16, DType::bf16};
inline constexpr DTypeSet kIntegers = {DType::i64, DType::i32, DType::i16,
                                       DType::i8,  DType::u16, DType::u8};
inline constexpr DTypeSet kNumbers = kFloats | kIntegers;
inline constexpr DTypeSet kAnyDType = kNumbers | DTypeSet{DType::boolean};

/// The inputs of an op as its rules see them: dtypes, shapes and attributes, no data.
class OpInputs {
 public:
  OpInputs(const OpDef& def, std::span<const TensorType> types, const Attributes& attributes)
      : def_(&def), types_(types), attributes_(&attributes) {}

  const OpDef& def() const { return *def_; }
  int count() const { return static_cast<int>(types_.size()); }
  const TensorType& operator[](int i) const { return types_[static_cast<std::size_t>(i)]; }
  const Shape& shape(int i) const { return (*this)[i].shape; }
  DType dtype(int i) const { return (*this)[i].dtype; }
  std::span<const TensorType> types() const { return types_; }
  const Attributes& attributes() const { return *attributes_; }

  /// Throws InvalidArgument: "[matmul] MESSAGE (f32 [2,3], f32 [4,5]) in encoder/block3".
  [[noreturn]] void fail(const std::string& message) const;
  /// fail() unless all inputs from `first` on have the same dtype.
  void require_same_dtype(int first = 0) const;
  void require_rank(int input, int rank) const;

 private:
  const OpDef* def_;
  std::span<const TensorType> types_;
  const Attributes* attributes_;
};

/// What running an op once takes, for the planner's roofline.
struct Cost {
  double flops = 0;
  double bytes = 0;  ///< read and written
};

/// Which inputs and outputs a gradient reads: bit i for number i.
struct Kept {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
};

/// What a gradient function works on. Tensors are those of the mode in force, so that the same
/// function serves the tape and the trace.
class GradientContext {
 public:
  virtual ~GradientContext() = default;
  /// Those that the op's `kept` names; InternalError for others.
  virtual const Tensor& input(int i) const = 0;
  virtual const Tensor& output(int i) const = 0;
  virtual const TensorType& input_type(int i) const = 0;
  virtual const TensorType& output_type(int i) const = 0;
  virtual int input_count() const = 0;
  virtual const Attributes& attributes() const = 0;
  /// The gradient of output `i`; zeros where the target does not depend on it.
  virtual Tensor grad(int i = 0) = 0;
  /// False if the target does not depend on output `i`.
  virtual bool has_grad(int i) const = 0;
  /// Whether anyone wants the gradient of input `i`.
  virtual bool needs(int i) const = 0;
  /// Gives it: the input's shape and dtype. At most once for each; inputs without one have none.
  virtual void set(int i, Tensor gradient) = 0;
};

/// Output `output` may be written over input `input` when that is read by nobody later, provided
/// that both have the same type.
struct InPlace {
  std::int8_t output = 0;
  std::int8_t input = 0;
};

/// Where an op runs under a mixed-precision policy. Every op's is in the table of its family.
enum class Precision : std::uint8_t {
  follow,   ///< floating inputs are brought to the widest dtype among them
  compute,  ///< floating inputs are brought to the policy's compute dtype
  full,     ///< 16-bit inputs are brought to f32
  keep,     ///< inputs stay as they are
};

/// What moving the channels of pictures does to an op: which of its attributes move with them.
enum class ChannelRule : std::uint8_t {
  none,       ///< it must see the channels where it was written for them
  pointwise,  ///< element by element, with broadcasting; "shape", if there is one, is the result's
  reduction,  ///< over the dimensions "axes"
  axis,       ///< along the dimension "axis"; "shape", if there is one, is the result's
  padding,    ///< "before" and "after" have an entry for each dimension
  picture,    ///< "nhwc" says where the channels are
  normalize,  ///< "channels_last" says so, for pictures
};

/// How an op meets pictures, so that a graph can keep their channels where kernels want them.
struct Channels {
  ChannelRule rule = ChannelRule::none;
  // For the rules picture and normalize:
  std::uint32_t inputs = 0;   ///< those that are pictures (bit i)
  std::uint32_t outputs = 0;  ///< and outputs
  bool shape = false;         ///< the attribute "shape" is a picture's
  bool asks = false;          ///< it is worth moving channels for, as convolutions are
};

/// One op, defined once. Eager calls, tapes, traces, the planner, the documentation's table and
/// the tests read the same definition. Definitions are constants that live as long as the program.
struct OpDef {
  std::string_view name;
  std::string_view family;
  std::string_view summary;  ///< one line for the table of ops
  /// How many inputs; optional ones come last.
  int inputs = 1;
  int optional_inputs = 0;
  bool variadic = false;  ///< any number from `inputs` on
  /// dtypes that kernels exist for, of input 0 (of the output, if there are no inputs).
  DTypeSet dtypes = kFloats;

  /// The outputs' types, or InvalidArgument by OpInputs::fail.
  std::vector<TensorType> (*types)(const OpInputs& inputs) = nullptr;
  /// Written in ops; null for ops that have none (comparisons, gradients themselves).
  void (*gradient)(GradientContext& context) = nullptr;
  /// What `gradient` reads, given the inputs whose gradient is wanted (bit i for input i).
  Kept (*kept)(std::uint32_t needed) = nullptr;
  /// Null: one operation per output element, every input and output moved once.
  Cost (*cost)(const OpInputs& inputs, std::span<const TensorType> outputs) = nullptr;

  /// Scratch bytes on a GPU, where kWorkspaceSlot may not do: the same on every GPU and known
  /// without one, as plans are. Null: the slot does.
  Bytes (*workspace)(const OpInputs& inputs, std::span<const TensorType> outputs) = nullptr;

  std::span<const InPlace> in_place = {};
  /// Output 0 is input 0 under another shape: the same bytes.
  bool view = false;
  /// Gradients end here without complaint.
  bool stops_gradient = false;
  /// Costs little more than reading its inputs: the first choice for recomputing.
  bool cheap = false;
  /// Draws random numbers: the caller in force sets the attribute "random_id".
  bool random = false;
  /// Inputs that are overwritten (bit i). Such an op has one output for each of them, which is the
  /// same memory afterwards. It runs once and is never recomputed.
  std::uint32_t writes = 0;
  Precision precision = Precision::follow;
  Channels channels = {};
  /// What it asks of a GPU's libraries; null where its time is that of its cost. gpu_work.h has the
  /// type.
  GpuWork (*gpu_work)(const OpInputs& inputs, std::span<const TensorType> outputs) = nullptr;
  /// Only changes the dtype.
  bool casts = false;
  /// Compares input 0, logits, with input 1, the labels that were meant.
  bool compares_logits = false;
  /// What it gives for an example depends on the others of its batch.
  bool batch_statistics = false;
  /// An optimizer's step: its attributes are the optimizer's settings.
  bool update = false;

  /// Whether it overwrites input `i`.
  bool overwrites(std::size_t i) const { return i < 32 && (writes >> i & 1U) != 0; }
  Cost cost_of(const OpInputs& in, std::span<const TensorType> outputs) const;
};

/// Registers ops when the program or the library it stands in is loaded, which must be before the
/// first op is looked up:
///
///     constexpr std::array kOps = {&kRelu, &kReluGrad};
///     const RegisterOps kRegistered(kOps);
///
/// Throws InternalError where it is too late. `ops` lives as long as the program.
struct RegisterOps {
  explicit RegisterOps(std::span<const OpDef* const> ops);
};

/// All ops there are, family by family, in the order of their names.
std::span<const OpDef* const> all_ops();
/// Null if there is none of that name.
const OpDef* find_op(std::string_view name);

}  // namespace plimsoll::ops
