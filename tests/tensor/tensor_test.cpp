#include <plimsoll/tensor/tensor.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "device/device_state.h"
#include "device/fake_backend.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class TensorTest : public ::testing::Test {
 protected:
  Device cpu_ = test::own_cpu({.limit = MiB(64)});
};

TEST_F(TensorTest, EmptyIsChargedToItsTagAndLabel) {
  const Tensor tensor =
      Tensor::empty({100, 10}, DType::f32, cpu_, {.tag = Tag::parameters, .label = "weight"});
  EXPECT_EQ(tensor.shape(), (Shape{100, 10}));
  EXPECT_EQ(tensor.dtype(), DType::f32);
  EXPECT_EQ(tensor.elements(), 1000);
  EXPECT_EQ(tensor.nbytes(), 4000U);
  EXPECT_EQ(tensor.device(), cpu_);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_THAT(tensor.strides(), ElementsAre(10, 1));
  const auto holders = cpu_.budget().ledger().holders();
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0].tag, Tag::parameters);
  EXPECT_EQ(holders[0].label, "weight");
  EXPECT_GE(holders[0].bytes, 4000U);
}

TEST_F(TensorTest, MemoryGoesWithTheLastView) {
  Tensor view;
  {
    const Tensor tensor = Tensor::zeros({8, 8}, DType::i32, cpu_);
    view = tensor.slice(0, 2, 4);
  }
  EXPECT_EQ(cpu_.arena().stats().blocks, 1U);
  EXPECT_THAT(view.to_vector<std::int32_t>(), Each(0));
  view = {};
  EXPECT_EQ(cpu_.arena().stats().blocks, 0U);
}

TEST_F(TensorTest, KeepsItsDeviceOpen) {
  Tensor tensor;
  {
    const Device device = test::own_cpu({.limit = MiB(1)});
    tensor = Tensor::from_values<float>({1, 2, 3}, {3}, device);
  }
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(1, 2, 3));
}

TEST_F(TensorTest, EveryDTypeHoldsZeros) {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::bytes) continue;
    const Tensor tensor = Tensor::zeros({3, 5}, dtype, cpu_);
    EXPECT_EQ(tensor.nbytes(), 15 * dtype_size(dtype));
    const auto* data = static_cast<const unsigned char*>(tensor.raw_data());
    EXPECT_THAT(std::vector(data, data + tensor.nbytes()), Each(0)) << dtype_name(dtype);
  }
}

TEST_F(TensorTest, ValuesGoInAndOut) {
  Tensor tensor = Tensor::from_values<std::int16_t>({1, -2, 3, -4}, {2, 2}, cpu_);
  EXPECT_THAT(tensor.to_vector<std::int16_t>(), ElementsAre(1, -2, 3, -4));
  const std::vector<std::int16_t> others = {5, 6, 7, 8};
  tensor.copy_from<std::int16_t>(others);
  EXPECT_EQ(tensor.data<std::int16_t>()[3], 8);
  tensor.mutable_data<std::int16_t>()[3] = 9;
  EXPECT_EQ(tensor.select(0, 1).select(0, 1).item<std::int16_t>(), 9);
  const Tensor flags = Tensor::from_values<bool>({true, false}, {2}, cpu_);
  std::array<bool, 2> back{};
  flags.copy_to<bool>(back);
  EXPECT_THAT(back, ElementsAre(true, false));
  const Tensor halves = Tensor::from_values<Float16>({Float16(0.5F)}, {}, cpu_);
  EXPECT_EQ(static_cast<float>(halves.item<Float16>()), 0.5F);
}

TEST_F(TensorTest, ScalarsAndEmptyTensorsAreOrdinary) {
  const Tensor scalar = Tensor::from_values<double>({2.5}, {}, cpu_);
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.elements(), 1);
  EXPECT_EQ(scalar.item<double>(), 2.5);
  EXPECT_TRUE(scalar.is_contiguous());
  EXPECT_EQ(scalar.contiguous().to_vector<double>(), std::vector{2.5});

  const Tensor none = Tensor::from_values<float>({}, {4, 0, 2}, cpu_);
  EXPECT_EQ(none.elements(), 0);
  EXPECT_EQ(none.nbytes(), 0U);
  EXPECT_TRUE(none.is_contiguous());
  EXPECT_EQ(none.raw_data(), nullptr);
  EXPECT_THAT(none.to_vector<float>(), IsEmpty());
  EXPECT_EQ(none.transpose(0, 2).contiguous().shape(), (Shape{2, 0, 4}));
  EXPECT_EQ(none.to(test::own_cpu({.limit = MiB(1)})).elements(), 0);
  EXPECT_THROW(none.item<float>(), InvalidArgument);
  EXPECT_NO_THROW(Tensor::zeros({0}, DType::f32, cpu_));
  EXPECT_EQ(cpu_.budget().ledger().live(), scalar.storage()->block().size());
}

TEST_F(TensorTest, MistakesAreNamed) {
  Tensor tensor = Tensor::zeros({2, 3}, DType::f32, cpu_);
  EXPECT_THAT([&] { (void)tensor.data<double>(); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("f64"), HasSubstr("f32"))));
  EXPECT_THAT([&] { (void)tensor.item<float>(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("[2,3]")));
  std::array<float, 5> five{};
  EXPECT_THAT(
      [&] { tensor.copy_to<float>(five); },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("5 values"), HasSubstr("6 elements"))));
  EXPECT_THROW(tensor.copy_from<float>(five), InvalidArgument);
  EXPECT_THROW(Tensor::from_values<float>({1, 2}, {3}, cpu_), InvalidArgument);
  EXPECT_THAT([&] { Tensor::empty({2}, DType::bytes, cpu_); },
              ThrowsMessage<InvalidArgument>(HasSubstr("from_strings")));
  EXPECT_THROW((void)tensor.string_at(0), InvalidArgument);
}

TEST_F(TensorTest, SizesThatOverflowAreRefused) {
  EXPECT_THROW(Tensor::empty({1LL << 62, 2}, DType::u8, cpu_), InvalidArgument);
  EXPECT_THAT([&] { Tensor::empty({1LL << 62}, DType::f64, cpu_); },
              ThrowsMessage<InvalidArgument>(HasSubstr("63 bits")));
  EXPECT_THROW(Tensor::empty({1LL << 40}, DType::f64, cpu_), OutOfMemory);
}

TEST_F(TensorTest, UndefinedTensorsSaySo) {
  Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_THAT([&] { (void)tensor.shape(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("undefined tensor")));
  EXPECT_THROW((void)tensor.raw_data(), InvalidArgument);
  EXPECT_THROW(tensor.contiguous(), InvalidArgument);
  EXPECT_THROW(tensor.reshape({1}), InvalidArgument);
  EXPECT_THROW(tensor.to(cpu_), InvalidArgument);
}

TEST_F(TensorTest, AClosedSessionTakesItsTensors) {
  Session session = cpu_.session("validation");
  Tensor tensor = Tensor::zeros({2, 2}, DType::f32, session.device(), {.label = "logits"});
  const Tensor none = Tensor::zeros({0}, DType::f32, session.device());
  const Tensor kept = tensor.to(cpu_);
  session.close();
  const auto names_it = AllOf(HasSubstr("\"logits\""), HasSubstr("cpu:0/validation"));
  EXPECT_THAT([&] { (void)tensor.data<float>(); }, ThrowsMessage<Error>(names_it));
  EXPECT_THAT([&] { (void)tensor.to_vector<float>(); }, ThrowsMessage<Error>(names_it));
  EXPECT_THAT([&] { (void)tensor.mutable_data<float>(); }, ThrowsMessage<Error>(names_it));
  EXPECT_THAT([&] { tensor.to(cpu_); }, ThrowsMessage<Error>(names_it));
  EXPECT_THAT([&] { (void)tensor.select(0, 0).select(0, 0).item<float>(); },
              ThrowsMessage<Error>(names_it));
  EXPECT_EQ(tensor.shape(), (Shape{2, 2}));
  EXPECT_NO_THROW((void)none.raw_data());
  EXPECT_THAT(kept.to_vector<float>(), Each(0));
}

TEST_F(TensorTest, OutOfMemoryLeavesEverythingAsItWas) {
  const Tensor kept = Tensor::from_values<float>({1, 2}, {2}, cpu_);
  EXPECT_THROW(Tensor::zeros({MiB(65)}, DType::u8, cpu_), OutOfMemory);
  EXPECT_EQ(cpu_.arena().stats().blocks, 1U);
  EXPECT_THAT(kept.to_vector<float>(), ElementsAre(1, 2));
}

TEST_F(TensorTest, MovesBetweenDevices) {
  const Device other = test::own_cpu({.limit = MiB(1)});
  const Tensor tensor = Tensor::from_values<float>({1, 2, 3, 4}, {2, 2}, cpu_, {.label = "x"});
  const Tensor moved = tensor.transpose(0, 1).to(other);
  EXPECT_EQ(moved.device(), other);
  EXPECT_THAT(moved.to_vector<float>(), ElementsAre(1, 3, 2, 4));
  EXPECT_TRUE(moved.is_contiguous());
  EXPECT_EQ(moved.storage()->label(), "x");
  EXPECT_EQ(tensor.to(cpu_).storage(), tensor.storage());
}

TEST_F(TensorTest, FarMemoryIsReachedByTheDevicesCopies) {
  const auto backend = std::make_shared<FakeBackend>(MiB(64), MiB(1));
  const Device gpu = Device::State::open(backend, {});
  Tensor tensor = Tensor::from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}, gpu);
  EXPECT_GE(backend->copies.load(), 1);
  EXPECT_THAT([&] { (void)tensor.data<float>(); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("cuda:3"), HasSubstr("copy_to"))));
  EXPECT_THROW((void)tensor.mutable_data<float>(), InvalidArgument);
  EXPECT_NE(tensor.raw_data(), nullptr);
  EXPECT_THAT(tensor.transpose(0, 1).to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(tensor.select(0, 1).select(0, 2).item<float>(), 6);
  EXPECT_THAT(tensor.slice(1, 1).to(cpu_).to_vector<float>(), ElementsAre(2, 3, 5, 6));
  const std::vector<float> column = {7, 8};
  tensor.select(1, 0).copy_from<float>(column);
  EXPECT_THAT(tensor.contiguous().to_vector<float>(), ElementsAre(7, 2, 3, 8, 5, 6));
  EXPECT_THAT(tensor.transpose(0, 1).contiguous().to(cpu_).to_vector<float>(),
              ElementsAre(7, 8, 2, 5, 3, 6));
  backend->copies = 0;
  tensor.to_vector<float>();
  EXPECT_EQ(backend->copies.load(), 1) << "a dense tensor is one copy";

  const Tensor zeros = Tensor::zeros({100'003}, DType::u8, gpu);
  EXPECT_THAT(zeros.to_vector<std::uint8_t>(), Each(0));
  EXPECT_THAT([&] { Tensor::from_strings({"a"}, {1}, gpu); },
              ThrowsMessage<InvalidArgument>(HasSubstr("host only")));
}

/// A device that copies items that lie apart by itself.
class StridedBackend final : public FakeBackend {
 public:
  using FakeBackend::FakeBackend;
  bool copy_strided(void* to, const void* from, Bytes item, std::span<const StridedDim> dims,
                    StreamId stream) override {
    ++strided;
    walk(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), item, dims);
    (void)stream;
    return true;
  }
  int strided = 0;

 private:
  static void walk(std::byte* to, const std::byte* from, Bytes item,
                   std::span<const StridedDim> dims) {
    if (dims.empty()) {
      std::memcpy(to, from, item);
      return;
    }
    for (std::int64_t i = 0; i < dims[0].extent; ++i) {
      walk(to + i * dims[0].to, from + i * dims[0].from, item, dims.subspan(1));
    }
  }
};

TEST_F(TensorTest, ADeviceThatCanReordersItsMemoryInOneGo) {
  const auto backend = std::make_shared<StridedBackend>(MiB(64), MiB(1));
  const Device gpu = Device::State::open(backend, {});
  const Tensor tensor = Tensor::from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}, gpu);
  const Tensor turned = tensor.transpose(0, 1).contiguous();
  EXPECT_EQ(backend->strided, 1);
  EXPECT_THAT(turned.to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(tensor.slice(1, 1).contiguous().to_vector<float>(), ElementsAre(2, 3, 5, 6));
  EXPECT_EQ(backend->strided, 2);
  const Tensor dense = tensor.slice(0, 1).clone(gpu, {});
  EXPECT_EQ(backend->strided, 2) << "what is one run is a plain copy";
  EXPECT_THAT(dense.to_vector<float>(), ElementsAre(4, 5, 6));
  EXPECT_THAT(tensor.transpose(0, 1).to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(tensor.transpose(0, 1).to(cpu_).to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(backend->strided, 2) << "the host is not on the device";
}

TEST_F(TensorTest, FromStorageChecksItsBounds) {
  const auto storage = Storage::allocate(cpu_, 100, Tag::user, "raw");
  const auto make = [&](const Shape& shape, std::vector<std::int64_t> strides, Bytes offset) {
    return Tensor::from_storage(storage, DType::f32, shape, strides, offset);
  };
  EXPECT_NO_THROW(make({25}, {}, 0));
  EXPECT_NO_THROW(make({24}, {}, 4));
  EXPECT_NO_THROW(make({}, {}, 96));
  EXPECT_NO_THROW(make({0}, {}, 100));
  EXPECT_NO_THROW(make({3}, {-2}, 16));
  EXPECT_NO_THROW(make({1000, 25}, {0, 1}, 0));
  EXPECT_THROW(make({26}, {}, 0), InvalidArgument);
  EXPECT_THROW(make({25}, {}, 4), InvalidArgument);
  EXPECT_THROW(make({1}, {}, 2), InvalidArgument);
  EXPECT_THROW(make({}, {}, 100), InvalidArgument);
  EXPECT_THROW(make({0}, {}, 104), InvalidArgument);
  EXPECT_THROW(make({3}, {-3}, 16), InvalidArgument);
  EXPECT_THROW(make({3}, {1LL << 62}, 0), InvalidArgument);
  EXPECT_THROW(make({3}, {std::numeric_limits<std::int64_t>::min()}, 0), InvalidArgument);
  EXPECT_THROW(make({3}, {1, 1}, 0), InvalidArgument);
  EXPECT_THROW(Tensor::from_storage(nullptr, DType::f32, {}), InvalidArgument);
}

TEST_F(TensorTest, ForeignMemoryIsReleasedOnceAndNotCharged) {
  std::array<float, 4> memory = {1, 2, 3, 4};
  int released = 0;
  {
    const auto storage = Storage::adopt(cpu_, memory.data(), sizeof(memory), [&] { ++released; });
    const Tensor tensor = Tensor::from_storage(storage, DType::f32, {2, 2});
    const Tensor view = tensor.select(0, 1);
    EXPECT_EQ(view.data<float>(), memory.data() + 2);
    EXPECT_EQ(cpu_.budget().used(), 0U);
  }
  EXPECT_EQ(released, 1);
  EXPECT_THROW(Storage::adopt(cpu_, nullptr, 4, nullptr), InvalidArgument);
}

TEST_F(TensorTest, ReadOnlyMemoryIsNotWritten) {
  std::array<float, 2> memory = {1, 2};
  const auto storage = Storage::adopt(cpu_, memory.data(), sizeof(memory), nullptr, true);
  Tensor tensor = Tensor::from_storage(storage, DType::f32, {2});
  EXPECT_EQ(tensor.data<float>()[1], 2);
  EXPECT_THAT([&] { (void)tensor.mutable_data<float>(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("read-only")));
  EXPECT_THROW((void)tensor.raw_mutable_data(), InvalidArgument);
  EXPECT_THROW(tensor.copy_from<float>(memory), InvalidArgument);
}

TEST_F(TensorTest, AReadOnlyViewSharesTheMemoryAndRefusesWriting) {
  Tensor tensor = Tensor::from_values({1.0F, 2.0F}, {2}, cpu_);
  Tensor view = tensor.read_only();
  EXPECT_EQ(view.data<float>(), tensor.data<float>());
  EXPECT_EQ(view.storage()->label(), tensor.storage()->label());
  EXPECT_EQ(view.storage()->block().data(), tensor.storage()->block().data());
  EXPECT_THAT([&] { (void)view.mutable_data<float>(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("read-only")));
  EXPECT_THROW((void)view.select(0, 1).raw_mutable_data(), InvalidArgument);
  tensor.mutable_data<float>()[1] = 5;
  tensor = Tensor();
  EXPECT_EQ(view.data<float>()[1], 5) << "the view keeps the memory";
  const Tensor text = Tensor::from_strings({"a", "bc"}, {2}, cpu_).read_only();
  EXPECT_EQ(text.string_at(1), "bc");
  EXPECT_EQ(text.select(0, 1).string_at(0), "bc");
}

TEST_F(TensorTest, HandlesAreCountedAcrossThreads) {
  std::atomic<int> released{0};
  std::array<int, 16> memory{};
  {
    const Tensor tensor = Tensor::from_storage(
        Storage::adopt(cpu_, memory.data(), sizeof(memory), [&] { ++released; }), DType::i32, {16});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([tensor] {
        for (int i = 0; i < 1000; ++i) {
          const Tensor view = tensor.reshape({4, 4}).select(0, i % 4);
          if (view.data<std::int32_t>()[0] != 0) return;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace plimsoll
