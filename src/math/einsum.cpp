#include <plimsoll/math/einsum.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::math {
namespace {

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

[[noreturn]] void fail(std::string_view equation, const std::string& what) {
  throw InvalidArgument(fmt::format("[einsum] \"{}\": {}", equation, what));
}

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

Equation parse(std::string_view text) {
  std::string compact;
  for (const char c : text) {
    if (c != ' ') compact += c;
  }
  if (compact.find("...") != std::string::npos) {
    fail(text, "\"...\" is not supported; name every dimension");
  }
  const std::size_t arrow = compact.find("->");
  Equation equation;
  std::string current;
  for (const char c : compact.substr(0, arrow) + ",") {
    if (c == ',') {
      equation.operands.push_back(current);
      current.clear();
      continue;
    }
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      fail(text, fmt::format("'{}' is not a letter", c));
    }
    if (has(current, c)) {
      fail(text, fmt::format("'{}' is twice in one operand; take the diagonal first", c));
    }
    current += c;
  }
  if (arrow != std::string::npos) {
    equation.result = compact.substr(arrow + 2);
  } else {
    std::map<char, int> times;
    for (const std::string& operand : equation.operands) {
      for (const char c : operand) ++times[c];
    }
    for (const auto& [letter, count] : times) {
      if (count == 1) equation.result += letter;
    }
  }
  return equation;
}

/// A tensor whose dimensions have letters.
struct Named {
  Tensor tensor;
  std::string letters;

  std::int64_t extent(std::string_view of) const {
    std::int64_t product = 1;
    for (const char c : of) product *= tensor.dim(static_cast<int>(letters.find(c)));
    return product;
  }

  /// Sums over the dimensions that are not in `wanted`.
  Named without_all_but(std::string_view wanted) const {
    std::vector<std::int64_t> axes;
    std::string left;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (has(wanted, letters[i])) {
        left += letters[i];
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (axes.empty()) return *this;
    return {ops::sum(tensor, {.axes = axes}), left};
  }

  /// With its dimensions in this order.
  Tensor ordered(std::string_view order) const {
    if (order == letters) return tensor;
    std::vector<std::int64_t> by;
    for (const char c : order) by.push_back(static_cast<std::int64_t>(letters.find(c)));
    return ops::transpose(tensor, by);
  }
};

/// One of two operands, summed over what both have and `wanted` has not.
Named joined(const Named& a, const Named& b, std::string_view wanted) {
  std::string batch;
  std::string summed;
  std::string left;
  std::string right;
  for (const char c : a.letters) {
    if (!has(b.letters, c)) {
      left += c;
    } else if (has(wanted, c)) {
      batch += c;
    } else {
      summed += c;
    }
  }
  for (const char c : b.letters) {
    if (!has(a.letters, c)) right += c;
  }
  const Tensor x = ops::reshape(a.ordered(batch + left + summed),
                                Shape{a.extent(batch), a.extent(left), a.extent(summed)});
  const Tensor y = ops::reshape(b.ordered(batch + right + summed),
                                Shape{b.extent(batch), b.extent(right), b.extent(summed)});
  Shape shape;
  for (const char c : batch + left) shape = shape.with_inserted(shape.rank(), a.extent({&c, 1}));
  for (const char c : right) shape = shape.with_inserted(shape.rank(), b.extent({&c, 1}));
  return {ops::reshape(ops::matmul(x, y, {.transpose_b = true}), shape), batch + left + right};
}

void check(std::string_view text, const Equation& equation, const std::vector<Tensor>& operands) {
  if (equation.operands.size() != operands.size()) {
    fail(text, fmt::format("it names {} operands, and {} are given", equation.operands.size(),
                           operands.size()));
  }
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string& letters = equation.operands[i];
    if (static_cast<std::size_t>(operands[i].rank()) != letters.size()) {
      fail(text, fmt::format("operand {} is {}, but \"{}\" names {} dimensions", i,
                             operands[i].type().to_string(), letters, letters.size()));
    }
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const std::int64_t extent = operands[i].dim(static_cast<int>(d));
      const auto [at, fresh] = extents.emplace(letters[d], extent);
      if (!fresh && at->second != extent) {
        fail(text, fmt::format("'{}' is {} in one operand and {} in another", letters[d],
                               at->second, extent));
      }
    }
  }
  for (std::size_t i = 0; i < equation.result.size(); ++i) {
    const char c = equation.result[i];
    if (!extents.contains(c)) fail(text, fmt::format("no operand has the '{}' of the result", c));
    if (equation.result.find(c, i + 1) != std::string::npos) {
      fail(text, fmt::format("the result has '{}' twice", c));
    }
  }
}

}  // namespace

Tensor einsum(std::string_view text, const std::vector<Tensor>& operands) {
  const Equation equation = parse(text);
  check(text, equation, operands);
  // What is still to come, and the result, say which letters are needed.
  const auto wanted_after = [&](std::size_t i) {
    std::string wanted = equation.result;
    for (std::size_t j = i + 1; j < operands.size(); ++j) wanted += equation.operands[j];
    return wanted;
  };
  Named total{operands.front(), equation.operands.front()};
  total = total.without_all_but(wanted_after(0));
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const std::string wanted = wanted_after(i);
    const Named next =
        Named{operands[i], equation.operands[i]}.without_all_but(wanted + total.letters);
    total = joined(total, next, wanted).without_all_but(wanted);
  }
  return total.ordered(equation.result);
}

}  // namespace plimsoll::math
