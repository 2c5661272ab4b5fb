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

/// Stands for "..." until it is known how many dimensions that is; they are then named by digits,
/// the last one '0'.
constexpr char kRest = '.';

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

bool is_rest(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

/// Letters, and kRest once at most.
std::string names(std::string_view text, std::string_view part) {
  std::string all;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part.substr(i, 3) == "...") {
      if (has(all, kRest)) fail(text, fmt::format("\"...\" is twice in \"{}\"", part));
      all += kRest;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(part[i])) != 0) {
      all += part[i];
    } else {
      fail(text, fmt::format("'{}' is not a letter", part[i]));
    }
  }
  return all;
}

/// "..." first, then the letters that occur once, in alphabetical order.
std::string default_result(const std::vector<std::string>& operands) {
  std::map<char, int> times;
  for (const std::string& operand : operands) {
    for (const char c : operand) ++times[c];
  }
  std::string result;
  for (const auto& [letter, count] : times) {
    if (letter == kRest || count == 1) result += letter;
  }
  return result;
}

Equation parse(std::string_view text) {
  std::string compact;
  for (const char c : text) {
    if (c != ' ') compact += c;
  }
  const std::size_t arrow = compact.find("->");
  Equation equation;
  std::string_view left = std::string_view(compact).substr(0, arrow);
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = left.find(',');
    equation.operands.push_back(names(text, left.substr(0, comma)));
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  equation.result = arrow != std::string::npos
                        ? names(text, std::string_view(compact).substr(arrow + 2))
                        : default_result(equation.operands);
  return equation;
}

/// With digits for kRest.
std::string with_digits(const std::string& letters, std::int64_t dimensions) {
  const std::size_t at = letters.find(kRest);
  if (at == std::string::npos) return letters;
  std::string digits;
  for (std::int64_t d = dimensions; d > 0; --d) digits += static_cast<char>('0' + d - 1);
  return letters.substr(0, at) + digits + letters.substr(at + 1);
}

/// Names the dimensions that each "..." stands for, aligned at their ends.
void spell_out(std::string_view text, Equation& equation, const std::vector<Tensor>& operands) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::string& letters = equation.operands[i];  // "..." is '.'
    const auto named = static_cast<std::int64_t>(letters.size());
    const bool rest = has(letters, kRest);
    const std::int64_t dimensions = operands[i].rank() - named + (rest ? 1 : 0);
    if (rest ? dimensions < 0 : dimensions != 0) {
      fail(text, fmt::format("operand {} is {}, but \"{}\" names {} dimensions", i,
                             operands[i].type().to_string(), letters, named - (rest ? 1 : 0)));
    }
    letters = with_digits(letters, dimensions);
    if (rest) most = std::max(most, dimensions);
  }
  equation.result = with_digits(equation.result, most);
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

  /// The diagonal of dimensions that have one letter.
  Named diagonal() const {
    for (std::size_t first = 0; first < letters.size(); ++first) {
      const std::size_t second = letters.find(letters[first], first + 1);
      if (second == std::string::npos) continue;
      const char letter = letters[first];
      const std::int64_t n = tensor.dim(static_cast<int>(first));
      std::string left;
      Shape shape;
      std::vector<std::int64_t> by;
      for (std::size_t d = 0; d < letters.size(); ++d) {
        if (d == first || d == second) continue;
        left += letters[d];
        by.push_back(static_cast<std::int64_t>(d));
        shape = shape.with_inserted(shape.rank(), tensor.dim(static_cast<int>(d)));
      }
      by.push_back(static_cast<std::int64_t>(first));
      by.push_back(static_cast<std::int64_t>(second));
      const Tensor flat =
          ops::reshape(ops::transpose(tensor, by), shape.with_inserted(shape.rank(), n * n));
      return Named{ops::slice(flat, shape.rank(), 0, n * n, n + 1), left + letter}.diagonal();
    }
    return *this;
  }

  /// Without dimensions of 1 of "..." that are larger in other operands.
  Named without_broadcast(const std::map<char, std::int64_t>& extents) const {
    std::string left;
    Shape shape;
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const std::int64_t size = tensor.dim(static_cast<int>(d));
      if (is_rest(letters[d]) && size == 1 && extents.at(letters[d]) != 1) continue;
      left += letters[d];
      shape = shape.with_inserted(shape.rank(), size);
    }
    return left == letters ? *this : Named{ops::reshape(tensor, shape), left};
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

/// Of all letters.
std::map<char, std::int64_t> checked_extents(std::string_view text, const Equation& equation,
                                             const std::vector<Tensor>& operands) {
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string& letters = equation.operands[i];
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const char c = letters[d];
      const std::int64_t extent = operands[i].dim(static_cast<int>(d));
      const auto [at, fresh] = extents.emplace(c, extent);
      if (fresh || at->second == extent || (is_rest(c) && extent == 1)) continue;
      if (is_rest(c) && at->second == 1) {
        at->second = extent;
        continue;
      }
      fail(text, fmt::format("{} is {} in one {} and {} in another",
                             is_rest(c) ? "a dimension of \"...\"" : fmt::format("'{}'", c),
                             at->second, letters.find(c) < d ? "place" : "operand", extent));
    }
  }
  for (std::size_t i = 0; i < equation.result.size(); ++i) {
    const char c = equation.result[i];
    if (!extents.contains(c)) fail(text, fmt::format("no operand has the '{}' of the result", c));
    if (equation.result.find(c, i + 1) != std::string::npos) {
      fail(text, fmt::format("the result has '{}' twice", c));
    }
  }
  return extents;
}

}  // namespace

Tensor einsum(std::string_view text, const std::vector<Tensor>& operands) {
  Equation equation = parse(text);
  if (equation.operands.size() != operands.size()) {
    fail(text, fmt::format("it names {} operands, and {} are given", equation.operands.size(),
                           operands.size()));
  }
  spell_out(text, equation, operands);
  const std::map<char, std::int64_t> extents = checked_extents(text, equation, operands);
  std::vector<Named> all;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    all.push_back(Named{operands[i], equation.operands[i]}.without_broadcast(extents).diagonal());
  }
  // What is still to come, and the result, say which letters are needed.
  const auto wanted_after = [&](std::size_t i) {
    std::string wanted = equation.result;
    for (std::size_t j = i + 1; j < all.size(); ++j) wanted += all[j].letters;
    return wanted;
  };
  Named total = all.front().without_all_but(wanted_after(0));
  for (std::size_t i = 1; i < all.size(); ++i) {
    const std::string wanted = wanted_after(i);
    const Named next = all[i].without_all_but(wanted + total.letters);
    total = joined(total, next, wanted).without_all_but(wanted);
  }
  return total.ordered(equation.result);
}

}  // namespace plimsoll::math
