#include <plimsoll/tensor/dlpack.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

#include "device/device_state.h"
#include "device/fake_backend.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The layout other libraries compile against.
static_assert(sizeof(dlpack::DLTensor) == 48);
static_assert(offsetof(dlpack::DLTensor, device) == 8);
static_assert(offsetof(dlpack::DLTensor, ndim) == 16);
static_assert(offsetof(dlpack::DLTensor, dtype) == 20);
static_assert(offsetof(dlpack::DLTensor, shape) == 24);
static_assert(offsetof(dlpack::DLTensor, strides) == 32);
static_assert(offsetof(dlpack::DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64);
static_assert(offsetof(DLManagedTensor, manager_ctx) == 48);
static_assert(sizeof(DLManagedTensorVersioned) == 80);
static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8);
static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16);
static_assert(offsetof(DLManagedTensorVersioned, flags) == 24);
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

/// Another library's tensor, which counts the calls of its deleter.
template <typename Managed>
struct Foreign {
  std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> shape = {2, 3};
  std::vector<std::int64_t> strides = {3, 1};
  int deleted = 0;
  Managed managed{};

  Foreign() {
    managed.dl_tensor = {.data = values.data(),
                         .device = {dlpack::kDLCPU, 0},
                         .ndim = 2,
                         .dtype = {dlpack::kDLFloat, 32, 1},
                         .shape = shape.data(),
                         .strides = strides.data(),
                         .byte_offset = 0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed.version = {1, 1};
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
};

class DLPackTest : public ::testing::Test {
 protected:
  Device cpu_ = test::own_cpu({.limit = MiB(16)});
  Foreign<DLManagedTensorVersioned> foreign_;
  dlpack::DLTensor& dl_ = foreign_.managed.dl_tensor;

  Tensor import() { return from_dlpack(&foreign_.managed, cpu_); }
  void expect_refused(const char* message) {
    EXPECT_THAT([&] { import(); }, ThrowsMessage<InvalidArgument>(HasSubstr(message)));
    EXPECT_EQ(foreign_.deleted, 0) << "a refused tensor stays the caller's";
  }
};

TEST_F(DLPackTest, ExportSharesTheMemoryAndKeepsIt) {
  DLPackPtr exported;
  {
    Tensor tensor = Tensor::from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}, cpu_);
    exported = to_dlpack(tensor.transpose(0, 1).slice(0, 1));
    tensor.mutable_data<float>()[1] = 20;
  }
  const dlpack::DLTensor& dl = exported->dl_tensor;
  EXPECT_EQ(exported->version.major, 1U);
  EXPECT_EQ(exported->flags, 0U);
  EXPECT_EQ(dl.device.device_type, dlpack::kDLCPU);
  EXPECT_EQ(dl.ndim, 2);
  EXPECT_EQ(dl.dtype.code, dlpack::kDLFloat);
  EXPECT_EQ(dl.dtype.bits, 32);
  EXPECT_EQ(dl.dtype.lanes, 1);
  EXPECT_THAT(std::vector(dl.shape, dl.shape + 2), ElementsAre(2, 2));
  EXPECT_THAT(std::vector(dl.strides, dl.strides + 2), ElementsAre(1, 3));
  EXPECT_EQ(dl.byte_offset, 0U);
  EXPECT_EQ(static_cast<float*>(dl.data)[0], 20);
  EXPECT_EQ(cpu_.arena().stats().blocks, 1U);
  exported.reset();
  EXPECT_EQ(cpu_.arena().stats().blocks, 0U);
}

TEST_F(DLPackTest, ImportSharesTheMemoryAndDeletesOnce) {
  {
    Tensor tensor = import();
    EXPECT_EQ(tensor.data<float>(), foreign_.values.data());
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    EXPECT_TRUE(tensor.storage()->foreign());
    EXPECT_EQ(cpu_.budget().used(), 0U);
    Tensor view = tensor.select(0, 1);
    tensor = {};
    EXPECT_EQ(foreign_.deleted, 0);
    view.mutable_data<float>()[0] = 40;
    EXPECT_EQ(foreign_.values[3], 40);
  }
  EXPECT_EQ(foreign_.deleted, 1);
}

TEST_F(DLPackTest, TheLegacyFormWorksBothWays) {
  Foreign<DLManagedTensor> old;
  {
    const Tensor tensor = from_dlpack(&old.managed, cpu_);
    const LegacyDLPackPtr again = to_dlpack_legacy(tensor);
    EXPECT_EQ(again->dl_tensor.data, old.values.data());
  }
  EXPECT_EQ(old.deleted, 1);
}

TEST_F(DLPackTest, EveryDTypeSurvivesARoundTrip) {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::bytes) continue;
    const Tensor tensor = Tensor::zeros({2, 3}, dtype, cpu_);
    const Tensor back = from_dlpack(to_dlpack(tensor).release(), cpu_);
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(back.raw_data(), tensor.raw_data());
  }
  EXPECT_EQ(cpu_.arena().stats().blocks, 0U);
}

TEST_F(DLPackTest, ScalarsAndEmptyTensorsSurvive) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 0, 2}}) {
    const Tensor tensor = Tensor::zeros(shape, DType::i64, cpu_);
    const Tensor back = from_dlpack(to_dlpack(tensor).release(), cpu_);
    EXPECT_EQ(back.shape(), shape);
    EXPECT_EQ(back.elements(), tensor.elements());
  }
  dl_.ndim = 0;
  dl_.shape = nullptr;
  dl_.strides = nullptr;
  EXPECT_EQ(import().item<float>(), 1);
  EXPECT_EQ(foreign_.deleted, 1);
}

TEST_F(DLPackTest, WithoutStridesItIsRowMajor) {
  dl_.strides = nullptr;
  EXPECT_THAT(import().strides(), ElementsAre(3, 1));
}

TEST_F(DLPackTest, TheByteOffsetIsAdded) {
  foreign_.shape = {2, 2};
  dl_.shape = foreign_.shape.data();
  dl_.strides = nullptr;
  dl_.byte_offset = 8;
  EXPECT_THAT(import().to_vector<float>(), ElementsAre(3, 4, 5, 6));
}

TEST_F(DLPackTest, NegativeAndZeroStridesWork) {
  foreign_.strides = {-3, 1};
  dl_.byte_offset = 12;
  EXPECT_THAT(import().to_vector<float>(), ElementsAre(4, 5, 6, 1, 2, 3));
  foreign_.strides = {0, 1};
  dl_.byte_offset = 0;
  EXPECT_THAT(import().to_vector<float>(), ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST_F(DLPackTest, ReadOnlyStaysReadOnly) {
  foreign_.managed.flags = dlpack::kFlagReadOnly;
  Tensor tensor = import();
  EXPECT_EQ(tensor.data<float>()[0], 1);
  EXPECT_THROW((void)tensor.mutable_data<float>(), InvalidArgument);
  EXPECT_EQ(to_dlpack(tensor)->flags & dlpack::kFlagReadOnly, dlpack::kFlagReadOnly);
  EXPECT_THAT([&] { to_dlpack_legacy(tensor); },
              ThrowsMessage<InvalidArgument>(HasSubstr("read-only")));
}

TEST_F(DLPackTest, AMissingDeleterIsFine) {
  foreign_.managed.deleter = nullptr;
  EXPECT_EQ(import().elements(), 6);
}

TEST_F(DLPackTest, UnsupportedDTypesAreRefused) {
  dl_.dtype = {5, 64, 1};  // complex
  expect_refused("code 5, 64 bits");
  dl_.dtype = {dlpack::kDLFloat, 32, 4};
  expect_refused("4 lanes");
  dl_.dtype = {dlpack::kDLUInt, 64, 1};
  expect_refused("code 1, 64 bits");
  dl_.dtype = {dlpack::kDLBool, 1, 1};
  expect_refused("code 6, 1 bits");
}

TEST_F(DLPackTest, OtherDevicesAreRefused) {
  dl_.device = {dlpack::kDLCUDA, 0};
  expect_refused("(2, 0), not on cpu:0");
  dl_.device = {static_cast<dlpack::DLDeviceType>(10), 1};
  expect_refused("(10, 1)");
  dl_.device = {dlpack::kDLCUDAHost, 0};
  EXPECT_EQ(import().elements(), 6);
}

TEST_F(DLPackTest, CudaTensorsNeedTheirOwnDevice) {
  const Device gpu = Device::State::open(std::make_shared<FakeBackend>(MiB(64), 0), {});
  const Tensor tensor = Tensor::zeros({4}, DType::f32, gpu);
  DLPackPtr exported = to_dlpack(tensor);
  EXPECT_EQ(exported->dl_tensor.device.device_type, dlpack::kDLCUDA);
  EXPECT_EQ(exported->dl_tensor.device.device_id, 3);
  EXPECT_THROW(from_dlpack(exported.get(), cpu_), InvalidArgument);
  const Tensor back = from_dlpack(exported.release(), gpu);
  EXPECT_EQ(back.raw_data(), tensor.raw_data());
  dl_.device = {dlpack::kDLCUDA, 2};
  EXPECT_THROW(from_dlpack(&foreign_.managed, gpu), InvalidArgument);
}

TEST_F(DLPackTest, BrokenShapesAreRefused) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  foreign_.shape = {-1, 3};
  dl_.shape = foreign_.shape.data();
  expect_refused("-1");
  foreign_.shape = {kHuge, kHuge};
  expect_refused("63 bits");
  foreign_.shape = {1LL << 62, 1};
  dl_.strides = nullptr;
  expect_refused("");
  foreign_.shape = {2, 3};
  foreign_.strides = {kHuge, 1};
  dl_.strides = foreign_.strides.data();
  expect_refused("reaches too far");
  foreign_.strides = {std::numeric_limits<std::int64_t>::min(), 1};
  expect_refused("reaches too far");
  foreign_.strides = {-(1LL << 60), 1};
  expect_refused("is not memory");
  dl_.ndim = 9;
  expect_refused("9 dimensions");
  dl_.ndim = -1;
  expect_refused("-1 dimensions");
  dl_.ndim = 2;
  dl_.shape = nullptr;
  expect_refused("without a shape");
}

TEST_F(DLPackTest, BrokenAddressesAreRefused) {
  dl_.byte_offset = 2;
  expect_refused("not aligned");
  dl_.byte_offset = ~std::uint64_t{0} - 3;
  expect_refused("is not memory");
  dl_.byte_offset = 0;
  dl_.data = nullptr;
  expect_refused("is not memory");
}

TEST_F(DLPackTest, OtherMajorVersionsAreRefused) {
  foreign_.managed.version = {2, 0};
  expect_refused("version 2.0");
  EXPECT_THROW(from_dlpack(static_cast<DLManagedTensor*>(nullptr), cpu_), InvalidArgument);
}

TEST_F(DLPackTest, BytesHaveNoForm) {
  const Tensor tensor = Tensor::from_strings({"a"}, {1}, cpu_);
  EXPECT_THAT([&] { to_dlpack(tensor); }, ThrowsMessage<InvalidArgument>(HasSubstr("bytes")));
}

TEST_F(DLPackTest, AClosedSessionsTensorIsNotExported) {
  Session session = cpu_.session("s");
  const Tensor tensor = Tensor::zeros({2}, DType::f32, session.device());
  session.close();
  EXPECT_THAT([&] { to_dlpack(tensor); }, ThrowsMessage<Error>(HasSubstr("cpu:0/s")));
}

}  // namespace
}  // namespace plimsoll
