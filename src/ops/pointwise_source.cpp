// The text of kernels for groups of pointwise ops. A kernel reads the thread's elements of all
// arrays, computes step by step, and writes last:
//
//   extern "C" __global__ void __launch_bounds__(256)
//   NAME(const i64 count, const f32* in0, const f32* in1, f32* out0, const f32 n0) {
//     const Tile<4, 2> tile{count};
//     f32 x0[8]; tile.read(in0, x0);
//     f32 x1[8]; tile.read(in1, x1);
//     f32 y0[8];
//     #pragma unroll
//     for (int i = 0; i < 8; ++i) {
//       const f32 r0 = narrow<f32>(element::scale(widen(x0[i]), n0));
//       const f32 r1 = narrow<f32>(element::add(widen(r0), widen(x1[i])));
//       y0[i] = r1;
//     }
//     tile.write(out0, y0);
//   }
#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/element.h>
#include <plimsoll/ops/pointwise.h>

#include "ops/pointwise_ops.h"

namespace plimsoll::ops {
namespace {

constexpr auto kPointwiseOps = std::to_array<PointwiseOp>({
    {.name = "add", .inputs = 2},
    {.name = "sub", .inputs = 2},
    {.name = "mul", .inputs = 2},
    {.name = "div", .inputs = 2},
    {.name = "maximum", .inputs = 2},
    {.name = "minimum", .inputs = 2},
    {.name = "div_grad", .inputs = 3},
    {.name = "maximum_grad", .inputs = 3, .flag = "second"},
    {.name = "minimum_grad", .inputs = 3, .flag = "second"},
    {.name = "neg"},
    {.name = "abs"},
    {.name = "sign"},
    {.name = "square"},
    {.name = "scale", .numbers = {"factor"}},
    {.name = "shift", .numbers = {"offset"}},
    {.name = "clip", .numbers = {"low", "high"}},
    {.name = "abs_grad", .inputs = 2},
    {.name = "square_grad", .inputs = 2},
    {.name = "clip_grad", .inputs = 2, .numbers = {"low", "high"}},
    {.name = "sqrt"},
    {.name = "rsqrt"},
    {.name = "reciprocal"},
    {.name = "exp"},
    {.name = "log"},
    {.name = "log1p"},
    {.name = "erf"},
    {.name = "floor"},
    {.name = "round"},
    {.name = "sin"},
    {.name = "cos"},
    {.name = "sqrt_grad", .inputs = 2},
    {.name = "rsqrt_grad", .inputs = 2},
    {.name = "reciprocal_grad", .inputs = 2},
    {.name = "log1p_grad", .inputs = 2},
    {.name = "erf_grad", .inputs = 2},
    {.name = "sin_grad", .inputs = 2},
    {.name = "cos_grad", .inputs = 2},
    {.name = "pow", .inputs = 2},
    {.name = "pow_grad", .inputs = 3},
    {.name = "pow_exponent_grad", .inputs = 3},
    {.name = "relu"},
    {.name = "elu", .numbers = {"alpha"}},
    {.name = "sigmoid", .quick = true},
    {.name = "tanh"},
    {.name = "silu", .quick = true},
    {.name = "softplus"},
    {.name = "gelu", .quick = true},
    {.name = "relu_grad", .inputs = 2},
    {.name = "elu_grad", .inputs = 2, .numbers = {"alpha"}},
    {.name = "sigmoid_grad", .inputs = 2},
    {.name = "tanh_grad", .inputs = 2},
    {.name = "silu_grad", .inputs = 2, .quick = true},
    {.name = "softplus_grad", .inputs = 2, .quick = true},
    {.name = "gelu_grad", .inputs = 2, .quick = true},
    {.name = "equal", .inputs = 2},
    {.name = "not_equal", .inputs = 2},
    {.name = "less", .inputs = 2},
    {.name = "less_equal", .inputs = 2},
    {.name = "logical_and", .inputs = 2},
    {.name = "logical_or", .inputs = 2},
    {.name = "logical_not"},
    {.name = "is_finite"},
    {.name = "where", .inputs = 3},
    {.name = "cast"},
});

std::string_view type_name(DType dtype) {
  return dtype == DType::boolean ? std::string_view("boolean") : dtype_name(dtype);
}

bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// In what an op of that dtype computes.
DType computed_in(DType dtype) { return is_narrow(dtype) ? DType::f32 : dtype; }

template <std::integral T>
NumberBits integer_bits(double value, bool nearest) {
  const T number = nearest ? nearest_integer<T>(value) : wrapped<T>(value);
  return static_cast<NumberBits>(static_cast<std::int64_t>(number));
}

/// A number of an op on `dtype`, as the kernels of single ops convert it.
NumberBits number_bits(double value, DType dtype, bool nearest) {
  switch (computed_in(dtype)) {
    case DType::f64:
      return std::bit_cast<NumberBits>(value);
    case DType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DType::i64:
      return integer_bits<std::int64_t>(value, nearest);
    case DType::i32:
      return integer_bits<std::int32_t>(value, nearest);
    case DType::i16:
      return integer_bits<std::int16_t>(value, nearest);
    case DType::i8:
      return integer_bits<std::int8_t>(value, nearest);
    case DType::u16:
      return integer_bits<std::uint16_t>(value, nearest);
    case DType::u8:
      return integer_bits<std::uint8_t>(value, nearest);
    default:
      throw InternalError(fmt::format("[pointwise] a number of {}", dtype_name(dtype)));
  }
}

/// Builds the text of one kernel.
class Writer {
 public:
  explicit Writer(const PointwiseGroup& group) : group_(group) {}

  PointwiseKernel write() {
    choose_tile();
    std::string parameters = "const i64 count";
    std::string reads;
    for (std::size_t a = 0; a < group_.arrays.size(); ++a) {
      const PointwiseArray& array = group_.arrays[a];
      append(parameters, ", const {}* in{}", type_name(array.dtype), a);
      append(reads, "  {} x{}[{}];\n", type_name(array.dtype), a, elements());
      append(reads, "  {};\n", read_of(array, a));
    }
    std::string results;
    std::string writes;
    for (std::size_t w = 0; w < group_.written.size(); ++w) {
      const DType dtype = step(group_.written[w]).dtype;
      append(parameters, ", {}* out{}", type_name(dtype), w);
      append(results, "  {} y{}[{}];\n", type_name(dtype), w, elements());
      append(writes, "  tile.write(out{0}, y{0});\n", w);
    }
    std::string steps;
    for (std::size_t s = 0; s < group_.steps.size(); ++s) {
      append(steps, "    const {} r{} = {};\n", type_name(group_.steps[s].dtype), s,
             value_of(group_.steps[s]));
    }
    for (std::size_t w = 0; w < group_.written.size(); ++w) {
      append(steps, "    y{}[i] = r{};\n", w, group_.written[w]);
    }
    append(kernel_.text,
           "extern \"C\" __global__ void __launch_bounds__(256)\nNAME({}{}{}) {{\n"
           "  const Tile<{}, {}> tile{{count}};\n{}{}"
           "#pragma unroll\n  for (int i = 0; i < {}; ++i) {{\n{}  }}\n{}}}\n",
           parameters, numbers_, inners_, vector_, units_, reads, results, elements(), steps,
           writes);
    kernel_.each_block = std::int64_t{256} * elements();
    return std::move(kernel_);
  }

 private:
  template <typename... Args>
  static void append(std::string& to, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(to), format, std::forward<Args>(args)...);
  }

  const PointwiseStep& step(int index) const {
    return group_.steps[static_cast<std::size_t>(index)];
  }
  int elements() const { return vector_ * units_; }

  DType dtype_of(const PointwiseOperand& operand) const {
    return operand.step ? step(operand.index).dtype
                        : group_.arrays[static_cast<std::size_t>(operand.index)].dtype;
  }

  /// As many side by side as the widest array has in 16 bytes, and rows begin with whole ones; in
  /// all enough per thread to have many bytes under way, fewer where much is computed.
  void choose_tile() {
    std::size_t widest = 2;
    for (const PointwiseArray& array : group_.arrays) {
      widest = std::max(widest, dtype_size(array.dtype));
    }
    for (const int w : group_.written) widest = std::max(widest, dtype_size(step(w).dtype));
    vector_ = static_cast<int>(16 / widest);
    for (const PointwiseArray& array : group_.arrays) {
      if (array.spread != Spread::rows && array.spread != Spread::columns) continue;
      while (array.inner % vector_ != 0) vector_ /= 2;
    }
    const int wanted = group_.steps.size() <= 4 && group_.arrays.size() <= 4 ? 16 : 8;
    units_ = std::max(1, wanted / vector_);
  }

  std::string read_of(const PointwiseArray& array, std::size_t index) {
    switch (array.spread) {
      case Spread::whole:
        return fmt::format("tile.read(in{0}, x{0})", index);
      case Spread::single:
        return fmt::format("tile.read_single(in{0}, x{0})", index);
      case Spread::rows:
      case Spread::columns:
        break;
    }
    const std::size_t number = kernel_.inner.size();
    kernel_.inner.push_back(static_cast<std::uint32_t>(array.inner));
    append(inners_, ", const unsigned inner{}", number);
    return fmt::format("tile.read_{1}(in{0}, inner{2}, x{0})", index,
                       array.spread == Spread::rows ? "rows" : "columns", number);
  }

  static std::string name_of(const PointwiseOperand& operand) {
    return operand.step ? fmt::format("r{}", operand.index) : fmt::format("x{}[i]", operand.index);
  }

  std::string value_of(const PointwiseStep& s) {
    const PointwiseOp* op = find_pointwise_op(s.op->name);
    if (op == nullptr || s.inputs.size() != static_cast<std::size_t>(op->inputs)) {
      throw InternalError(fmt::format("[pointwise] {} has no function of elements", s.op->name));
    }
    if (op->name == "where") {  // moves elements as they are
      return fmt::format("{} ? {} : {}", name_of(s.inputs[0]), name_of(s.inputs[1]),
                         name_of(s.inputs[2]));
    }
    const DType of = dtype_of(s.inputs[0]);
    std::string function(op->name);
    if (op->name.starts_with("gelu") && s.attributes->flag("tanh")) {
      function = op->name == "gelu" ? "gelu_tanh" : "gelu_tanh_grad";
    }
    if (op->quick) append(function, "<{}>", is_narrow(of));
    if (!op->flag.empty()) append(function, "<{}>", s.attributes->flag(op->flag));
    if (op->name == "cast") {
      append(function, "<{}, {}>", is_narrow(s.dtype), type_name(computed_in(s.dtype)));
    }
    std::string arguments;
    for (const PointwiseOperand& operand : s.inputs) {
      append(arguments, "{}widen({})", arguments.empty() ? "" : ", ", name_of(operand));
    }
    for (const std::string_view name : op->numbers) {
      if (name.empty()) continue;
      const std::size_t number = kernel_.numbers.size();
      kernel_.numbers.push_back(
          number_bits(s.attributes->number(name), of, /*nearest=*/op->name == "clip"));
      append(numbers_, ", const {} n{}", type_name(computed_in(of)), number);
      append(arguments, ", n{}", number);
    }
    return fmt::format("narrow<{}>(element::{}({}))", type_name(s.dtype), function, arguments);
  }

  const PointwiseGroup& group_;
  PointwiseKernel kernel_;
  std::string numbers_;  ///< parameters
  std::string inners_;
  int vector_ = 1;
  int units_ = 1;
};

}  // namespace

const PointwiseOp* find_pointwise_op(std::string_view name) {
  const auto* const it = std::ranges::find(kPointwiseOps, name, &PointwiseOp::name);
  return it == kPointwiseOps.end() ? nullptr : it;
}

PointwiseKernel pointwise_kernel(const PointwiseGroup& group) { return Writer(group).write(); }

PointwiseProgramText pointwise_program(std::span<const PointwiseKernel> kernels) {
  PointwiseProgramText program{.text = "#include \"backend/cuda/programs/pointwise.cuh\"\n"};
  std::map<std::string_view, std::size_t> known;
  for (const PointwiseKernel& kernel : kernels) {
    const auto [it, added] = known.try_emplace(kernel.text, program.functions.size());
    program.function_of.push_back(it->second);
    if (!added) continue;
    const std::string name = fmt::format("pointwise_{}", it->second);
    std::string text = kernel.text;
    text.replace(text.find("NAME"), 4, name);
    program.text += "\n" + text;
    program.functions.push_back(name);
  }
  return program;
}

}  // namespace plimsoll::ops
