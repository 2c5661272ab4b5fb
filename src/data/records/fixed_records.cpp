#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/dataset.h>

#include "data/records/records_node.h"

namespace plimsoll::data {
namespace {

class FixedFormat final : public RecordFormat {
 public:
  FixedFormat(Features features, const FixedRecordOptions& options)
      : features_(std::move(features)),
        spec_(features_spec(features_, "fixed_records")),
        options_(options) {
    for (const Feature& feature : features_) {
      const auto bytes = feature.spec.nbytes();
      if (!bytes || feature.missing) {
        throw InvalidArgument(fmt::format(
            "[fixed_records] \"{}\" is {}; a record of one size has numbers of fixed shapes",
            printable(feature.name), feature.spec.to_string()));
      }
      record_ += *bytes;
    }
    if (record_ == 0) throw InvalidArgument("[fixed_records] a record of 0 bytes");
  }
  const char* kind() const override { return "fixed_records"; }
  ElementSpec spec() const override { return spec_; }
  std::string parameters() const override {
    return fmt::format("{}, header={}, footer={}{}", features_text(features_),
                       options_.header_bytes, options_.footer_bytes,
                       options_.big_endian ? ", big-endian" : "");
  }

  RecordIndex index(ByteWindow& window, std::size_t /*file*/) const override {
    RecordIndex index;
    index.bounds.clear();
    const Bytes around = options_.header_bytes + options_.footer_bytes;
    const Bytes inside = window.size() < around ? 0 : window.size() - around;
    index.even = {options_.header_bytes, record_, inside / record_, 0};
    if (window.size() < around) {
      index.even.end = options_.header_bytes + 1;
      index.broken =
          fmt::format("it has {} bytes, and its header and footer {}", window.size(), around);
    } else if (inside % record_ != 0) {
      index.even.end = options_.header_bytes + inside;
      index.broken = fmt::format("{} bytes are left of records of {}", inside % record_, record_);
    }
    return index;
  }

  Element parse(std::span<const std::byte> bytes, std::size_t /*file*/, std::uint64_t /*offset*/,
                const RecordMemory& memory) const override {
    Element element;
    const std::byte* at = bytes.data();
    for (const Feature& feature : features_) {
      const Bytes item = dtype_size(feature.spec.dtype);
      if (feature.spec.dims->empty()) {
        std::array<std::byte, sizeof(std::uint64_t)> number{};
        std::memcpy(number.data(), at, item);
        settle(feature, number.data(), item);
        element.push_back(Value::from_bits(feature.spec.dtype, number.data()));
        at += item;
        continue;
      }
      Tensor tensor =
          Tensor::empty(feature.spec.shape(), feature.spec.dtype, memory.device, memory.options);
      if (tensor.nbytes() > 0) {
        auto* const to = static_cast<std::byte*>(tensor.raw_mutable_data());
        std::memcpy(to, at, tensor.nbytes());
        settle(feature, to, tensor.nbytes());
        at += tensor.nbytes();
      }
      element.push_back(std::move(tensor));
    }
    return element;
  }

 private:
  void settle(const Feature& feature, std::byte* data, Bytes bytes) const {
    const Bytes item = dtype_size(feature.spec.dtype);
    for (Bytes at = 0; options_.big_endian && item > 1 && at < bytes; at += item) {
      std::reverse(data + at, data + at + item);
    }
    if (feature.spec.dtype != DType::boolean) return;
    for (Bytes i = 0; i < bytes; ++i) data[i] = data[i] == std::byte{0} ? data[i] : std::byte{1};
  }

  Features features_;
  ElementSpec spec_;
  FixedRecordOptions options_;
  Bytes record_ = 0;
};

}  // namespace

Dataset Dataset::fixed_records(const Shards& files, Features layout,
                               const FixedRecordOptions& options) {
  // Where records lie need not be looked for.
  RecordOptions own = options.records;
  own.index_from = kUnlimited;
  return records(files.files(), std::make_shared<FixedFormat>(std::move(layout), options), own);
}

}  // namespace plimsoll::data
