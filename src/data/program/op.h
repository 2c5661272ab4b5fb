#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/data/map_function.h>
#include <plimsoll/data/program.h>

namespace plimsoll::data {

struct ProgramOp;

/// The inputs of a program op as its rule sees them: specs and attributes, no data.
class SpecInputs {
 public:
  SpecInputs(const ProgramOp& op, std::span<const TensorSpec> specs,
             const ops::Attributes& attributes)
      : op_(op), specs_(specs), attributes_(attributes) {}

  int count() const { return static_cast<int>(specs_.size()); }
  const TensorSpec& operator[](int i) const { return specs_[static_cast<std::size_t>(i)]; }
  const ops::Attributes& attributes() const { return attributes_; }

  /// Throws InvalidArgument: "[resize] MESSAGE (u8 [?,?,3])".
  [[noreturn]] void fail(const std::string& message) const;
  /// fail() unless input `i` is DType::bytes.
  void require_bytes(int i) const;
  /// fail() unless it is one byte string.
  void require_one_text(int i) const;
  /// fail() unless it is a picture: u8 or f32 of rank 3. Its extents.
  const std::vector<std::int64_t>& require_picture(int i) const;
  /// The attribute, which must be an integer of at least 1.
  std::int64_t require_positive(std::string_view name) const;

 private:
  const ProgramOp& op_;
  std::span<const TensorSpec> specs_;
  const ops::Attributes& attributes_;
};

/// What a running op reads: dense, row-major elements in host memory that belong to someone else.
class ProgramInput {
 public:
  /// Of a scalar or a contiguous tensor, which must outlive this.
  explicit ProgramInput(const Value& value);
  explicit ProgramInput(const ProgramConstant& constant);

  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  const TensorType& type() const { return type_; }
  std::int64_t elements() const { return type_.elements(); }
  /// The elements; null for DType::bytes.
  const void* data() const { return data_; }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }
  /// Element `index` of DType::bytes.
  std::string_view text(std::int64_t index = 0) const;
  /// The component; null for a constant.
  const Value* value() const { return value_; }

 private:
  TensorType type_;
  const void* data_ = nullptr;
  const Value* value_ = nullptr;
  const ProgramConstant* constant_ = nullptr;
};

/// One run of a program op. Everything it takes comes from here.
class ProgramCall {
 public:
  ProgramCall(std::span<const ProgramInput> inputs, const ops::Attributes& attributes,
              MapContext& context, std::span<Value> results, std::span<const int> places,
              std::uint32_t random_index)
      : inputs_(inputs),
        attributes_(attributes),
        context_(context),
        results_(results),
        places_(places),
        random_index_(random_index) {}

  int count() const { return static_cast<int>(inputs_.size()); }
  const ProgramInput& input(int i) const { return inputs_[static_cast<std::size_t>(i)]; }
  const ops::Attributes& attributes() const { return attributes_; }
  MapContext& context() const { return context_; }

  /// Memory for result `i`, which it is from now on: in the element's place where the result is one
  /// of the program's.
  Tensor output(const Shape& shape, DType dtype, int i = 0);
  /// Makes `value` result `i`.
  void give(Value value, int i = 0) { results_[static_cast<std::size_t>(i)] = std::move(value); }
  /// Random words for this op and element; `draw` tells apart several draws of one op.
  Philox::Counter random(std::uint32_t draw = 0) const;

 private:
  std::span<const ProgramInput> inputs_;
  const ops::Attributes& attributes_;
  MapContext& context_;
  std::span<Value> results_;
  std::span<const int> places_;
  std::uint32_t random_index_;
};

/// Draw `draw` of the random op that is number `index` of its program.
Philox::Counter random_of(const MapContext& context, std::uint32_t index, std::uint32_t draw);

/// An op on elements of a pipeline that is no op on tensors: pictures, byte strings, files. Defined
/// once, in a file of src/data/program/ops that needs no other line anywhere:
///
///     namespace plimsoll::data::program_ops {
///     std::span<const ProgramOp> resize() { ... }   // the name is that of the file resize.cpp
///     }
struct ProgramOp {
  std::string_view name;
  std::string_view summary;
  int inputs = 1;
  /// Any number from `inputs` on.
  bool variadic = false;
  /// Draws random numbers.
  bool random = false;
  /// Its result is its first input's memory under another shape.
  bool view = false;
  /// The results' specs, kAnyExtent where they differ from element to element, or
  /// SpecInputs::fail().
  std::vector<TensorSpec> (*specs)(const SpecInputs& inputs) = nullptr;
  /// Gives all results. Inputs are of specs that the rule has accepted. Throws an Error for an
  /// element that does not fit; the caller names the instruction and the element.
  void (*run)(ProgramCall& call) = nullptr;
};

/// All there are, sorted by name.
std::span<const ProgramOp* const> all_program_ops();
/// Null if there is none of that name.
const ProgramOp* find_program_op(std::string_view name);

}  // namespace plimsoll::data
