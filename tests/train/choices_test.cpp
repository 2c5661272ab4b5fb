// What a device's libraries chose goes into checkpoints, and is preferred by a run that goes on.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/device/backend.h>
#include <plimsoll/device/choice_table.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/checkpoint.h>
#include <plimsoll/train/trainer.h>

#include "device/device_state.h"
#include "support/own_device.h"
#include "support/toy_training.h"
#include "train/file_digest.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// The CPU, if its kernels left choices to libraries.
class ChoosingCpu final : public DeviceBackend {
 public:
  DeviceInfo info() const override { return cpu_->info(); }
  std::shared_ptr<PageSource> pages() override { return cpu_->pages(); }
  std::shared_ptr<PageSource> pages_for(Bytes limit) override { return cpu_->pages_for(limit); }
  std::shared_ptr<PageSource> pinned_pages() override { return cpu_->pinned_pages(); }
  std::shared_ptr<FenceSource> fences() override { return nullptr; }
  Bytes runtime() const override { return 0; }
  std::optional<Bytes> process_used() const override { return cpu_->process_used(); }
  StreamId make_stream() override { return cpu_->make_stream(); }
  void synchronize(StreamId stream) override { cpu_->synchronize(stream); }
  void synchronize() override { cpu_->synchronize(); }
  void copy(void* to, const void* from, Bytes bytes, StreamId stream) override {
    cpu_->copy(to, from, bytes, stream);
  }
  ChoiceTable* choice_table() override { return &table; }

  ChoiceTable table;

 private:
  const std::shared_ptr<DeviceBackend> cpu_ = find_backend("cpu")->open(0, {});
};

class CheckpointChoices : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  /// Two epochs of four steps.
  train::FitResult run(const Device& device, train::FitOptions options = {}) {
    train::Trainer trainer(nn::mlp({.in = 16, .hidden = {16}, .classes = 4}),
                           optim::adam({.lr = 0.01}));
    const auto plan = trainer.plan({.batch = 8}, device);
    options.epochs = 2;
    options.checkpoints = (folder_ / "run").string();
    return trainer.fit(plan, test::toy_data(32).batch(8), options);
  }

  /// The first epoch, after which the libraries of `backend` have chosen. Returns the checkpoint.
  fs::path run_half(const std::shared_ptr<ChoosingCpu>& backend) {
    train::FitOptions half;
    half.steps = 4;
    half.callbacks = {{.on_begin = [&](train::Run&) {
      backend->table.took("conv 8x16", "cuDNN 9.19.0 eng46_k2=1");
      backend->table.took("gemm 8x4x16", "cuBLASLt 13.1.0 algorithm=7");
    }}};
    return run(Device::State::open(backend, {.limit = MiB(4)}), half).checkpoint;
  }

  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  /// Puts other choices into a checkpoint, with digests as if they had always been there.
  static void replace(const fs::path& checkpoint, const std::string& text) {
    std::ofstream(checkpoint / "choices.json", std::ios::binary) << text;
    auto state = nlohmann::ordered_json::parse(read(checkpoint / "state.json"));
    state["digests"]["choices.json"] = train::file_digest((checkpoint / "choices.json").string());
    const std::string none(16, '0');
    state["digest"] = none;
    std::string signed_text = state.dump(1) + "\n";
    signed_text.replace(signed_text.rfind(none), none.size(), train::text_digest(signed_text));
    std::ofstream(checkpoint / "state.json", std::ios::binary) << signed_text;
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("choices-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CheckpointChoices, ArePreferredFromTheFirstStepOfARunThatGoesOn) {
  const fs::path half = run_half(std::make_shared<ChoosingCpu>());
  ASSERT_TRUE(fs::exists(half / "choices.json"));
  train::verify_checkpoint(half.string());

  const auto backend = std::make_shared<ChoosingCpu>();
  train::FitOptions rest{.resume = true};
  rest.callbacks = {{.on_begin = [&](train::Run&) {
    EXPECT_EQ(backend->table.preferred("conv 8x16"), "cuDNN 9.19.0 eng46_k2=1");
    // One cannot be had here, and the other is not needed any more.
    backend->table.give_up("conv 8x16", "this is cuDNN 9.20.0");
    backend->table.took("conv 8x16", "cuDNN 9.20.0 eng9");
  }}};
  const auto whole = run(Device::State::open(backend, {.limit = MiB(4)}), rest);
  EXPECT_EQ(whole.steps, 8);
  const auto json = nlohmann::json::parse(read(fs::path(whole.checkpoint) / "choices.json"));
  EXPECT_EQ(json.at("backend"), "cpu");
  EXPECT_THAT(json.at("choices").get<Choices>(),
              ElementsAre(Pair("conv 8x16", "cuDNN 9.20.0 eng9"),
                          Pair("gemm 8x4x16", "cuBLASLt 13.1.0 algorithm=7")));
}

TEST_F(CheckpointChoices, ACheckpointWithoutThemIsResumedAsBefore) {
  train::FitOptions half;
  half.steps = 4;
  const fs::path checkpoint = run(test::own_cpu({.limit = MiB(4)}), half).checkpoint;
  EXPECT_FALSE(fs::exists(checkpoint / "choices.json"));
  // A file of that name which the checkpoint does not name is none of its own.
  std::ofstream(checkpoint / "choices.json") << "[";
  const auto backend = std::make_shared<ChoosingCpu>();
  EXPECT_EQ(run(Device::State::open(backend, {.limit = MiB(4)}), {.resume = true}).steps, 8);
  EXPECT_TRUE(backend->table.all().empty());
}

TEST_F(CheckpointChoices, DamagedOnesAreRefusedLikeAnyFile) {
  const fs::path half = run_half(std::make_shared<ChoosingCpu>());
  const std::string intact = read(half / "choices.json");
  const auto expect_refused = [&](const std::string& what) {
    const auto backend = std::make_shared<ChoosingCpu>();
    try {
      run(Device::State::open(backend, {.limit = MiB(4)}), {.resume = true});
      ADD_FAILURE() << what;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr("choices.json: is damaged")) << what;
    }
    EXPECT_TRUE(backend->table.all().empty()) << what;
  };
  fs::resize_file(half / "choices.json", intact.size() / 2);
  expect_refused("half of it");
  EXPECT_THROW(train::verify_checkpoint(half.string()), DataError);
  fs::remove(half / "choices.json");
  expect_refused("missing");
  for (const std::string text :
       {"", "[1]", R"({"backend": "cpu"})", R"({"backend": "cpu", "choices": {"conv": 7}})"}) {
    replace(half, text);
    expect_refused(text);
  }
  replace(half, intact);
  EXPECT_EQ(run(test::own_cpu({.limit = MiB(4)}), {.resume = true}).steps, 8);
}

TEST_F(CheckpointChoices, OfAnotherKindOfDeviceAreLeftOutWithAWarning) {
  const fs::path half = run_half(std::make_shared<ChoosingCpu>());
  replace(half, R"({"backend": "cuda", "choices": {"conv 8x16": "cuDNN 9.19.0 eng46_k2=1"}})");
  const auto backend = std::make_shared<ChoosingCpu>();
  ::testing::internal::CaptureStderr();
  const auto rest = run(Device::State::open(backend, {.limit = MiB(4)}), {.resume = true});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("was written by a run on 'cuda'; on 'cpu' other kernels compute"));
  EXPECT_EQ(rest.steps, 8);
  EXPECT_TRUE(backend->table.all().empty());
}

}  // namespace
}  // namespace plimsoll
