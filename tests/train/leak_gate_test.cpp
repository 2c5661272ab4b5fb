#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

using test::toy_data;
using ::testing::AllOf;
using ::testing::HasSubstr;

class LeakGate : public ::testing::Test {
 protected:
  train::FitResult fit(const train::Callback& callback, train::LeakGateOptions gate = {}) {
    train::Trainer trainer(nn::mlp({.in = 16, .hidden = {32}, .classes = 4}), optim::sgd());
    const auto plan = trainer.plan({.batch = 16}, device_);
    return trainer.fit(plan, toy_data(160).batch(16),
                       {.epochs = 8, .callbacks = {callback}, .leak_gate = gate});
  }
  void leak(const char* label) {
    leaked_.push_back(Tensor::zeros({64}, DType::f32, device_, {.label = label}));
  }

  Device device_ = test::own_cpu({.limit = MiB(8)});
  std::vector<Tensor> leaked_;
};

TEST_F(LeakGate, NamesALeakOfACallbackWithinThreeEpochs) {
  std::int64_t epochs = 0;
  try {
    fit({.on_epoch = [&](train::Run& run) {
      epochs = run.epoch();
      leak("kept predictions");
    }});
    FAIL() << "nothing was noticed";
  } catch (const train::MemoryLeak& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("user 'kept predictions'"), HasSubstr("epoch 3")));
    EXPECT_THAT(error.report().history, ::testing::ElementsAre(0, 256, 512, 768));
  }
  EXPECT_EQ(epochs, 3);
}

TEST_F(LeakGate, NamesALeakOfEveryStepWithinThreeEpochs) {
  std::int64_t steps = 0;
  try {
    fit({.on_step = [&](train::Run& run) {
      steps = run.step();
      leak("gradients of old steps");
    }});
    FAIL() << "nothing was noticed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("gradients of old steps"));
  }
  EXPECT_LE(steps, 30);
}

TEST_F(LeakGate, WarnsOnlyIfAskedTo) {
  const auto leaks = [&](train::Run&) { leak("kept"); };
  EXPECT_EQ(fit({.on_epoch = leaks}, {.action = train::LeakGateOptions::Action::warn}).epochs, 8);
  EXPECT_EQ(fit({.on_epoch = leaks}, {.action = train::LeakGateOptions::Action::off}).epochs, 8);
}

TEST_F(LeakGate, LetsPassWhatComesAndGoes) {
  // Grows through an epoch and is let go at its end; grows for two epochs and then stays.
  const train::Callback callback{
      .on_step = [&](train::Run&) { leak("of this epoch"); },
      .on_epoch = [&](train::Run&) { leaked_.clear(); },
  };
  EXPECT_EQ(fit(callback).epochs, 8);
  std::vector<Tensor> kept;
  EXPECT_EQ(fit({.on_epoch =
                     [&](train::Run& run) {
                       if (run.epoch() > 2) return;
                       kept.push_back(Tensor::zeros({64}, DType::f32, device_, {.label = "few"}));
                     }})
                .epochs,
            8);
}

}  // namespace
}  // namespace plimsoll
