#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/engine/indexed_stage.h"
#include "data/sources/npy_header.h"
#include "data/sources/read_file.h"

namespace plimsoll::data {
namespace {

/// Files that stay open as long as the description; others are opened for each slice.
constexpr std::size_t kKeptOpen = 256;
/// Slices up to this size are read in order through a buffer of kBuffer.
constexpr Bytes kSmallSlice = KiB(8);
constexpr Bytes kNpyBuffer = KiB(64);

struct NpyFile {
  std::string path;
  NpyHeader header;
  std::int64_t first = 0;           ///< index of its first slice
  std::shared_ptr<InputFile> open;  ///< null: to be opened
  Bytes offset_of(std::int64_t index) const {
    return header.data_offset + static_cast<Bytes>(index - first) * header.slice_bytes();
  }
};

class NpyNode final : public IndexedNode, public FileSource {
 public:
  NpyNode(std::vector<NpyFile> files, const std::string& parameters, ElementSpec spec,
          std::int64_t count)
      : IndexedNode("from_npy", parameters, std::move(spec), count), files_(std::move(files)) {}

  Element get(std::int64_t index, Engine& engine) const override;
  StagePtr make(Builder& builder) const override;
  bool may_fail() const override { return true; }
  const FileSource* reads() const override { return this; }
  std::int64_t file_count() const override { return static_cast<std::int64_t>(files_.size()); }
  std::string file_path(std::int64_t index) const override {
    return files_[static_cast<std::size_t>(index)].path;
  }

  /// The file that has slice `index`.
  const NpyFile& file_of(std::int64_t index) const {
    const auto after =
        std::upper_bound(files_.begin(), files_.end(), index,
                         [](std::int64_t at, const NpyFile& file) { return at < file.first; });
    return *std::prev(after);
  }
  /// Reads `bytes` at `offset`, all of them; DataError naming the file.
  static void read(const NpyFile& file, void* to, Bytes bytes, Bytes offset);
  /// The element whose slice is at `data`.
  static Element copied(const NpyFile& file, const std::byte* data, const Engine& engine);

 private:
  std::vector<NpyFile> files_;
};

TensorOptions options_of(const Engine& engine) {
  return engine.tensor_options(Tag::input, "from_npy");
}

Tensor empty_slice(const NpyHeader& header, const Engine& engine) {
  return Tensor::empty(header.shape.with_removed(0), header.dtype, engine.device(),
                       options_of(engine));
}

void settle(const NpyHeader& header, std::byte* data) {
  settle_npy(header, data, header.slice_bytes());
}

/// Fixed byte strings without the zeros at their ends, as NumPy gives them.
Tensor strings(const NpyHeader& header, const std::byte* data, const Engine& engine) {
  const Shape shape = header.shape.with_removed(0);
  const auto count = static_cast<std::size_t>(shape.elements());
  const Charge charge =
      engine.budget().charge(Tag::input, "from_npy", count * sizeof(std::string_view));
  std::vector<std::string_view> texts(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text(reinterpret_cast<const char*>(data) + i * header.item_bytes,
                                header.item_bytes);
    texts[i] = text.substr(0, text.find_last_not_of('\0') + 1);
  }
  return Tensor::from_strings(texts, shape, engine.device(), options_of(engine));
}

void NpyNode::read(const NpyFile& file, void* to, Bytes bytes, Bytes offset) {
  if (bytes == 0) return;
  const auto open = file.open ? file.open : std::make_shared<InputFile>(file.path);
  if (open->read(to, bytes, offset) != bytes) {
    throw DataError(fmt::format("{}: cut off since its header was read", printable(file.path)));
  }
}

Element NpyNode::copied(const NpyFile& file, const std::byte* data, const Engine& engine) {
  const NpyHeader& header = file.header;
  if (header.dtype == DType::bytes) return Element{Value(strings(header, data, engine))};
  if (header.shape.rank() == 1) {
    std::array<std::byte, sizeof(std::uint64_t)> number{};
    std::memcpy(number.data(), data, header.item_bytes);
    settle(header, number.data());
    return Element{Value::from_bits(header.dtype, number.data())};
  }
  Tensor tensor = empty_slice(header, engine);
  auto* const to = static_cast<std::byte*>(tensor.raw_mutable_data());
  if (tensor.nbytes() > 0) {
    std::memcpy(to, data, tensor.nbytes());
    settle(header, to);
  }
  return Element{Value(std::move(tensor))};
}

Element NpyNode::get(std::int64_t index, Engine& engine) const {
  const NpyFile& file = file_of(index);
  const NpyHeader& header = file.header;
  const Bytes bytes = header.slice_bytes();
  const Bytes offset = file.offset_of(index);
  if (header.dtype == DType::bytes || header.shape.rank() == 1) {
    Block raw = engine.device().arena().allocate(std::max<Bytes>(bytes, 1),
                                                 engine.budget().account(Tag::input, "from_npy"));
    read(file, raw.data(), bytes, offset);
    return copied(file, static_cast<const std::byte*>(raw.data()), engine);
  }
  // Large slices are read where they stay.
  Tensor tensor = empty_slice(header, engine);
  auto* const to = static_cast<std::byte*>(tensor.raw_mutable_data());
  read(file, to, bytes, offset);
  if (bytes > 0) settle(header, to);
  return Element{Value(std::move(tensor))};
}

/// In order: small slices come out of a buffer that holds the next ones, too.
class NpyStage final : public IndexedStage {
 public:
  NpyStage(NodePtr keep, const NpyNode& node, Engine& engine)
      : IndexedStage(std::move(keep), node, engine), node_(node) {}

 protected:
  Element fetch(std::int64_t index) override {
    const NpyFile& file = node_.file_of(index);
    const Bytes slice = file.header.slice_bytes();
    if (slice == 0 || slice > kSmallSlice || !have_buffer()) return node_.get(index, engine_);
    const Bytes offset = file.offset_of(index);
    if (&file != file_ || offset < begin_ || offset + slice > end_) {
      file_ = nullptr;
      const auto left = static_cast<Bytes>(file.first + file.header.shape[0] - index);
      const Bytes bytes = std::min(left, kNpyBuffer / slice) * slice;
      NpyNode::read(file, buffer_.data(), bytes, offset);
      file_ = &file;
      begin_ = offset;
      end_ = offset + bytes;
    }
    return NpyNode::copied(file, static_cast<const std::byte*>(buffer_.data()) + (offset - begin_),
                           engine_);
  }

 private:
  bool have_buffer() {
    if (!buffer_ && engine_.spare() > 2 * kNpyBuffer) {
      buffer_ = engine_.device().arena().allocate(kNpyBuffer,
                                                  engine_.budget().account(Tag::input, "from_npy"));
    }
    return static_cast<bool>(buffer_);
  }

  const NpyNode& node_;
  Block buffer_;
  const NpyFile* file_ = nullptr;  ///< what the buffer holds of it is [begin_, end_)
  Bytes begin_ = 0;
  Bytes end_ = 0;
};

StagePtr NpyNode::make(Builder& builder) const {
  return std::make_unique<NpyStage>(shared_from_this(), *this, builder.engine());
}

NpyFile open_file(const std::string& path) {
  auto open = std::make_shared<InputFile>(path);
  try {
    return {path, read_npy_header(*open), 0, std::move(open)};
  } catch (const DataError& error) {
    const std::string_view what = error.what();
    const std::string name = printable(path);
    const std::string_view in = what.starts_with(name) ? "" : ": ";
    throw DataError(fmt::format("{}{}{}", in.empty() ? "" : name, in, what));
  }
}

void require_same(const NpyFile& first, const NpyFile& other) {
  const Shape shape = first.header.shape.with_removed(0);
  if (other.header.dtype == first.header.dtype && other.header.shape.with_removed(0) == shape) {
    return;
  }
  const auto text = [](const NpyFile& file) {
    return TensorSpec::of(file.header.dtype, file.header.shape).to_string();
  };
  throw DataError(fmt::format("{} is {} and {} is {}; slices must have one dtype and shape",
                              first.path, text(first), other.path, text(other)));
}

}  // namespace

Dataset Dataset::from_npy(std::vector<std::string> paths) {
  if (paths.empty()) throw InvalidArgument("[from_npy] no files");
  std::vector<NpyFile> files;
  std::int64_t count = 0;
  try {
    for (const std::string& path : paths) {
      NpyFile file = open_file(path);
      if (!files.empty()) require_same(files.front(), file);
      file.first = count;
      if (__builtin_add_overflow(count, file.header.shape[0], &count)) {
        throw DataError(fmt::format("{}: more slices than fit in 63 bits", path));
      }
      if (files.size() >= kKeptOpen) file.open = nullptr;
      // A file without slices would have the index of the next one.
      if (file.header.shape[0] > 0 || files.empty()) files.push_back(std::move(file));
    }
  } catch (const DataError& error) {
    throw DataError(fmt::format("[from_npy] {}", error.what()));
  }
  const NpyHeader& header = files.front().header;
  const ElementSpec spec{true, {TensorSpec::of(header.dtype, header.shape.with_removed(0))}, {}};
  const std::string parameters =
      fmt::format("{}, files={}, slices={}, {}", paths.front(), paths.size(), count,
                  spec.components.front().to_string());
  return Dataset(std::make_shared<NpyNode>(std::move(files), parameters, spec, count));
}

}  // namespace plimsoll::data
