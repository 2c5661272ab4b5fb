#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/data/element.h>
#include <plimsoll/data/map_function.h>
#include <plimsoll/data/spec.h>
#include <plimsoll/ops/attributes.h>

namespace plimsoll::data {

/// A number, an array or byte strings that belong to a program.
struct ProgramConstant {
  DType dtype = DType::f32;
  Shape shape;
  /// The elements in row-major order; empty for DType::bytes.
  std::vector<std::byte> data;
  /// The elements of DType::bytes; empty for others.
  std::vector<std::string> strings;

  /// "255", "[0.5,0.5,0.5]", "\"jpg\""; large ones by type and a hash of their contents.
  std::string to_string() const;
  friend bool operator==(const ProgramConstant&, const ProgramConstant&) = default;
};

/// What an instruction reads: a value (an input of the program or a result of an instruction before
/// it) or a constant.
struct Operand {
  bool is_constant = false;
  /// Values are counted over the inputs, then over the results of all instructions in order;
  /// constants by themselves.
  int index = 0;
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// One step of a program: an op of ops/op_def.h ("add", "transpose") or a program op ("read_file",
/// "resize"). Names of ops are unique over both.
struct Instruction {
  std::string op;
  std::vector<Operand> inputs;
  ops::Attributes attributes;
  /// Values first_output, first_output + 1 ... are its results, of these specs.
  int first_output = 0;
  std::vector<TensorSpec> outputs;
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// A function of elements as data: a list of instructions over the components of an element. What
/// `map` does without calling back: it runs on the pipeline's threads, is printed, and belongs to
/// the pipeline's signature, so that a position or a cache made with another program is refused.
///
/// Extents that are not known beforehand (of a picture, of a list) are found when an element
/// arrives; specs have kAnyExtent there.
///
/// Immutable; copies share one representation. Thread-safe. Made by ProgramBuilder or
/// trace_program(), see symbolic.h.
class Program {
 public:
  /// What it takes: components, dtypes, extents as far as they are known, names.
  const ElementSpec& input_spec() const;
  /// What it gives.
  const ElementSpec& output_spec() const;
  std::span<const ProgramConstant> constants() const;
  std::span<const Instruction> instructions() const;
  /// One per component of the result.
  std::span<const Operand> outputs() const;

  /// One line per instruction, between a line for the inputs and one for the outputs:
  ///
  ///     (path bytes [], label i64 [])
  ///     %2 = read_file(%0) -> bytes []
  ///     %3 = decode_image(%2, channels=3) -> u8 [?,?,3]
  ///     %4 = resize(%3, height=224, width=224) -> f32 [224,224,3]
  ///     return image=%4, label=%1
  std::string to_string() const;
  /// A hash of that text, in 16 hexadecimal digits: equal for equal programs, in any process.
  std::string signature() const;

  /// This, then `next`, as one program. InvalidArgument unless `next` takes what this gives.
  Program then(const Program& next) const;

  /// Runs it on one element. Everything is taken from `context`; results are written into
  /// context.output() where that can be. DataError naming the instruction for an element that does
  /// not fit; OutOfMemory. Thread-safe.
  Element run(const Element& element, MapContext& context) const;

  /// The same outside of a pipeline, to try a program: memory comes from `device`, a host device.
  /// Random ops draw for this seed, epoch and the element's id.
  Element run(const Element& element, const Device& device, std::uint64_t seed = 0,
              std::uint64_t epoch = 0) const;

  /// The program as a map function: what Dataset::map(Program) runs. Reading, decoding, resizing,
  /// cropping, flipping and normalising of one picture that follow one another are done as
  /// image::load does, in one pass over rows, with the same bits as one by one.
  MapFunction function() const;

  friend bool operator==(const Program& a, const Program& b);

  /// For the builder.
  struct Parts;
  explicit Program(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  const Parts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const Parts> parts_;
};

/// Names of all program ops there are, sorted: what an Instruction may be besides the ops of
/// ops::all_ops().
std::vector<std::string> program_op_names();

}  // namespace plimsoll::data
