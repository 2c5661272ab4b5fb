#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <plimsoll/data/map_function.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/engine.h"

namespace plimsoll::data {

/// What all calls of one map stage share.
struct MapSetting {
  MapSetting(Engine& on, const MapFunction& applied, std::uint64_t stage_number);

  Engine& engine;
  MapFunction function;
  std::string title;
  TensorOptions results;
  Account decode;
  std::uint64_t number;
  std::uint64_t epoch = 0;

  Philox::Key key() const;
  /// Calls the function; its errors become DataErrors that name the element. OutOfMemory passes.
  Element call(const Element& element, MapContext& context) const;
  /// "photos/a.jpg: cut off (load_images)": the file first where the element is one.
  std::string failure(const Element& element, std::string_view what) const;
  /// What failure() says of an element that has no room: `taken` is what it needs in all.
  std::string too_large(const OutOfMemoryReport& report, Bytes taken) const;
  /// True if there is no room for the call that was refused, and waiting will not make any.
  bool is_final(const OutOfMemoryReport& report) const;
  /// Its file's name as it can be shown; empty where the function does not read files.
  std::string file_of(const Element& element) const;
};

/// The context of one call. Counts what it gives out until it goes.
class TaskContext final : public MapContext, private image::Scratch {
 public:
  TaskContext(const MapSetting& setting, std::uint64_t id, std::vector<Tensor> placed = {})
      : setting_(setting), id_(id), placed_(std::move(placed)) {}
  ~TaskContext() override {
    if (taken_ > 0) setting_.engine.task_bytes() -= taken_;
  }

  Tensor output(std::size_t index) override;
  Tensor empty(const Shape& shape, DType dtype) override;
  Value text(std::string_view value) override;
  Tensor texts(std::span<const std::string_view> values, const Shape& shape) override;
  image::Scratch& scratch() override { return *this; }
  FileBytes read_file(std::string_view path) override;
  Philox::Counter random(std::uint32_t draw) const override;

  /// Bytes given out so far.
  Bytes taken() const { return taken_; }

 private:
  void* allocate(Bytes bytes) override;
  void free(void* pointer) noexcept override;
  void count(Bytes bytes);

  const MapSetting& setting_;
  const std::uint64_t id_;
  std::vector<Tensor> placed_;
  std::vector<std::pair<void*, Block>> scratch_;
  Bytes taken_ = 0;
};

}  // namespace plimsoll::data
