#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <plimsoll/data/program.h>

namespace plimsoll::data {

/// A value of a program that is being built: it has a spec and no data. Ops on it (program_ops.h,
/// and the operators there) add instructions to the program. Copies stand for the same value.
///
/// Whatever asks for data throws InvalidArgument and names the op that the value comes from.
/// Values belong to one builder and are used by one thread at a time.
class Symbolic {
 public:
  const TensorSpec& spec() const;
  DType dtype() const { return spec().dtype; }
  /// InvalidArgument naming the op where not even the rank is known.
  int rank() const;
  /// The extent of dimension `dim`; below 0 counts from the end. InvalidArgument, naming the op,
  /// where it is known only when an element arrives.
  std::int64_t dim(int dim) const;
  /// "%4 (the result of resize)": for messages.
  std::string describe() const;

  /// A symbolic value has no data: these throw.
  template <typename T>
  [[noreturn]] T item() const {
    no_data("item()");
  }
  template <typename T>
  [[noreturn]] const T* data() const {
    no_data("data()");
  }
  explicit operator bool() const { no_data("a condition"); }
  /// InvalidArgument: "[map] %4 (the result of resize) has no data while ..., and `what` needs it".
  [[noreturn]] void no_data(std::string_view what) const;

  /// For ops.
  class Recorder;
  Symbolic(std::shared_ptr<Recorder> recorder, Operand operand)
      : recorder_(std::move(recorder)), operand_(operand) {}
  const std::shared_ptr<Recorder>& recorder() const { return recorder_; }
  Operand operand() const { return operand_; }

 private:
  std::shared_ptr<Recorder> recorder_;
  Operand operand_;
};

/// The components of an element while a program is built: by position and by name.
class Symbolics {
 public:
  /// A component and what it is called.
  struct Named {
    Named(Symbolic component) : value(std::move(component)) {}  // NOLINT: {image / 255, label}
    Named(std::string called, Symbolic component)
        : name(std::move(called)), value(std::move(component)) {}
    std::string name;
    Symbolic value;
  };

  Symbolics() = default;
  /// {image, label}, or {{"image", image}, {"label", label}}.
  Symbolics(std::initializer_list<Named> values) : values_(values) {}
  Symbolics(std::vector<Named> values) : values_(std::move(values)) {}
  Symbolics(Symbolic value) : values_{Named(std::move(value))} {}  // NOLINT: return image / 255

  std::size_t size() const { return values_.size(); }
  const std::vector<Named>& values() const { return values_; }
  /// InvalidArgument naming what there is.
  const Symbolic& operator[](std::size_t index) const;
  const Symbolic& operator[](std::string_view name) const;
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  void push_back(Named value) { values_.push_back(std::move(value)); }

 private:
  std::vector<Named> values_;
};

/// Builds a program instruction by instruction. What trace_program() and Python's tracer use.
class ProgramBuilder {
 public:
  /// InvalidArgument where `input` is not known: a function before it must declare what it gives.
  explicit ProgramBuilder(ElementSpec input);

  /// The components of the element.
  Symbolics inputs() const;

  /// A number or a tensor of the host, copied.
  Symbolic constant(const Value& value);
  Symbolic constant(const std::string& text);
  /// f32 numbers in a row.
  Symbolic constant(std::span<const float> numbers);

  /// Adds an instruction and gives its results. The op's rule is asked at once, with the unknown
  /// extents standing for any. InvalidArgument for an unknown op (naming near ones), and for inputs
  /// or attributes that do not fit it. Names of attributes must be string literals.
  std::vector<Symbolic> call(std::string_view op, std::span<const Symbolic> inputs,
                             const ops::Attributes& attributes = {});
  Symbolic call_one(std::string_view op, std::initializer_list<Symbolic> inputs,
                    const ops::Attributes& attributes = {});

  /// The program that gives `outputs`. Instructions that they do not need are left out. Outputs
  /// without names keep the names of the inputs where there are as many of them; an input that is
  /// handed on keeps its own.
  Program finish(const Symbolics& outputs) const;

 private:
  std::shared_ptr<Symbolic::Recorder> recorder_;
};

/// The program that `function` describes for elements of `input`. It is called once, with symbolic
/// values; C++ control flow unrolls. InvalidArgument for what cannot be traced, naming the op.
Program trace_program(const ElementSpec& input,
                      const std::function<Symbolics(Symbolics elements)>& function);

namespace detail {
template <typename F>
concept TracesElement = std::is_invocable_r_v<Symbolics, F&, Symbolics>;
template <typename F>
concept TracesOne = !TracesElement<F> && std::is_invocable_r_v<Symbolics, F&, Symbolic>;
template <typename F>
concept TracesTwo = std::is_invocable_r_v<Symbolics, F&, Symbolic, Symbolic>;
template <typename F>
concept TracesThree = std::is_invocable_r_v<Symbolics, F&, Symbolic, Symbolic, Symbolic>;
/// Throws InvalidArgument unless an element has `wanted` components.
void require_components(const Symbolics& element, std::size_t wanted);
}  // namespace detail

/// What Dataset::map traces: a function of an element's Symbolics, or of one, two or three Symbolic
/// components, that gives one Symbolic or Symbolics.
template <typename F>
concept TracedFunction = detail::TracesElement<F> || detail::TracesOne<F> || detail::TracesTwo<F> ||
    detail::TracesThree<F>;

/// A function of the components: `[](Symbolic image, Symbolic label) { ... }`.
template <TracedFunction F>
requires(!detail::TracesElement<F>) Program trace_program(const ElementSpec& input, F&& function) {
  const std::function<Symbolics(Symbolics)> whole = [&function](const Symbolics& in) -> Symbolics {
    if constexpr (detail::TracesOne<F>) {
      detail::require_components(in, 1);
      return function(in[0]);
    } else if constexpr (detail::TracesTwo<F>) {
      detail::require_components(in, 2);
      return function(in[0], in[1]);
    } else {
      detail::require_components(in, 3);
      return function(in[0], in[1], in[2]);
    }
  };
  return trace_program(input, whole);
}

}  // namespace plimsoll::data
