#include "recommender_data.h"

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/nn/recommendation_models.h>

namespace plimsoll::tools {
namespace {

/// Counts of one label are above those of the other.
constexpr std::uint64_t kCounts = 50;

}  // namespace

bool is_recommender(const nn::Model& model) { return model.find("tables.weight").has_value(); }

RecommenderTables tables_of(const nn::Model& model) {
  const nn::DlrmOptions usual;
  return {model.find("tables.weight")->type().shape[0] / usual.tables,
          (model.input_type(1).shape[1] - usual.dense) / usual.tables};
}

data::MapFunction synthetic_choices(const nn::Model& model, const data::ElementSpec& spec,
                                    std::uint64_t seed) {
  data::MapFunction make;
  make.name = fmt::format("synthetic(seed={})", seed);
  make.output = spec;
  const nn::DlrmOptions usual;
  const RecommenderTables tables = tables_of(model);
  make.run = [=](const data::Element& element, data::MapContext& context) {
    const std::uint64_t key =
        data::mix_ids(seed, static_cast<std::uint64_t>(element[0].as<std::int64_t>()));
    const std::uint64_t label = key % 2;
    std::uint64_t drawn = 0;
    const auto draw = [&](std::int64_t below) {
      return static_cast<std::int64_t>((data::mix_ids(key, drawn++) >> 8) %
                                       static_cast<std::uint64_t>(below));
    };
    Tensor x = context.output(0);
    auto* to = x.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; i < usual.dense; ++i) {
      *to++ = draw(kCounts) + static_cast<std::int64_t>(label * kCounts);
    }
    for (std::int64_t t = 0; t < usual.tables; ++t) {
      const std::int64_t count = tables.rows < 2 ? 0 : 1 + draw(tables.bag);
      for (std::int64_t i = 0; i < tables.bag; ++i) {
        // Of ids from 1 on, every other one goes with a label.
        const std::int64_t pairs = std::max<std::int64_t>(1, (tables.rows - 1) / 2);
        const std::int64_t id = 1 + 2 * draw(pairs) + static_cast<std::int64_t>(label);
        *to++ = i < count ? std::min(id, tables.rows - 1) : 0;
      }
    }
    return data::Element{x, static_cast<std::int64_t>(label)};
  };
  return make;
}

}  // namespace plimsoll::tools
