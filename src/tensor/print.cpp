#include <algorithm>
#include <array>
#include <ostream>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/tensor/print.h>

#include "tensor/number_text.h"
#include "tensor/tensor_rep.h"

namespace plimsoll {
namespace {

/// Walks over the elements that are shown: all of them, or the edges of each dimension.
class PrintLayout {
 public:
  PrintLayout(const Shape& shape, const PrintOptions& options)
      : shape_(shape),
        options_(options),
        edge_(std::max<std::int64_t>(options.edge, 1)),
        summary_(shape.elements() > options.threshold) {}

  /// Calls `visit` with the index of each shown element, in row-major order.
  template <typename Visit>
  void for_each_shown(Visit visit) const {
    std::array<std::int64_t, kMaxRank> index{};
    walk(0, index, visit);
  }

  /// The nested brackets around `texts`, one for each shown element in order.
  std::string arrange(const std::vector<std::string>& texts) const {
    std::size_t next = 0;
    return arrange(0, texts, next);
  }

 private:
  bool skips(int dim) const { return summary_ && shape_[dim] > 2 * edge_; }

  template <typename Visit>
  void walk(int dim, std::array<std::int64_t, kMaxRank>& index, Visit& visit) const {
    if (dim == shape_.rank()) {
      visit(index);
      return;
    }
    for (std::int64_t i = 0; i < shape_[dim]; ++i) {
      if (skips(dim) && i == edge_) i = shape_[dim] - edge_;
      index[static_cast<std::size_t>(dim)] = i;
      walk(dim + 1, index, visit);
    }
  }

  std::string arrange(int dim, const std::vector<std::string>& texts, std::size_t& next) const {
    if (dim == shape_.rank()) return texts[next++];
    const std::string indent(static_cast<std::size_t>(dim) + 1, ' ');
    const bool innermost = dim + 1 == shape_.rank();
    const std::string line_break =
        std::string(static_cast<std::size_t>(std::max(1, shape_.rank() - dim - 1)), '\n') + indent;
    std::string result = "[";
    std::size_t column = indent.size();
    for (std::int64_t i = 0; i < shape_[dim]; ++i) {
      const bool gap = skips(dim) && i == edge_;
      if (gap) i = shape_[dim] - edge_ - 1;
      const std::string part = gap ? "..." : arrange(dim + 1, texts, next);
      const bool first = result.size() == 1;
      if (!innermost) {
        result += (first ? "" : line_break) + part;
        continue;
      }
      const bool fits = column + 1 + part.size() < static_cast<std::size_t>(options_.width);
      if (!first) result += fits ? " " : line_break;
      column = (first || fits ? column + (first ? 0 : 1) : indent.size()) + part.size();
      result += part;
    }
    return result + "]";
  }

  const Shape& shape_;
  const PrintOptions& options_;
  std::int64_t edge_;
  bool summary_;
};

void align_right(std::vector<std::string>& texts) {
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
}

std::int64_t position(const std::array<std::int64_t, kMaxRank>& index,
                      std::span<const std::int64_t> strides) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) at += index[i] * strides[i];
  return at;
}

}  // namespace

std::string Tensor::to_string(const PrintOptions& options) const {
  if (rep_ == nullptr) return "undefined tensor";
  const Rep& r = *rep_;
  if (r.symbol != nullptr) return r.symbol->describe() + "\n" + type().to_string();
  const std::string footer = fmt::format("{} {} on {}", dtype_name(r.dtype), r.shape.to_string(),
                                         r.storage->device().name());
  if (r.shape.elements() == 0) return "[]\n" + footer;
  if (!r.storage->alive()) return "closed with its session\n" + footer;

  const PrintLayout layout(r.shape, options);
  std::vector<std::string> texts;
  std::vector<double> floats;
  const auto dense = r.shape.contiguous_strides();
  layout.for_each_shown([&](const std::array<std::int64_t, kMaxRank>& index) {
    if (r.dtype == DType::bytes) {
      const auto rank = static_cast<std::size_t>(r.shape.rank());
      texts.push_back(format_string(string_at(position(index, {dense.data(), rank}))));
      return;
    }
    std::array<std::byte, sizeof(double)> value{};
    const std::int64_t at = position(index, r.stride_span());
    r.storage->device().copy(value.data(),
                             r.address() + at * static_cast<std::int64_t>(item_size(r.dtype)),
                             item_size(r.dtype));
    if (is_floating(r.dtype)) {
      floats.push_back(shortest_value(value.data(), r.dtype));
    } else {
      texts.push_back(format_integer(value.data(), r.dtype));
    }
  });
  if (is_floating(r.dtype)) {
    texts = format_floats(floats, std::max(0, options.precision));
  } else if (r.dtype != DType::bytes) {
    align_right(texts);
  }
  return layout.arrange(texts) + "\n" + footer;
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << x.to_string(); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }

}  // namespace plimsoll
