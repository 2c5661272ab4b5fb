#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <plimsoll/base/philox.h>
#include <plimsoll/data/element.h>
#include <plimsoll/data/image/load.h>
#include <plimsoll/data/spec.h>

namespace plimsoll::data {

/// Bytes of a file in budgeted memory; they go back with the object. Movable.
class FileBytes {
 public:
  explicit FileBytes(Block block, Bytes size) : block_(std::move(block)), size_(size) {}
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(block_.data()), static_cast<std::size_t>(size_)};
  }

 private:
  Block block_;
  Bytes size_ = 0;
};

/// What a map function works with: memory from the pipeline's budget, a place for its result, and
/// random numbers that belong to the element. Valid during the call; used by one thread at a time.
///
/// Whatever allocates throws OutOfMemory; a function lets that pass, and is called again with the
/// same element when there is room, alone if need be.
class MapContext {
 public:
  virtual ~MapContext() = default;

  /// Memory for component `index` of the result, as the declared spec says, which must be fixed.
  /// May be a row of the batch that a later stage is filling, so that nothing is copied.
  virtual Tensor output(std::size_t index) = 0;
  /// Memory for a result of another shape. Contents are unspecified.
  virtual Tensor empty(const Shape& shape, DType dtype) = 0;
  /// A byte string as a component.
  virtual Value text(std::string_view value) = 0;
  /// Byte strings as a component of that shape.
  virtual Tensor texts(std::span<const std::string_view> values, const Shape& shape) = 0;
  /// Temporary memory for decoding and resizing.
  virtual image::Scratch& scratch() = 0;
  /// The file's contents, read with pread. DataError naming it if that fails.
  virtual FileBytes read_file(std::string_view path) = 0;
  /// Four random words that depend on the pipeline's seed, the stage, the epoch, the element's id
  /// and `draw`, and on nothing else.
  virtual Philox::Counter random(std::uint32_t draw) const = 0;
};

/// What `map` applies to each element. Runs on any thread, several at a time, and may run twice
/// for one element; it must depend on nothing but its arguments.
struct MapFunction {
  /// Returns the new element; its id is set by the stage.
  std::function<Element(const Element& element, MapContext& context)> run;
  /// What it returns, if that is known.
  std::optional<ElementSpec> output = std::nullopt;
  /// About what a call takes besides its result. A budget with less than that for each thread is
  /// refused at once; 0: nothing worth naming.
  Bytes scratch = 0;
  /// The most that a call for the file at `path`, which is component 0 of its element, takes
  /// besides its result; from the file's header, quickly. DataError where that cannot be told.
  /// decode_needs() asks it before there is a pipeline. Empty: nothing is known beforehand.
  std::function<Bytes(const std::string& path)> needs = nullptr;
  /// False: it never asks MapContext::random(), so that its results depend neither on the seed nor
  /// on the epoch, and a disk cache also serves runs with other seeds.
  bool random = true;
  /// Name and version; part of the pipeline's signature, so that a checkpoint made with another
  /// function is refused.
  std::string name = "function";
  /// More of that, in lines: the instructions of a program.
  std::string details = {};
  /// Component 0 is the path of a picture. Where the pictures of a dataset have not been decoded
  /// yet (image_folder), the function gets their paths instead.
  bool takes_paths = false;
};

/// Reads the picture at the path in component 0 and makes floats of it, as image::load does; the
/// other components stay. Written straight into the batch where a `batch` follows. For elements of
/// one path, or of a path and an i64 label; pictures of an image_folder that nothing has looked at
/// yet are taken by their paths.
MapFunction load_images(const image::LoadOptions& options, bool with_label = true);
/// The same for pictures that are in component 0 themselves, as records have them.
MapFunction decode_images(const image::LoadOptions& options, bool with_label = true);

}  // namespace plimsoll::data
