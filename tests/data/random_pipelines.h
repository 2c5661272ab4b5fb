#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "data/words.h"

namespace plimsoll::data::testing {

/// A pipeline of `stages` stages at random, in the form that Words reads. Ends within a few hundred
/// elements.
class RandomPipeline {
 public:
  explicit RandomPipeline(unsigned seed) : random_(seed * 2654435761U + 17) {}

  nlohmann::json make() {
    nlohmann::json pipe = numbers(2);
    const int stages = 3 + below(6);
    int rank = 0;  // of the tensors; 0: a number comes first
    for (int i = 0; i < stages; ++i) pipe.push_back(stage(rank));
    if (below(4) == 0) pipe.push_back({"repeat", -1});
    pipe.push_back({"take", 250});
    if (below(2) == 0) pipe.push_back({"prefetch", 1 + below(4)});
    return pipe;
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

  nlohmann::json numbers(int depth) {
    nlohmann::json pipe = {{"range", below(5), 20 + below(50), 1 + below(2)}};
    if (depth == 0) return pipe;
    if (below(4) == 0) {
      nlohmann::json zip = {"zip"};
      for (int i = 0; i < 2; ++i) {
        nlohmann::json part = numbers(depth - 1);
        int rank = 0;
        part.push_back(plain_stage());
        part.push_back(number_stage(rank));
        if (rank == 0) zip.push_back(part);
      }
      if (zip.size() == 3) return {zip};
    }
    return pipe;
  }

  nlohmann::json stage(int& rank) {
    if (below(3) == 0) return plain_stage();
    return rank == 0 ? number_stage(rank) : tensor_stage(rank);
  }

  /// For elements of any kind.
  nlohmann::json plain_stage() {
    switch (below(8)) {
      case 0:
        return {"take", 10 + below(60)};
      case 1:
        return {"skip", below(6)};
      case 2:
        return {"repeat", 1 + below(3)};
      case 3:
        return {"shard", 2, below(2)};
      case 4:
        return {"cache"};
      case 5:
        return {"prefetch", 1 + below(5)};
      default:
        return {"shuffle", 1 + below(30), nullptr, below(3) != 0};
    }
  }

  nlohmann::json number_stage(int& rank) {
    switch (below(14)) {
      case 0:
        return {"filter", one_of({"odd", "small", "all"})};
      case 1:
        return {"flat_map", one_of({"mod", "shuffled", "nested"})};
      case 2:
      case 3:
        return {"interleave", one_of({"mod", "two", "shuffled"}), 1 + below(4), 1 + below(3)};
      case 4:
        return {"enumerate", below(3)};
      case 5:
        rank = 1;
        return {"map", "row"};
      case 6:
      case 7:
        rank = 1;
        return {"batch", 1 + below(5), below(2) == 0};
      case 8:
        rank = 1;
        return {"window", 1 + below(5), 1 + below(4), 1 + below(3), below(2) == 0};
      case 9:
        rank = 1;
        return {"padded_batch", 1 + below(5), nullptr, nullptr, below(2) == 0};
      default:
        return {"map", one_of({"plus1", "random", "random"})};
    }
  }

  nlohmann::json tensor_stage(int& rank) {
    switch (below(5)) {
      case 0:
        ++rank;
        return {"padded_batch", 1 + below(4), nullptr, nullptr, false};
      case 1:
        rank = 0;
        return {"map", "sum"};
      default:
        --rank;
        return {"unbatch"};
    }
  }

  std::mt19937 random_;
};

/// A random pipeline that is run over and over in different ways.
class RandomRun {
 public:
  explicit RandomRun(unsigned seed) : seed_(seed), pipe_(RandomPipeline(seed).make()) {}

  std::string name() const { return "seed " + std::to_string(seed_) + ": " + pipe_.dump(); }

  Dataset dataset(const Device& device, int threads) const {
    return Words(device, threads == 1 ? 1 : kAutotune).build(pipe_);
  }
  PipelineOptions options(int threads, Bytes limit) const {
    return {.limit = limit, .threads = threads, .seed = seed_};
  }

  /// The least budget that is not refused at once.
  Bytes minimum() const {
    const Device device = host();
    try {
      Pipeline pipeline(dataset(device, 2), device, options(2, 1));
    } catch (const BudgetTooSmall& error) {
      const std::string message = error.what();
      const auto at = message.find("raise the budget to ") + 20;
      return std::stoull(message.substr(at));
    }
    return 1;
  }

  /// All elements as text.
  std::vector<std::string> stream(int threads, Bytes limit) const {
    const Device device = host();
    Pipeline pipeline(dataset(device, threads), device, options(threads, limit));
    return rest(pipeline);
  }

  static std::vector<std::string> rest(Pipeline& pipeline, std::size_t most = 100'000) {
    std::vector<std::string> result;
    while (result.size() < most) {
      const auto element = pipeline.next();
      if (!element) break;
      result.push_back(words_of(*element));
    }
    return result;
  }

 private:
  unsigned seed_;
  nlohmann::json pipe_;
};

/// One stream for all numbers of threads up to 8 and all `budgets`, as multiples of the minimum.
inline void expect_one_stream(const RandomRun& run, const std::vector<double>& budgets) {
  SCOPED_TRACE(run.name());
  const auto expected = run.stream(1, MiB(128));
  const Bytes least = run.minimum();
  for (int threads = 1; threads <= 8; ++threads) {
    for (const double budget : budgets) {
      const auto limit = static_cast<Bytes>(static_cast<double>(least) * budget);
      ASSERT_EQ(run.stream(threads, limit), expected) << threads << " threads, " << limit;
    }
  }
}

/// What it took to go to saved positions and give the next element, in milliseconds.
struct RestoreTimes {
  double total = 0;
  double worst = 0;
  int count = 0;
};

/// Stops at `points` places at random and goes on in another pipeline.
inline RestoreTimes expect_resumes(const RandomRun& run, int points, unsigned seed) {
  SCOPED_TRACE(run.name());
  std::mt19937 random(seed);
  const Device device = host();
  const auto expected = run.stream(2, MiB(128));
  RestoreTimes times;
  for (int point = 0; point < points; ++point) {
    const std::size_t stop = random() % (expected.size() + 1);
    const int threads = 1 + static_cast<int>(random() % 4);
    Pipeline first(run.dataset(device, threads), device, run.options(threads, MiB(64)));
    EXPECT_EQ(RandomRun::rest(first, stop),
              std::vector<std::string>(expected.begin(),
                                       expected.begin() + static_cast<std::ptrdiff_t>(stop)));
    const int others = 1 + static_cast<int>(random() % 4);
    Pipeline second(run.dataset(device, others), device, run.options(others, MiB(64)));
    const std::string position = first.save();
    const auto begin = std::chrono::steady_clock::now();
    second.restore(position);
    auto tail = RandomRun::rest(second, 1);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    times.total += took.count();
    times.worst = std::max(times.worst, took.count());
    ++times.count;
    for (std::string& each : RandomRun::rest(second)) tail.push_back(std::move(each));
    const std::vector<std::string> left(expected.begin() + static_cast<std::ptrdiff_t>(stop),
                                        expected.end());
    EXPECT_EQ(tail, left) << "stopped after " << stop << ", threads " << threads << " and "
                          << others;
    if (::testing::Test::HasFailure()) break;
  }
  return times;
}

/// The most that each tag holds, and that is mapped, at the ends of epochs does not grow from the
/// first half of them to the second.
inline void expect_no_growth(const RandomRun& run, int epochs) {
  SCOPED_TRACE(run.name());
  const Device device = host();
  Pipeline pipeline(run.dataset(device, 2), device, run.options(2, MiB(32)));
  std::array<std::map<std::string, Bytes>, 2> most;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (epoch > 0) pipeline.rewind();
    while (pipeline.next()) {
    }
    auto& half = most[epoch < epochs / 2 ? 0 : 1];
    const auto note = [&](const std::string& what, Bytes bytes) {
      half[what] = std::max(half[what], bytes);
    };
    for (const Holder& holder : by_tag(device.budget().ledger().holders())) {
      note(std::string(tag_name(holder.tag)), holder.bytes);
    }
    note("mapped", device.arena().stats().mapped);
  }
  for (const auto& [what, bytes] : most[1]) EXPECT_LE(bytes, most[0][what]) << what;
}

}  // namespace plimsoll::data::testing
