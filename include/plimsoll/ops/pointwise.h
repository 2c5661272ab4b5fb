#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/ops/op_def.h>

// Groups of pointwise ops that run as one generated kernel: what a group is, the text of its
// kernel, and how a backend that can compile such text says so. A group gives bit for bit what its
// ops give one by one: every result is rounded to its dtype before the next op reads it. Which
// tasks of a plan form groups is decided in plan.

namespace plimsoll::ops {

/// Which element of an array belongs to element i of a group's results.
enum class Spread : std::uint8_t {
  whole,    ///< i
  single,   ///< 0: a scalar
  rows,     ///< i % inner: repeated along leading dimensions
  columns,  ///< i / inner: repeated along trailing dimensions
};

/// An array that a group reads.
struct PointwiseArray {
  DType dtype = DType::f32;
  Spread spread = Spread::whole;
  std::int64_t inner = 1;

  friend bool operator==(const PointwiseArray&, const PointwiseArray&) = default;
};

/// What a step of a group reads: array `index`, or the result of step `index`.
struct PointwiseOperand {
  bool step = false;
  int index = 0;
};

/// One op of a group.
struct PointwiseStep {
  const OpDef* op = nullptr;
  const Attributes* attributes = nullptr;
  std::vector<PointwiseOperand> inputs;
  DType dtype = DType::f32;  ///< of its result
};

/// Pointwise ops in the order in which they run. Every result has `elements` elements. All arrays
/// begin at multiples of 16 bytes. A result may be written exactly over an array of the spread
/// `whole` whose elements have the same size: every thread reads what it needs before it writes.
struct PointwiseGroup {
  std::int64_t elements = 0;
  std::vector<PointwiseArray> arrays;
  std::vector<PointwiseStep> steps;
  std::vector<int> written;  ///< steps whose results others read, rising
};

/// Limits on a group, so that its kernel keeps to its registers and to the driver's parameters.
inline constexpr std::size_t kMostPointwiseSteps = 48;
inline constexpr std::size_t kMostPointwiseArrays = 12;
inline constexpr std::size_t kMostPointwiseWritten = 8;

/// How an input of a pointwise op meets its output; nullopt if it broadcasts in another way, such
/// as along a dimension in the middle.
std::optional<PointwiseArray> pointwise_array(const TensorType& input, const Shape& output);

/// Whether the op, called with these types, can be a step of a group: it is one of those that
/// element functions exist for, has results, and its inputs broadcast as above.
bool is_pointwise(const OpDef& op, std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs);

/// A number of a kernel's that comes from an op's attributes: its bits, in the type that the op
/// computes in.
using NumberBits = std::uint64_t;

/// The kernel of a group. Its parameters, in this order: the number of elements (i64), a pointer
/// for each array, one for each result that is written, `numbers`, and the `inner` (u32) of each
/// array of the spreads `rows` and `columns`. It runs with 256 threads in a block; each block
/// computes `each_block` elements.
struct PointwiseKernel {
  /// A function named NAME where the text says so: see pointwise_program().
  std::string text;
  std::vector<NumberBits> numbers;
  std::vector<std::uint32_t> inner;
  std::int64_t each_block = 0;
};

/// The text depends on the ops, the dtypes and the spreads, but not on numbers and hardly on
/// shapes, so that many groups share one. Throws InternalError if a step is not pointwise.
PointwiseKernel pointwise_kernel(const PointwiseGroup& group);

/// One program for the kernels of several groups. Equal ones are there once.
struct PointwiseProgramText {
  std::string text;                      ///< the source: includes "element.cuh", defines kernels
  std::vector<std::string> functions;    ///< their names, "pointwise_0" and so on
  std::vector<std::size_t> function_of;  ///< by kernel: index of its function
};
PointwiseProgramText pointwise_program(std::span<const PointwiseKernel> kernels);

/// A compiled and loaded program. Its memory on the device goes with it.
class PointwiseProgram {
 public:
  virtual ~PointwiseProgram() = default;
  /// Submits group `group`, with an address for each of its arrays and written results, to `queue`.
  /// Nothing is loaded or allocated, so it can be recorded. Throws DeviceError.
  virtual void run(std::size_t group, std::span<const void* const> arrays,
                   std::span<void* const> written, void* queue) const = 0;
};

/// How a backend compiles groups for the calling thread's current device.
struct PointwiseCompiler {
  /// Null where it cannot: no compiler, or memory that `take` refuses to charge. `take` is asked to
  /// charge what loading the program takes on the device beyond what opening it paid for.
  std::shared_ptr<const PointwiseProgram> (*compile)(
      std::span<const PointwiseGroup> groups, const std::function<bool(Bytes)>& take) = nullptr;
};

/// Registers the compiler of the backend of that name, when the library it stands in is loaded.
struct RegisterPointwise {
  RegisterPointwise(std::string_view backend, PointwiseCompiler compiler);
};
/// Null if the backend has none. Thread-safe.
const PointwiseCompiler* pointwise_compiler(std::string_view backend);

}  // namespace plimsoll::ops
