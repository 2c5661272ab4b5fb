// What tf.data gives for several hundred small pipelines, recorded by record/record_stages.py, is
// what these stages give.

#include <fstream>

#include <gmock/gmock.h>

#include "data/words.h"
#include "support/source_dir.h"

namespace plimsoll::data::testing {
namespace {

using Json = nlohmann::json;

const Json& recorded_stages() {
  static const Json all = [] {
    std::ifstream file(test_source_dir() / "data/recorded/stages.json");
    return Json::parse(file);
  }();
  return all;
}

struct Outcome {
  std::int64_t cardinality = kUnknown;
  ElementSpec spec;
  std::vector<std::string> out;
  bool more = false;
  bool error = false;
};

Outcome outcome(const Json& pipe, const Device& device, int threads) {
  const auto limit = recorded_stages().at("limit").get<std::size_t>();
  Outcome result;
  try {
    const Dataset dataset = Words(device, threads).build(pipe);
    result.cardinality = dataset.cardinality();
    result.spec = dataset.element_spec();
    Pipeline pipeline(dataset, device, {.threads = threads, .seed = 5});
    while (const auto element = pipeline.next()) {
      result.more = result.out.size() == limit;
      if (result.more) break;
      result.out.push_back(words_of(*element));
      for (std::size_t c = 0; c < result.spec.components.size(); ++c) {
        EXPECT_TRUE(result.spec.components[c].admits(TensorSpec::of(element->at(c))))
            << result.spec.to_string() << " does not admit " << result.out.back();
      }
    }
  } catch (const InvalidArgument&) {
    result.error = true;
  } catch (const DataError&) {
    result.error = true;
  }
  return result;
}

/// Ours may know more than TensorFlow says, and must then be right; it may not know less, but for
/// what a function gives that has not been called.
void expect_spec(const ElementSpec& ours, const Json& theirs, bool inner) {
  if (!ours.known) {
    EXPECT_TRUE(inner) << "the spec is unknown";
    return;
  }
  ASSERT_EQ(ours.components.size(), theirs.size());
  for (std::size_t c = 0; c < theirs.size(); ++c) {
    EXPECT_EQ(dtype_name(ours.components[c].dtype), theirs[c][0].get<std::string>());
    if (theirs[c][1].is_null()) continue;
    const TensorSpec spec{ours.components[c].dtype, theirs[c][1].get<std::vector<std::int64_t>>()};
    EXPECT_TRUE(spec.admits(ours.components[c]))
        << ours.to_string() << ", not " << spec.to_string();
  }
}

/// A count that TensorFlow does not know, or that is not what it gives (it takes repeat().skip(-1)
/// for endless), is one that we may know better.
void expect_cardinality(const Outcome& ours, std::int64_t theirs) {
  if (ours.cardinality == theirs) return;
  const bool counted =
      !ours.more && !ours.error && ours.cardinality == static_cast<std::int64_t>(ours.out.size());
  const bool endless = ours.cardinality == kInfinite && ours.more;
  EXPECT_TRUE(counted || (theirs == kUnknown && endless) || (theirs == kUnknown && ours.error))
      << ours.cardinality << ", not " << theirs;
}

bool has_stage(const Json& pipe, std::string_view prefix) {
  return pipe.dump().find("[\"" + std::string(prefix)) != std::string::npos;
}

TEST(RecordedStages, GiveWhatTensorFlowGives) {
  const Device device = host();
  int cases = 0;
  for (const Json& each : recorded_stages().at("cases")) {
    if (each.contains("shuffled")) continue;
    ++cases;
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(each["pipe"].dump());
      const Outcome ours = outcome(each["pipe"], device, threads);
      EXPECT_EQ(ours.out, each["out"].get<std::vector<std::string>>());
      EXPECT_EQ(ours.more, each.contains("more"));
      EXPECT_EQ(ours.error, each.contains("error"));
      if (!each.contains("spec")) continue;
      const bool inner =
          has_stage(each["pipe"], "flat_map") || has_stage(each["pipe"], "interleave");
      expect_spec(ours.spec, each["spec"], inner);
      expect_cardinality(ours, each["cardinality"]);
    }
  }
  EXPECT_GT(cases, 500);
}

/// Component 0 of "i64 3; ...".
std::vector<std::int64_t> places(const std::vector<std::string>& out, std::size_t from,
                                 std::size_t count) {
  std::vector<std::int64_t> result;
  for (std::size_t i = from; i < std::min(out.size(), from + count); ++i) {
    result.push_back(std::stoll(out[i].substr(4)));
  }
  return result;
}

/// Each chunk of the stream is a permutation in which nothing comes before it was in the window.
void expect_shuffled(const std::vector<std::string>& out, std::size_t chunk, std::int64_t window) {
  for (std::size_t begin = 0; begin < out.size(); begin += chunk) {
    std::vector<std::int64_t> these = places(out, begin, chunk);
    for (std::size_t i = 0; i < these.size(); ++i) {
      EXPECT_LT(these[i], static_cast<std::int64_t>(i) + window) << "at " << begin + i;
    }
    std::sort(these.begin(), these.end());
    for (std::size_t i = 0; i < these.size(); ++i) {
      ASSERT_EQ(these[i], static_cast<std::int64_t>(i)) << "in the chunk from " << begin;
    }
  }
}

TEST(RecordedStages, ShuffleAsTensorFlowDoes) {
  const Device device = host();
  int cases = 0;
  for (const Json& each : recorded_stages().at("cases")) {
    if (!each.contains("shuffled")) continue;
    ++cases;
    SCOPED_TRACE(each["pipe"].dump());
    const Json& facts = each["shuffled"];
    const auto chunk = facts["chunk"].get<std::size_t>();
    const auto window = facts["window"].get<std::int64_t>();
    const auto theirs = each["out"].get<std::vector<std::string>>();
    const Outcome ours = outcome(each["pipe"], device, 2);
    ASSERT_EQ(ours.out.size(), theirs.size());
    EXPECT_EQ(ours.more, each.contains("more"));
    expect_cardinality(ours, each["cardinality"]);
    for (const auto& out : {theirs, ours.out}) {
      expect_shuffled(out, chunk, window);
      if (window > 1 && chunk > 10) {
        EXPECT_FALSE(std::is_sorted(out.begin(), out.end())) << "was not shuffled";
      }
      if (!facts.contains("reshuffled") || window == 1) continue;
      EXPECT_EQ(places(out, 0, chunk) != places(out, chunk, chunk),
                facts["reshuffled"].get<bool>());
    }
  }
  EXPECT_GT(cases, 40);
}

}  // namespace
}  // namespace plimsoll::data::testing
