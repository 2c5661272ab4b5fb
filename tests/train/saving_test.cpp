// Checkpoints where a disk is full or a folder cannot be written, damaged ones, and leftovers.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/base/storage_error.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/toy_training.h"
#include "train/atomic_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using test::toy_data;
using ::testing::HasSubstr;

/// No file grows beyond so many bytes while one is there: to a writer it is as a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t most) {
    before_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{most, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_ = {};
  void (*before_handler_)(int) = nullptr;
};

class Saving : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "here");
    fs::create_directories(folder_ / "temporary");
    before_ = fs::current_path();
    fs::current_path(folder_ / "here");
    ::setenv("TMPDIR", (folder_ / "temporary").c_str(), 1);
  }
  void TearDown() override {
    fs::current_path(before_);
    ::unsetenv("TMPDIR");
    fs::remove_all(folder_);
  }

  train::FitResult run(train::FitOptions options, double momentum = 0.9) {
    const Device device = Device::open("cpu:0", {.limit = MiB(4)});
    train::Trainer trainer(nn::mlp({.in = 4, .hidden = {3}, .classes = 4}),
                           optim::sgd({.lr = 0.05, .momentum = momentum}), {.moving_average = 0.9});
    const auto plan = trainer.plan({.batch = 4, .validation_batch = 4}, device);
    options.epochs = 2;
    return trainer.fit(plan, toy_data(24, 4).shuffle({.elements = 8}).batch(4),
                       toy_data(8, 4).batch(4), options);
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("saving-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::path before_;
};

TEST_F(Saving, AFullDiskIsNamedWithItsRoomAndWhatIsNeeded) {
  try {
    train::throw_write_error((folder_ / "model").string(), "write", ENOSPC, 100);
    ADD_FAILURE();
  } catch (const StorageError& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_THAT(error.what(), HasSubstr("the file system at /"));
    EXPECT_THAT(error.what(), HasSubstr("100 B is needed"));
  }
}

TEST_F(Saving, AFileThatMayNotGrowIsNoMistakeOfTheUsers) {
  const SmallFiles small(64);
  try {
    run({.checkpoints = (folder_ / "run").string()});
    ADD_FAILURE();
  } catch (const StorageError& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_THAT(error.what(), HasSubstr((folder_ / "run").string()));
    EXPECT_THAT(error.what(), HasSubstr("cannot write"));
    EXPECT_THAT(error.what(), HasSubstr("raise `ulimit -f`"));
  }
}

TEST_F(Saving, TrainingGoesOnWhileACheckpointCannotBeWritten) {
  std::optional<SmallFiles> small;
  train::FitOptions options{.checkpoints = (folder_ / "run").string(), .checkpoint_steps = 2};
  options.callbacks = {{.on_step = [&](train::Run& run) {
    if (run.step() == 3) small.emplace(64);
    if (run.step() == 9) small.reset();
  }}};
  const train::FitResult result = run(options);
  EXPECT_EQ(result.steps, 12);
  EXPECT_THAT(result.checkpoint, HasSubstr((folder_ / "run" / "step-00000012").string()));
}

TEST_F(Saving, AStopGoesToAnotherFolderThatCanBeWritten) {
  const train::FitResult whole = run({.checkpoints = (folder_ / "whole").string()});
  std::ofstream(folder_ / "file") << "in the way";
  std::atomic<bool> stop{false};
  train::FitOptions options;
  options.stop = &stop;
  options.stop_checkpoints = (folder_ / "file" / "run").string();
  options.callbacks = {{.on_step = [&](train::Run& run) { stop = run.step() == 5; }}};
  const train::FitResult first = run(options);
  EXPECT_EQ(first.steps, 5);
  EXPECT_THAT(first.checkpoint, HasSubstr((folder_ / "here" / "plimsoll-run-").string()));
  const std::string written = fs::path(first.checkpoint).parent_path().string();
  EXPECT_EQ(run({.checkpoints = written, .resume = true}).losses, whole.losses);
}

TEST_F(Saving, AFolderThatVanishesCostsNothing) {
  train::FitOptions options{.checkpoints = (folder_ / "run").string(), .checkpoint_epochs = 0};
  options.callbacks = {{.on_step = [&](train::Run& run) {
    if (run.step() != 6) return;
    fs::remove_all(folder_ / "run");
    std::ofstream(folder_ / "run") << "a file";
    fs::current_path(before_);
    fs::remove_all(folder_ / "here");
    std::ofstream(folder_ / "here") << "a file";
  }}};
  const train::FitResult result = run(options);
  EXPECT_TRUE(fs::exists(fs::path(result.checkpoint) / "state.json")) << result.checkpoint;
  fs::remove_all(fs::path(result.checkpoint).parent_path());
  fs::create_directories(folder_ / "other");
}

TEST_F(Saving, DataThatCannotBeReadDoesNotCostTheWork) {
  const Device device = Device::open("cpu:0", {.limit = MiB(4)});
  train::Trainer trainer(nn::mlp({.in = 4, .hidden = {3}, .classes = 4}), optim::sgd({.lr = 0.05}));
  const auto plan = trainer.plan({.batch = 4}, device);
  const auto bad = toy_data(24, 4).enumerate().map([](const data::Element& e) {
    if (e[0].as<std::int64_t>() == 17) throw DataError("[read] a.jpg: is broken");
    return data::Element{e[1], e[2]};
  });
  train::FitOptions options{.epochs = 1, .checkpoints = (folder_ / "run").string()};
  options.checkpoint_epochs = 0;
  EXPECT_THROW(trainer.fit(plan, bad.batch(4), options), DataError);
  EXPECT_TRUE(fs::exists(folder_ / "run" / "step-00000004-epoch-0000" / "state.json"));
}

TEST_F(Saving, EveryByteOfACheckpointThatChangesIsFound) {
  const std::string run_folder = (folder_ / "run").string();
  const train::FitResult whole = run({.checkpoints = run_folder});
  const Device device = Device::open("cpu:0", {.limit = MiB(4)});
  train::Trainer trainer(nn::mlp({.in = 4, .hidden = {3}, .classes = 4}),
                         optim::sgd({.lr = 0.05, .momentum = 0.9}), {.moving_average = 0.9});
  const auto plan = trainer.plan({.batch = 4, .validation_batch = 4}, device);
  const auto train = toy_data(24, 4).shuffle({.elements = 8}).batch(4);
  const auto validation = toy_data(8, 4).batch(4);
  const train::FitOptions again{.epochs = 2, .checkpoints = run_folder, .resume = true};
  std::int64_t flips = 0;
  for (const char* name : {"state.json", "losses.f32", "train.position", "validation.position",
                           "model.safetensors", "average.safetensors"}) {
    const fs::path path = fs::path(whole.checkpoint) / name;
    std::string intact;
    {
      std::ifstream in(path, std::ios::binary);
      intact.assign(std::istreambuf_iterator<char>(in), {});
    }
    // All of state.json, and every few bytes of files that have digests there.
    const std::size_t every = std::string(name) == "state.json" ? 1 : 1 + intact.size() / 150;
    for (std::size_t at = 0; at < intact.size(); at += every) {
      for (const char flip : {'\x01', '\x10'}) {
        std::string changed = intact;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        std::ofstream(path, std::ios::binary) << changed;
        ++flips;
        try {
          trainer.fit(plan, train, validation, again);
          ADD_FAILURE() << name << " byte " << at;
        } catch (const DataError& error) {
          EXPECT_THAT(error.what(), HasSubstr(name)) << at;
        }
      }
    }
    std::ofstream(path, std::ios::binary) << intact;
  }
  EXPECT_GT(flips, 1000);
  EXPECT_EQ(trainer.fit(plan, train, validation, again).losses, whole.losses);
}

TEST_F(Saving, AResumeWithAnotherMomentumIsRefused) {
  const std::string run_folder = (folder_ / "run").string();
  run({.checkpoints = run_folder});
  try {
    run({.checkpoints = run_folder, .resume = true}, 0.8);
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("optimizer's settings"));
    EXPECT_THAT(error.what(), HasSubstr("0.9"));
  }
}

TEST_F(Saving, LeftoversOfKilledSavesAreRemovedByAResume) {
  const fs::path run_folder = folder_ / "run";
  run({.checkpoints = run_folder.string()});
  fs::create_directories(run_folder / ".step-00000099-epoch-0001-4711");
  std::ofstream(run_folder / "latest.tmp-4711-0") << "step";
  std::ofstream(run_folder / "best.tmp-4711-0") << "step";
  run({.checkpoints = run_folder.string(), .resume = true});
  for (const auto& entry : fs::directory_iterator(run_folder)) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name == ".lock" || name == "latest" || name.starts_with("step-")) << name;
  }
}

}  // namespace
}  // namespace plimsoll
