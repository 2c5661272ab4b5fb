#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <plimsoll/memory/out_of_memory.h>

#include "data/words.h"

namespace plimsoll::data::testing {

/// A pipeline at random, in the form that Words reads. Ends within a few hundred elements.
class RandomPipeline {
 public:
  /// Some elements fail, and those errors are left out, or thrown where `throws`.
  explicit RandomPipeline(unsigned seed, bool throws = false)
      : random_(seed * 2654435761U + 17), throws_(throws) {}

  nlohmann::json make() {
    nlohmann::json pipe = numbers(2);
    const int stages = 3 + below(6);
    int rank = 0;  // of the tensors; 0: a number comes first
    for (int i = 0; i < stages; ++i) {
      pipe.push_back(stage(rank));
      if (rank > 0 || below(8) != 0) continue;
      pipe.push_back({"map", "fails"});
      if (!throws_) pipe.push_back({"ignore_errors"});
    }
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
    nlohmann::json pipe = {{"range", below(5), 40 + below(90), 1 + below(2)}};
    if (below(5) == 0) pipe[0] = nlohmann::json::array({"generator", 30 + below(60)});
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
        return {"filter", one_of({"odd", "all"})};
      case 1:
        return {"flat_map", one_of({"mod", "shuffled", "nested"})};
      case 2:
      case 3:
        return {"interleave", one_of({"mod", "two", "shuffled"}), 1 + below(4), 1 + below(3)};
      case 4:
        return {"enumerate", below(3)};
      case 5:
        rank = 1;
        return {"map", one_of({"row", "big", "big"})};
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
  bool throws_;
};

/// A random pipeline that is run over and over in different ways.
class RandomRun {
 public:
  explicit RandomRun(unsigned seed, bool throws = false)
      : seed_(seed), pipe_(RandomPipeline(seed, throws).make()) {}

  std::string name() const { return "seed " + std::to_string(seed_) + ": " + pipe_.dump(); }

  Dataset dataset(const Device& device, int threads) const {
    return Words(device, threads == 1 ? 1 : kAutotune).build(pipe_);
  }
  PipelineOptions options(int threads, Bytes limit) const {
    return {.limit = limit, .threads = threads, .seed = seed_};
  }

  /// The least budget that is not refused at once, or a little more where that is not enough for
  /// one thread: what the specs do not say, such as the rows of a remainder, is not known at once.
  Bytes minimum() const {
    const Device device = host();
    Bytes least = 1;
    for (;;) {
      try {
        stream(1, least);
        return least;
      } catch (const BudgetTooSmall& error) {
        const std::string message = error.what();
        const std::string size = message.substr(message.find("raise the budget to ") + 20);
        least = parse_bytes(size.substr(0, size.find(',')));
      } catch (const OutOfMemory&) {
        least += least / 8;
      }
    }
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
      try {
        const auto element = pipeline.next();
        if (!element) break;
        result.push_back(words_of(*element));
      } catch (const DataError& error) {
        result.emplace_back(error.what());
      }
    }
    return result;
  }

  /// To the end, without looking at what comes.
  static void drain(Pipeline& pipeline) {
    for (bool more = true; more;) {
      try {
        more = pipeline.next().has_value();
      } catch (const DataError&) {
        continue;
      }
    }
  }

 private:
  unsigned seed_;
  nlohmann::json pipe_;
};

/// One stream for all numbers of threads up to 8 and all `budgets`, as multiples of the minimum.
inline void expect_one_stream(const RandomRun& run, const std::vector<double>& budgets) {
  SCOPED_TRACE(run.name());
  const auto expected = run.stream(1, kUnlimited);
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
  const auto expected = run.stream(2, kUnlimited);
  RestoreTimes times;
  for (int point = 0; point < points; ++point) {
    const std::size_t stop = random() % (expected.size() + 1);
    const int threads = 1 + static_cast<int>(random() % 4);
    Pipeline first(run.dataset(device, threads), device, run.options(threads, kUnlimited));
    EXPECT_EQ(RandomRun::rest(first, stop),
              std::vector<std::string>(expected.begin(),
                                       expected.begin() + static_cast<std::ptrdiff_t>(stop)));
    const int others = 1 + static_cast<int>(random() % 4);
    Pipeline second(run.dataset(device, others), device, run.options(others, kUnlimited));
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

/// Bytes by tag, those of windows with those on their way: in which of them an element is at the
/// end of an epoch differs from one to the next.
inline std::map<std::string, Bytes> held_by_tag(const Device& device) {
  std::map<std::string, Bytes> tags;
  for (const std::string_view name : kTagNames) tags[std::string(name)] = 0;
  for (const Holder& holder : device.budget().ledger().holders()) {
    tags[std::string(tag_name(holder.tag))] += holder.bytes;
  }
  tags["input"] += std::exchange(tags["shuffle"], 0);
  return tags;
}

/// A paused pipeline holds after many epochs what it held after one, to the byte. And what it holds
/// at the ends of epochs is no more in the second half of them than in the first; where threads run
/// ahead, how far they have come differs, so that only averages can be compared: they show what a
/// leak of a few bytes adds up to.
inline void expect_no_growth(const RandomRun& run, int epochs, int threads) {
  SCOPED_TRACE(run.name());
  const Device device = host();
  Pipeline pipeline(run.dataset(device, threads), device, run.options(threads, kUnlimited));
  const bool ahead = threads > 1 || run.name().find("prefetch") != std::string::npos;
  std::array<std::map<std::string, std::vector<Bytes>>, 2> halves;
  std::map<std::string, Bytes> paused;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (epoch > 0) pipeline.rewind();
    RandomRun::drain(pipeline);
    auto& half = halves[epoch < epochs / 2 ? 0 : 1];
    for (const auto& [tag, bytes] : held_by_tag(device)) half[tag].push_back(bytes);
    half["mapped"].push_back(device.arena().stats().mapped);
    if (epoch > 0 && epoch + 1 < epochs) continue;
    pipeline.pause();
    for (const auto& [tag, bytes] : held_by_tag(device)) {
      if (epoch == 0) paused[tag] = bytes;
      EXPECT_EQ(bytes, paused[tag]) << tag << " after epoch " << epoch;
    }
  }
  for (auto& [what, later] : halves[1]) {
    const auto& earlier = halves[0][what];
    const auto most = [](const std::vector<Bytes>& all) {
      return *std::max_element(all.begin(), all.end());
    };
    const auto average = [](const std::vector<Bytes>& all) {
      return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
    };
    if (!ahead) {
      EXPECT_LE(most(later), most(earlier)) << what;
    } else {
      const double slack = what == "mapped" ? 256.0 * 1024 : 4.0 * 1024;
      EXPECT_LE(average(later), 1.05 * average(earlier) + slack) << what;
    }
  }
}

}  // namespace plimsoll::data::testing
