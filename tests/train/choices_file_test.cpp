// Files of choices: what is written is read, and nothing else is.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/device/choice_table.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/choices_file.h>
#include <plimsoll/train/trainer.h>

#include "support/choosing_backend.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const train::ChoicesFile kFile = {
    .backend = "cuda",
    .device = "NVIDIA H200",
    .libraries = "cuBLASLt 13.1.0, cuDNN 9.14.0",
    .choices = {{"conv0 bf16 8x16 | \"quoted\" \\", "cuDNN 9.14.0 eng46_k2=1"},
                {"gemm 8x4x16", "cuBLASLt 13.1.0 bias=0 workspace=0 algorithm=00ff"},
                {"größe", ""}}};

class ChoicesFiles : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const fs::path path = folder_ / "choices.json";
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("choices-file-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

void expect_equal(const train::ChoicesFile& a, const train::ChoicesFile& b) {
  EXPECT_EQ(a.backend, b.backend);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.libraries, b.libraries);
  EXPECT_EQ(a.choices, b.choices);
}

TEST_F(ChoicesFiles, AreReadAsTheyWereWritten) {
  const std::string path = (folder_ / "choices.json").string();
  train::write_choices(path, kFile);
  expect_equal(train::read_choices(path), kFile);
  train::write_choices(path, {.backend = "cpu"});
  expect_equal(train::read_choices(path), {.backend = "cpu"});
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing is left beside it";
  EXPECT_THROW(train::write_choices((folder_ / "none" / "choices.json").string(), kFile), Error);
}

TEST_F(ChoicesFiles, EveryCutOfOneIsRefused) {
  const std::string whole = to_json(kFile);
  for (std::size_t n = 0; n + 2 < whole.size(); ++n) {
    EXPECT_THROW(train::parse_choices(std::string_view(whole).substr(0, n)), DataError) << n;
  }
}

TEST_F(ChoicesFiles, HostileOnesAreRefusedByWhatIsWrong) {
  const auto expect = [](const std::string& text, const std::string& why) {
    EXPECT_THAT([&] { train::parse_choices(text); }, ThrowsMessage<DataError>(HasSubstr(why)))
        << text.substr(0, 200);
  };
  const std::string none = "not the choices of a device's libraries";
  for (const char* text :
       {"", "[]", "7", "null", "{}", "{\"backend\": \"cuda\"}", "{\"choices\": {}}",
        "{\"backend\": 7, \"choices\": {}}", "{\"backend\": \"cuda\", \"choices\": []}",
        "{\"backend\": \"cuda\", \"choices\": {\"a\": 1}}",
        "{\"backend\": \"cuda\", \"choices\": {\"a\": {\"b\": \"c\"}}}",
        "{\"backend\": \"cuda\", \"device\": [], \"choices\": {}}",
        "{\"backend\": \"cuda\", \"choices\": {}} more",
        "{\"backend\": \"cuda\", \"choices\": {\"a\": \"\xff\xfe\"}}"}) {
    expect(text, none);
  }
  expect(std::string(1000000, '['), none);
  std::string deep;
  for (int i = 0; i < 200000; ++i) deep += "{\"a\":";
  expect(deep, none);
  expect("{\"backend\": \"cuda\", \"choices\": {\"a\": \"1\", \"a\": \"2\"}}",
         "'a' is there twice");
  expect("{\"backend\": \"cuda\", \"choices\": {}, \"choices\": {\"a\": \"1\"}}",
         "'choices' is there twice");
  expect("{\"backend\": \"cuda\", \"choices\": {\"\": \"1\"}}", "not printable text");
  expect("{\"backend\": \"cuda\", \"choices\": {\"a\\u001b[31m\": \"1\"}}", "not printable text");
  expect("{\"backend\": \"cuda\", \"choices\": {\"a\": \"1\\n2\"}}", "not printable text");
  expect("{\"backend\": \"cuda\", \"device\": \"\\u0007\", \"choices\": {}}",
         "'device' is not printable text");
  const std::string large(ChoiceTable::kMost, 'x');
  expect(fmt::format("{{\"backend\": \"cuda\", \"choices\": {{\"a\": \"{}\"}}}}", large),
         "a device keeps 4 MiB");
  expect(std::string(4 * ChoiceTable::kMost + 1, ' '), "choices take at most 16 MiB");
}

TEST_F(ChoicesFiles, ThatCannotBeReadNameThePathAndTheRemedy) {
  const auto expect = [](const std::string& path, const std::string& why) {
    EXPECT_THAT([&] { train::read_choices(path); },
                ThrowsMessage<DataError>(
                    AllOf(HasSubstr(path), HasSubstr(why), HasSubstr("plimsoll tune"))));
  };
  expect((folder_ / "nothing").string(), "there is no such file");
  expect(folder_.string(), "not an ordinary file");
  expect("/dev/zero", "not an ordinary file");
  expect(write("{\"backend\": \"cuda\", \"choices\": "), "it is damaged");
  fs::resize_file(write(""), GiB(64));  // sparse
  expect((folder_ / "choices.json").string(), "choices take at most");
  // A trainer reads it when it is made, before anything is planned.
  const std::string path = write("no choices");
  EXPECT_THAT(
      [&] { train::Trainer(nn::mlp({.in = 4, .hidden = {4}, .classes = 2}), {.choices = path}); },
      ThrowsMessage<DataError>(HasSubstr("it is damaged")));
}

TEST_F(ChoicesFiles, AreForTheDeviceThatTheyWereMeasuredOn) {
  const auto backend = std::make_shared<test::ChoosingDevice>();
  const Device device = test::open_choosing(backend, MiB(16));
  train::ChoicesFile file = train::choices_file(device, {{"a", "b"}});
  EXPECT_EQ(file.backend, "chooser");
  EXPECT_EQ(file.libraries, "Products 1.0");
  EXPECT_EQ(train::why_not_for(file, device), "");
  EXPECT_THAT(train::why_not_for(file, test::own_cpu({.limit = MiB(16)})),
              HasSubstr("measured on 'chooser', and cpu:0 is of 'cpu'"));
  file.libraries = "Products 1.1";
  EXPECT_THAT(train::why_not_for(file, device),
              HasSubstr("measured with Products 1.1, and here is Products 1.0"));
  file.device = "another";
  EXPECT_THAT(train::why_not_for(file, device), HasSubstr("measured on 'another'"));
  // Checkpoints did not always say.
  EXPECT_EQ(train::why_not_for({.backend = "chooser"}, device), "");
}

}  // namespace
}  // namespace plimsoll
