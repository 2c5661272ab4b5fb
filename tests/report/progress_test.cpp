// Progress of runs of any module.
#include <plimsoll/report/progress.h>

#include <cstdio>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/dense.h>
#include <plimsoll/ops/create.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"

namespace plimsoll::report {
namespace {

using ::testing::HasSubstr;

/// A module that does not say what it is fed, as most that users write.
class Net final : public nn::Module {
 public:
  Tensor forward(const Tensor& x) const override { return head(x); }

 private:
  nn::Dense head = add("head", nn::Dense(1));
};

std::string contents(std::FILE* file) {
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

TEST(Progress, CountsExamplesForAModuleThatDoesNotSayWhatItIsFed) {
  const Device device = plimsoll::test::own_cpu({.limit = MiB(64)});
  const data::Dataset batches =
      data::Dataset::from_tensor_slices(
          {zeros({8, 3}, {.device = device}), zeros({8, 1}, {.device = device})})
          .batch(4);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  ASSERT_NE(file, nullptr);
  train::Trainer trainer(Net(), {.loss = "mean_squared_error", .device = device});
  trainer.fit(
      batches,
      {.epochs = 1,
       .callbacks = {progress({.style = ProgressOptions::Style::lines, .out = file.get()})}});
  EXPECT_THAT(contents(file.get()), HasSubstr(" examples/s"));
}

}  // namespace
}  // namespace plimsoll::report
