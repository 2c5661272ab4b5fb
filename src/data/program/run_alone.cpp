// A program on one element, outside of any pipeline.
#include <plimsoll/base/error.h>
#include <plimsoll/data/program.h>
#include <plimsoll/memory/heap.h>

#include "data/sources/read_file.h"

namespace plimsoll::data {
namespace {

class DeviceContext final : public MapContext, private image::Scratch {
 public:
  DeviceContext(const Device& device, const ElementSpec& output, Philox::Key key, std::uint64_t id)
      : device_(device),
        output_(output),
        key_(key),
        id_(id),
        decode_(device.budget().account(Tag::decode, "program")) {}

  Tensor output(std::size_t index) override {
    return empty(output_.components.at(index).shape(), output_.components.at(index).dtype);
  }
  Tensor empty(const Shape& shape, DType dtype) override {
    return Tensor::empty(shape, dtype, device_, {.tag = Tag::user, .label = "program"});
  }
  Value text(std::string_view value) override { return Value(texts({&value, 1}, {})); }
  Tensor texts(std::span<const std::string_view> values, const Shape& shape) override {
    return Tensor::from_strings(values, shape, device_, {.tag = Tag::user, .label = "program"});
  }
  image::Scratch& scratch() override { return *this; }
  FileBytes read_file(std::string_view path) override {
    return data::read_file(std::string(path), device_.arena(), decode_);
  }
  Philox::Counter random(std::uint32_t draw) const override {
    return Philox::draw(
        {static_cast<std::uint32_t>(id_), static_cast<std::uint32_t>(id_ >> 32), draw, 0}, key_);
  }

 private:
  void* allocate(Bytes bytes) override {
    Block block = device_.arena().allocate(bytes == 0 ? 1 : bytes, decode_);
    void* const pointer = block.data();
    scratch_.emplace_back(pointer, std::move(block));
    return pointer;
  }
  void free(void* pointer) noexcept override {
    std::erase_if(scratch_, [pointer](const auto& each) { return each.first == pointer; });
  }

  const Device& device_;
  const ElementSpec& output_;
  const Philox::Key key_;
  const std::uint64_t id_;
  const Account decode_;
  std::vector<std::pair<void*, Block>> scratch_;
};

}  // namespace

Element Program::run(const Element& element, const Device& device, std::uint64_t seed,
                     std::uint64_t epoch) const {
  const std::uint64_t mixed = mix_ids(seed, epoch);
  DeviceContext context(
      device, output_spec(),
      {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)}, element.id);
  return run(element, context);
}

}  // namespace plimsoll::data
