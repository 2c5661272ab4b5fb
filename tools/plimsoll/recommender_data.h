#pragma once

#include <cstdint>

#include <plimsoll/data/map_function.h>
#include <plimsoll/nn/model.h>

namespace plimsoll::tools {

/// Whether the model is dlrm, which learns labels 0 and 1 from counts and ids.
bool is_recommender(const nn::Model& model);

/// What dlrm was made with: ids that each of its tables has, and how many it takes at most.
struct RecommenderTables {
  std::int64_t rows = 0;
  std::int64_t bag = 0;
};
RecommenderTables tables_of(const nn::Model& model);

/// Random examples, each a function of the seed and its index: counts, bags of 1 to `bag` ids
/// filled up with 0, and a label that can be told from both.
data::MapFunction synthetic_choices(const nn::Model& model, const data::ElementSpec& spec,
                                    std::uint64_t seed);

}  // namespace plimsoll::tools
