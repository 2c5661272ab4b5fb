#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/indexed_stage.h"
#include "data/records/crc32c.h"

namespace plimsoll::data {
namespace {

ElementSpec slice_spec(const std::vector<Tensor>& tensors, std::vector<std::string> names) {
  ElementSpec spec;
  spec.names = std::move(names);
  for (const Tensor& tensor : tensors) {
    spec.components.push_back(TensorSpec::of(tensor.dtype(), tensor.shape().with_removed(0)));
  }
  return spec;
}

class SlicesNode final : public IndexedNode {
 public:
  SlicesNode(std::vector<Tensor> tensors, std::vector<std::string> names)
      : IndexedNode("from_tensor_slices", slice_spec(tensors, names).to_string(),
                    slice_spec(tensors, names), tensors.front().dim(0)),
        tensors_(std::move(tensors)) {}
  Element get(std::int64_t index, Engine& /*engine*/) const override {
    Element element;
    for (const Tensor& tensor : tensors_) {
      const bool inlined = tensor.rank() == 1 && tensor.dtype() != DType::bytes;
      if (inlined) {
        const auto* base = static_cast<const std::byte*>(tensor.raw_data());
        element.push_back(Value::from_bits(
            tensor.dtype(), base + index * tensor.strides()[0] *
                                       static_cast<std::int64_t>(dtype_size(tensor.dtype()))));
      } else {
        element.push_back(tensor.select(0, index));
      }
    }
    return element;
  }
  std::uint64_t content() const override {
    std::uint64_t result = 0;
    for (const Tensor& each : tensors_) {
      std::uint32_t crc = 0;
      if (each.dtype() == DType::bytes) {
        for (std::int64_t i = 0; i < each.elements(); ++i) {
          crc = crc32c(each.string_at(i).data(), each.string_at(i).size(), crc);
        }
      } else if (each.nbytes() > 0) {
        const Tensor dense = each.contiguous();
        crc = crc32c(dense.raw_data(), dense.nbytes());
      }
      result = mix_ids(result, crc);
    }
    return result;
  }

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace

Dataset Dataset::from_tensor_slices(std::vector<Tensor> tensors, std::vector<std::string> names) {
  if (tensors.empty()) throw InvalidArgument("[from_tensor_slices] no tensors");
  if (!names.empty() && names.size() != tensors.size()) {
    throw InvalidArgument(
        fmt::format("[from_tensor_slices] {} names for {} tensors", names.size(), tensors.size()));
  }
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() == 0) throw InvalidArgument("[from_tensor_slices] a scalar has no slices");
    if (!tensor.device().capabilities().host_memory) {
      throw InvalidArgument(fmt::format(
          "[from_tensor_slices] a tensor is on {}; copy it to the host", tensor.device().name()));
    }
    if (tensor.dim(0) != tensors.front().dim(0)) {
      throw InvalidArgument(fmt::format("[from_tensor_slices] first dimensions differ: {} and {}",
                                        tensors.front().shape().to_string(),
                                        tensor.shape().to_string()));
    }
  }
  return Dataset(std::make_shared<SlicesNode>(std::move(tensors), std::move(names)));
}

}  // namespace plimsoll::data
