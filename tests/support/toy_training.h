#pragma once

#include <cstdint>
#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/data/dataset.h>

namespace plimsoll::test {

/// (f32 [features], i64 label below `classes`), in which the label can be learned; the same for the
/// same arguments.
data::Dataset toy_data(std::int64_t count, std::int64_t features = 16, std::int64_t classes = 4);

/// What a refusal to plan names.
struct Refusal {
  Bytes budget = 0;
  std::int64_t batch = -1;
};
Refusal parse_refusal(const std::string& message);

}  // namespace plimsoll::test
