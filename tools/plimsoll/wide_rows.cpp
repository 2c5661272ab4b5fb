#include "wide_rows.h"

#include <fmt/format.h>

namespace plimsoll::tools {
namespace {

/// Records of fewer numbers are made into rows by programs.
constexpr std::size_t kWideRow = 256;

}  // namespace

std::optional<data::MapFunction> gather_row(const data::ElementSpec& record,
                                            std::optional<std::size_t> label) {
  const std::size_t all = record.components.size();
  if (all <= kWideRow) return std::nullopt;
  for (std::size_t i = 0; i < all; ++i) {
    const data::TensorSpec& each = record.components[i];
    if (!each.dims || !each.dims->empty()) return std::nullopt;
    if (i != label && each.dtype != DType::f32) return std::nullopt;
  }
  const auto numbers = static_cast<std::int64_t>(label ? all - 1 : all);
  data::MapFunction gather;
  gather.name = label ? fmt::format("row(label={})", *label) : "row";
  gather.random = false;
  gather.output =
      data::ElementSpec{true,
                        {data::TensorSpec::of(DType::f32, Shape{numbers}),
                         label ? record.components[*label] : data::TensorSpec::scalar(DType::i64)},
                        {"row", "label"}};
  gather.run = [label](const data::Element& element, data::MapContext& context) {
    Tensor row = context.output(0);
    auto* to = static_cast<float*>(row.raw_mutable_data());
    for (std::size_t i = 0; i < element.size(); ++i) {
      if (i != label) *to++ = element.at(i).as<float>();
    }
    return label ? data::Element{row, element.at(*label)} : data::Element{row, std::int64_t{0}};
  };
  return gather;
}

}  // namespace plimsoll::tools
