// New tensors are written on the stream they were asked for, on a device whose streams do nothing
// before somebody waits for them.
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/device/device.h>
#include <plimsoll/tensor/tensor.h>

#include "device/device_state.h"
#include "support/lazy_backend.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kCount = 1000;

class TensorStreams : public ::testing::Test {
 protected:
  /// Memory of `stream` that was released while work submitted to it still has to write sevens.
  void leave_work_behind() {
    Tensor old = Tensor::empty({kCount}, DType::f32, gpu_, {.stream = stream_});
    gpu_.copy(old.raw_mutable_data(), sevens_.data(), old.nbytes(), stream_);
    address_ = old.raw_data();
  }
  TensorOptions options() const { return {.tag = Tag::user, .label = "new", .stream = stream_}; }
  void expect_all(const Tensor& tensor, float value) {
    EXPECT_EQ(tensor.raw_data(), address_) << "the memory was not that of the work left behind";
    gpu_.synchronize();
    EXPECT_EQ(tensor.to_vector<float>(), std::vector<float>(kCount, value));
  }

  std::shared_ptr<LazyBackend> backend_ = std::make_shared<LazyBackend>(MiB(64));
  Device gpu_ = Device::State::open(backend_, {});
  Device cpu_ = test::own_cpu({.limit = MiB(16)});
  StreamId stream_ = gpu_.make_stream();
  std::vector<float> sevens_ = std::vector<float>(kCount, 7.0F);
  const void* address_ = nullptr;
};

TEST_F(TensorStreams, ZerosComeAfterTheWorkBeforeThem) {
  leave_work_behind();
  const Tensor zeros = Tensor::zeros({kCount}, DType::f32, gpu_, options());
  expect_all(zeros, 0.0F);
}

TEST_F(TensorStreams, ZerosDoNotWaitButTheirReaderDoes) {
  const int before = backend_->host_waits();
  const Tensor zeros = Tensor::zeros({kCount}, DType::f32, gpu_, options());
  EXPECT_EQ(backend_->host_waits(), before);
  EXPECT_FALSE(backend_->idle());
  EXPECT_EQ(zeros.to_vector<float>(), std::vector<float>(kCount, 0.0F));
}

TEST_F(TensorStreams, ValuesOfTheHostComeAfterTheWorkBeforeThem) {
  leave_work_behind();
  std::vector<float> values(kCount, 3.0F);
  const Tensor made =
      Tensor::from_values(std::span<const float>(values), {kCount}, gpu_, options());
  std::fill(values.begin(), values.end(), 4.0F);  // they have been read
  expect_all(made, 3.0F);
}

TEST_F(TensorStreams, ClonesComeAfterTheWorkBeforeThem) {
  std::vector<float> values(kCount, 3.0F);
  Tensor there = Tensor::from_values(std::span<const float>(values), {kCount}, gpu_);
  Tensor here = Tensor::from_values(std::span<const float>(values), {kCount}, cpu_);
  for (Tensor* original : {&there, &here}) {
    leave_work_behind();
    const Tensor clone = original->clone(gpu_, options());
    const std::vector<float> fours(kCount, 4.0F);
    original->copy_from(std::span<const float>(fours));  // the clone has been made
    expect_all(clone, 3.0F);
  }
}

TEST_F(TensorStreams, ClonesWithGapsAreOrderedToo) {
  std::vector<float> values(2 * kCount, 3.0F);
  const Tensor matrix = Tensor::from_values(std::span<const float>(values), {kCount, 2}, cpu_);
  leave_work_behind();
  const Tensor column = matrix.select(1, 1).to(gpu_, options());
  expect_all(column, 3.0F);
}

}  // namespace
}  // namespace plimsoll
