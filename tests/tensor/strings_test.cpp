#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/tensor/tensor.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::string> strings(const Tensor& tensor) {
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) result.emplace_back(tensor.string_at(i));
  return result;
}

class StringTensorTest : public ::testing::Test {
 protected:
  Device cpu_ = test::own_cpu({.limit = MiB(16)});
};

TEST_F(StringTensorTest, HoldsStringsOfAnyLengthInOneBlock) {
  const std::string zeros("a\0b", 3);
  const std::vector<std::string> values = {"train/cat.jpg", "", zeros, std::string(100'000, 'x')};
  const Tensor tensor = Tensor::from_strings(values, {4}, cpu_, {.tag = Tag::input});
  EXPECT_EQ(tensor.dtype(), DType::bytes);
  EXPECT_EQ(strings(tensor), values);
  EXPECT_EQ(tensor.nbytes(), 13 + 0 + 3 + 100'000U);
  EXPECT_EQ(cpu_.arena().stats().blocks, 1U);
  EXPECT_EQ(tensor.string_at(-1).size(), 100'000U);
}

TEST_F(StringTensorTest, HasViews) {
  const Tensor tensor = Tensor::from_strings({"a", "bb", "ccc", "dddd", "", "f"}, {2, 3}, cpu_);
  EXPECT_THAT(strings(tensor.select(0, 1)), ElementsAre("dddd", "", "f"));
  EXPECT_THAT(strings(tensor.transpose(0, 1)), ElementsAre("a", "dddd", "bb", "", "ccc", "f"));
  EXPECT_THAT(strings(tensor.slice(1, 0, 3, 2)), ElementsAre("a", "ccc", "dddd", "f"));
  EXPECT_THAT(strings(tensor.reshape({6}).slice(0, 4)), ElementsAre("", "f"));
  EXPECT_EQ(tensor.select(1, 0).storage(), tensor.storage());
  EXPECT_EQ(tensor.select(1, 0).nbytes(), 5U);
  EXPECT_THAT(strings(tensor.transpose(0, 1).contiguous()),
              ElementsAre("a", "dddd", "bb", "", "ccc", "f"));
  EXPECT_TRUE(tensor.transpose(0, 1).contiguous().is_contiguous());
}

TEST_F(StringTensorTest, CopiesToOtherHostDevices) {
  const Tensor tensor = Tensor::from_strings({"a", "bb", "ccc"}, {3}, cpu_);
  const Device other = test::own_cpu({.limit = MiB(1)});
  const Tensor copy = tensor.slice(0, 1).to(other);
  EXPECT_EQ(copy.device(), other);
  EXPECT_THAT(strings(copy), ElementsAre("bb", "ccc"));
}

TEST_F(StringTensorTest, ScalarsAndNoneAtAll) {
  EXPECT_EQ(Tensor::from_strings({"only"}, {}, cpu_).string_at(0), "only");
  const Tensor none = Tensor::from_strings(std::vector<std::string>{}, {0, 2}, cpu_);
  EXPECT_EQ(none.elements(), 0);
  EXPECT_EQ(none.nbytes(), 0U);
  EXPECT_EQ(none.transpose(0, 1).contiguous().shape(), (Shape{2, 0}));
  EXPECT_THROW((void)none.string_at(0), InvalidArgument);
}

TEST_F(StringTensorTest, MistakesAreNamed) {
  const Tensor tensor = Tensor::from_strings({"a", "b"}, {2}, cpu_);
  EXPECT_THAT([&] { (void)tensor.string_at(2); },
              ThrowsMessage<InvalidArgument>(HasSubstr("no element 2")));
  EXPECT_THROW((void)tensor.string_at(-3), InvalidArgument);
  EXPECT_THROW((void)tensor.data<std::uint8_t>(), InvalidArgument);
  EXPECT_THROW(Tensor::from_strings({"a"}, {2}, cpu_), InvalidArgument);
}

TEST_F(StringTensorTest, AClosedSessionTakesThem) {
  Session session = cpu_.session("s");
  const Tensor tensor = Tensor::from_strings({"a"}, {1}, session.device(), {.label = "paths"});
  session.close();
  EXPECT_THAT([&] { (void)tensor.string_at(0); }, ThrowsMessage<Error>(HasSubstr("\"paths\"")));
}

}  // namespace
}  // namespace plimsoll
