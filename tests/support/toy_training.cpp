#include "support/toy_training.h"

#include <plimsoll/data/map_function.h>

namespace plimsoll::test {

data::Dataset toy_data(std::int64_t count, std::int64_t features, std::int64_t classes) {
  data::MapFunction make;
  make.name = "toy_data";
  make.output = data::ElementSpec{
      true,
      {data::TensorSpec::of(DType::f32, {features}), data::TensorSpec::scalar(DType::i64)},
      {"x", "y"}};
  make.run = [features, classes](const data::Element& element, data::MapContext& context) {
    const auto index = element[0].as<std::int64_t>();
    const std::int64_t label = index % classes;
    Tensor x = context.output(0);
    auto* const values = x.mutable_data<float>();
    for (std::int64_t i = 0; i < features; ++i) {
      const std::uint64_t bits =
          data::mix_ids(static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(i));
      const float noise = static_cast<float>(bits >> 40) / static_cast<float>(1 << 24) - 0.5F;
      values[i] = noise + (i % classes == label ? 1.0F : 0.0F);
    }
    return data::Element{x, label};
  };
  return data::Dataset::range(count).map(make);
}

Refusal parse_refusal(const std::string& message) {
  const auto after = [&](const std::string& words) {
    const std::size_t at = message.find(words);
    if (at == std::string::npos) return std::string();
    const std::size_t begin = at + words.size();
    return message.substr(begin, message.find('\n', begin) - begin);
  };
  const std::string budget = after("smallest budget for this batch: ");
  const std::string batch = after("largest batch for this budget: ");
  Refusal refusal;
  if (!budget.empty()) refusal.budget = parse_bytes(budget);
  if (!batch.empty()) refusal.batch = std::stoll(batch);
  return refusal;
}

}  // namespace plimsoll::test
