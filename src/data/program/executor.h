#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <plimsoll/data/map_function.h>

#include "data/program/op.h"
#include "data/program/parts.h"
#include "data/sources/probe_file.h"

namespace plimsoll::data {

/// The values of one run.
struct Frame {
  MapContext& context;
  const std::vector<ProgramConstant>& constants;
  std::vector<Value> values;

  ProgramInput input(const Operand& operand) const {
    const auto at = static_cast<std::size_t>(operand.index);
    return operand.is_constant ? ProgramInput(constants[at]) : ProgramInput(values[at]);
  }
};

/// Runs `work`; what fails in it becomes a DataError that names the instruction. OutOfMemory, and
/// an error that names one already, pass.
void within(const std::string& instruction, const std::function<void()>& work);

/// One or several instructions, ready to run.
class Step {
 public:
  virtual ~Step() = default;
  /// Reads values of the frame and sets its own.
  virtual void run(Frame& frame) const = 0;
  /// Bytes that it takes besides its results for a picture of that file; 0: nothing is known.
  virtual Bytes needs(const PictureFile& /*file*/) const { return 0; }

  std::string text;             ///< the instruction, for messages
  std::vector<Operand> inputs;  ///< what it reads
  int first_output = 0;
  int output_count = 1;
  /// Per output: the component of the result whose memory it goes into, or -1.
  std::vector<int> places = {-1};
  /// Its output is its first input's memory under another shape.
  bool view = false;
  /// Inputs that its first output may be written over, where nobody reads them later.
  std::vector<int> may_write_over;
  /// The one of them that it is written over; -1: none.
  int over_input = -1;
  /// Values that nobody reads after it.
  std::vector<int> last_uses;
};
using StepPtr = std::unique_ptr<Step>;

/// Runs a program: what is known beforehand (kernels, fused steps, which memory is used again, what
/// goes straight into the result) is worked out once. Thread-safe.
class Executor {
 public:
  /// `parts` must outlive this.
  explicit Executor(const Program::Parts& parts);
  Element run(const Element& element, MapContext& context) const;
  /// About the most that a run takes besides its result where all pictures are those of `file`:
  /// what lies between steps, and what steps need themselves.
  Bytes needs(const PictureFile& file) const;

 private:
  void require_fits(const Element& element) const;
  void find_last_uses();
  void find_places();

  const Program::Parts& parts_;
  std::vector<StepPtr> steps_;
  std::vector<bool> read_as_dense_;  ///< inputs whose elements an instruction reads
  std::vector<int> output_uses_;     ///< how often each value is an output
};

/// A dense copy of a tensor with gaps in memory of `context`.
Tensor dense_copy(const Tensor& tensor, MapContext& context);

}  // namespace plimsoll::data
