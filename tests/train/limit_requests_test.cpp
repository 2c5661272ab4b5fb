#include <plimsoll/train/limit_requests.h>

#include <vector>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using train::LimitRequests;

TEST(LimitRequests, AreAnsweredInTheirOrderWithWhatTheRunSays) {
  LimitRequests requests;
  std::vector<std::string> answers;
  for (const Bytes limit : {MiB(1), MiB(2)}) {
    ASSERT_TRUE(requests.post({.limit = limit,
                               .wanted = [] { return true; },
                               .answer = [&](const auto& v) { answers.push_back(v.refusal); }}));
  }
  EXPECT_TRUE(requests.waiting());
  requests.serve([](Bytes limit) {
    return LimitRequests::Verdict{.refusal = limit == MiB(1) ? "too small" : ""};
  });
  EXPECT_EQ(answers, (std::vector<std::string>{"too small", ""}));
  EXPECT_FALSE(requests.waiting());
}

TEST(LimitRequests, AreDroppedIfNobodyWaitsForTheAnswer) {
  LimitRequests requests;
  bool answered = false;
  requests.post({.limit = MiB(1),
                 .wanted = [] { return false; },
                 .answer = [&](const auto&) { answered = true; }});
  bool taken = false;
  requests.serve([&](Bytes) {
    taken = true;
    return LimitRequests::Verdict{};
  });
  EXPECT_FALSE(taken);
  EXPECT_FALSE(answered);
}

TEST(LimitRequests, AreTurnedAwayWhenTooManyWait) {
  LimitRequests requests;
  const auto post = [&] {
    return requests.post({.limit = 1, .wanted = [] { return true; }, .answer = [](const auto&) {}});
  };
  for (std::size_t i = 0; i < LimitRequests::kMost; ++i) EXPECT_TRUE(post());
  EXPECT_FALSE(post());
  requests.clear();
  EXPECT_FALSE(requests.waiting());
  EXPECT_TRUE(post());
}

}  // namespace
}  // namespace plimsoll
