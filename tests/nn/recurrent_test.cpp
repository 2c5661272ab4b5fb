#include <plimsoll/nn/recurrent.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/sequential.h>

#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::expect_recorded;
using test::expect_trains;
using test::random_tensor;
using ::testing::HasSubstr;

/// The cases that are recorded for each kind of cell.
template <typename Layer>
void expect_all(const std::string& kind) {
  expect_recorded("recurrent", kind + "_plain", Layer(5));
  expect_recorded("recurrent", kind + "_stacked", Layer(5, {.layers = 2}));
  expect_recorded("recurrent", kind + "_both", Layer(5, {.bidirectional = true}));
  expect_recorded("recurrent", kind + "_lengths",
                  Layer(5, {.in = 3, .layers = 2, .bidirectional = true}));
  expect_recorded("recurrent", kind + "_no_bias", Layer(5, {.bias = false}));
  expect_recorded("recurrent", kind + "_one_step", Layer(5));
  expect_recorded("recurrent", kind + "_one", Layer(1));
  expect_recorded("recurrent", kind + "_long", Layer(5));
}

TEST(RecurrentLayers, LstmEqualsPyTorchs) { expect_all<LSTM>("lstm"); }
TEST(RecurrentLayers, GruEqualsPyTorchs) { expect_all<GRU>("gru"); }
TEST(RecurrentLayers, SimpleRnnEqualsPyTorchs) {
  expect_all<SimpleRNN>("rnn");
  expect_recorded("recurrent", "rnn_relu", SimpleRNN(4, {}, SimpleRNN::Activation::relu));
}

TEST(RecurrentLayers, StartFromAStateAsPyTorchDoes) {
  const LSTM lstm(4, {.in = 3, .layers = 2});
  lstm.materialize(random_tensor({1}, 1).device(), 1);
  for (const Parameter& p : lstm.parameters()) {
    p.assign(test::recorded_tensor("recurrent", "lstm_first.p." + p.name()));
  }
  expect_recorded("recurrent", "lstm_first",
                  [&](const Tensors& in) {
                    const RecurrentResult result = lstm.run(in[0], {}, {in[1], in[2]});
                    return Tensors{result.y, result.state.h, result.state.c};
                  },
                  {.narrow_share = 0});
}

TEST(RecurrentLayers, GoOnFromAState) {
  const LSTM lstm(4, {.in = 3, .layers = 2});
  const Tensor x = random_tensor({2, 6, 3}, 1);
  lstm.materialize(x.device(), 1);
  const Tensor whole = lstm(x);
  const RecurrentResult before = lstm.run(x.slice(1, 0, 2).contiguous());
  const RecurrentResult after = lstm.run(x.slice(1, 2).contiguous(), {}, before.state);
  EXPECT_LT(test::distance(before.y, whole.slice(1, 0, 2).contiguous()), 1e-6);
  EXPECT_LT(test::distance(after.y, whole.slice(1, 2).contiguous()), 1e-6);
}

TEST(RecurrentLayers, WhatLiesBehindALengthChangesNothing) {
  const GRU gru(4, {.in = 3, .bidirectional = true});
  Tensor x = random_tensor({2, 5, 3}, 1);
  gru.materialize(x.device(), 1);
  const Tensor lengths = Tensor::from_values({std::int64_t{5}, std::int64_t{2}}, {2}, x.device());
  const Tensors first = gru(Tensors{x, lengths});
  x.mutable_data<float>()[29] = 1e6F;  // step 4 of the second
  const Tensors second = gru(Tensors{x, lengths});
  EXPECT_TRUE(test::same_bits(first[0], second[0]));
  EXPECT_TRUE(test::same_bits(first[1], second[1]));
}

TEST(RecurrentLayers, AreTrainedInsideOfAPlan) {
  const Tensor x = random_tensor({4, 6, 3}, 1);
  expect_trains(Sequential(LSTM(5, {.layers = 2, .dropout = 0.1}), GRU(4), SimpleRNN(3)), {x});
  const Tensor lengths = test::random_indices({4}, 6, 2);
  expect_trains(LSTM(5, {.bidirectional = true}), {x, lengths});
}

TEST(RecurrentLayers, MistakesAreNamed) {
  const Tensor x = random_tensor({2, 5, 3}, 1);
  const LSTM lstm(4);
  EXPECT_THAT(complaint([&] {
                lstm(random_tensor({2, 5}, 1));
              }),
              HasSubstr("[LSTM] the input is f32 [2,5]; it takes [n, steps, features]"));
  EXPECT_THAT(complaint([&] {
                lstm(Tensors{x, test::random_indices({3}, 2, 1)});
              }),
              HasSubstr("give one for each sequence, [2]"));
  EXPECT_THAT(complaint([&] {
                lstm.run(x, {}, {.h = random_tensor({2, 2, 4}, 1)});
              }),
              HasSubstr("a first state is f32 [2,2,4]; it must be [1,2,4]"));
  EXPECT_THAT(complaint([&] { GRU(0); }), HasSubstr("[GRU] 1 layers of 0"));
  EXPECT_THAT(complaint([&] { GRU(2, {.dropout = 1}); }), HasSubstr("[GRU] dropout is 1"));
}

}  // namespace
}  // namespace plimsoll::nn
