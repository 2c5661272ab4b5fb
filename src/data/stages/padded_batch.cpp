#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"
#include "data/stages/batch_rows.h"
#include "data/stages/batching.h"
#include "data/stages/gather_stage.h"

namespace plimsoll::data {
namespace {

std::string shape_text(const std::vector<std::int64_t>& dims) {
  return TensorSpec{DType::f32, dims}.to_string().substr(4);
}

std::string padding_parameters(std::int64_t size, const PaddedBatchOptions& options) {
  std::string text = std::to_string(size);
  for (const auto& dims : options.shapes) text += ", " + shape_text(dims);
  for (const Value& value : options.values) text += ", with " + Element{value}.to_string();
  if (options.drop_remainder) text += ", drop_remainder";
  return text;
}

/// What an element of `spec` becomes as a row. Throws InvalidArgument where that cannot be.
ElementSpec padded(const ElementSpec& spec, const PaddedBatchOptions& options) {
  if (!spec.known) return spec;
  const std::size_t count = spec.components.size();
  if (!options.shapes.empty() && options.shapes.size() != count) {
    throw InvalidArgument(fmt::format("[padded_batch] {} shapes for elements {}; give one each",
                                      options.shapes.size(), spec.to_string()));
  }
  if (options.values.size() > 1 && options.values.size() != count) {
    throw InvalidArgument(fmt::format("[padded_batch] {} values for elements {}; give one each",
                                      options.values.size(), spec.to_string()));
  }
  ElementSpec result = spec;
  for (std::size_t c = 0; c < count; ++c) {
    TensorSpec& component = result.components[c];
    if (!options.values.empty()) {
      const Value& value = options.values[options.values.size() == 1 ? 0 : c];
      if (value.dtype() != component.dtype) {
        throw InvalidArgument(
            fmt::format("[padded_batch] component {} is {}, and its padding value {}; give one of "
                        "its dtype",
                        c, component.to_string(), dtype_name(value.dtype())));
      }
    }
    if (options.shapes.empty()) continue;
    const auto& target = options.shapes[c];
    bool fits = !component.dims || component.dims->size() == target.size();
    if (!component.dims) component.dims.emplace(target.size(), kAnyExtent);
    for (std::size_t d = 0; fits && d < target.size(); ++d) {
      std::int64_t& extent = (*component.dims)[d];
      fits = target[d] == kAnyExtent || extent <= target[d];
      if (target[d] != kAnyExtent) extent = target[d];
    }
    if (!fits) {
      throw InvalidArgument(
          fmt::format("[padded_batch] component {} is {} and cannot be padded to {}", c,
                      spec.components[c].to_string(), shape_text(target)));
    }
  }
  return result;
}

std::int64_t padded_batches_of(const Node& input, std::int64_t size, bool drop) {
  const std::int64_t all = input.cardinality();
  return all < 0 ? all : all / size + (drop || all % size == 0 ? 0 : 1);
}

class PaddedBatchNode final : public Node, public BatchRows {
 public:
  PaddedBatchNode(const NodePtr& input, std::int64_t size, const PaddedBatchOptions& options)
      : Node("padded_batch", padding_parameters(size, options), {input},
             batched(padded(input->spec(), options),
                     full_batches_only(*input, size, options.drop_remainder) ? size : kAnyExtent),
             padded_batches_of(*input, size, options.drop_remainder)),
        size_(size),
        options_(options) {}
  std::int64_t rows() const override { return size_; }
  bool drops_remainder() const override { return options_.drop_remainder; }
  StagePtr make(Builder& builder) const override {
    Engine& engine = builder.engine();
    return std::make_unique<GatherStage>(
        builder.input(*this), engine, title(), Gathering{size_, size_, 1, options_.drop_remainder},
        Collator("padded_batch", options_),
        engine.budget().charge(Tag::input, title(), slots() * GatherStage::kSlotBytes));
  }
  Bytes minimum(int /*threads*/) const override {
    const Bytes row = padded(inputs()[0]->spec(), options_).nbytes().value_or(0);
    return slots() * (GatherStage::slot_bytes(inputs()[0]->spec()) + row);
  }

 private:
  Bytes slots() const {
    const std::int64_t all = inputs()[0]->cardinality();
    return static_cast<Bytes>(all >= 0 ? std::min(all, size_) : size_);
  }
  std::int64_t size_;
  PaddedBatchOptions options_;
};

}  // namespace

Dataset Dataset::padded_batch(std::int64_t size, const PaddedBatchOptions& options) const {
  if (size < 1 || size > kMostGathered) {
    throw InvalidArgument(
        fmt::format("[padded_batch] a size of {}; give 1 to {}", size, kMostGathered));
  }
  for (const auto& dims : options.shapes) {
    const bool bad = dims.size() >= static_cast<std::size_t>(kMaxRank) ||
                     std::any_of(dims.begin(), dims.end(), [](auto d) { return d < kAnyExtent; });
    if (bad) {
      throw InvalidArgument(
          fmt::format("[padded_batch] no shape: [{}]; give at most {} extents of 0 or more, and "
                      "leave those open that vary",
                      fmt::join(dims, ","), kMaxRank - 1));
    }
  }
  for (const Value& value : options.values) {
    if (value.shape().rank() != 0 || (!value.is_scalar() && value.dtype() != DType::bytes)) {
      throw InvalidArgument(fmt::format("[padded_batch] a padding value of {}; give a scalar",
                                        TensorSpec::of(value).to_string()));
    }
  }
  return Dataset(std::make_shared<PaddedBatchNode>(node_, size, options));
}

}  // namespace plimsoll::data
