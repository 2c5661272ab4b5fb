#include "data/records/records_node.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/base/printable.h>

#include "data/engine/indexed_stage.h"
#include "data/records/index_file.h"
#include "data/records/inflated.h"

namespace plimsoll::data {
namespace {

/// Files that stay open as long as the description; others are opened when they are read.
constexpr std::size_t kKeptOpen = 256;
/// In order, records up to half of this come out of a buffer that holds the next ones, too.
constexpr Bytes kBuffer = KiB(256);
/// By index, records up to this size need no memory of the arena.
constexpr Bytes kSmall = KiB(4);
constexpr int kIndexers = 8;

class RecordsNode final : public IndexedNode, public FileSource {
 public:
  RecordsNode(std::vector<RecordFile> files, std::shared_ptr<const RecordFormat> format,
              std::shared_ptr<const ByteStore> store, std::int64_t count)
      : IndexedNode(format->kind(),
                    fmt::format("files={}, records={}{}{}", files.size(), count,
                                format->parameters().empty() ? "" : ", ", format->parameters()),
                    format->spec(), count),
        files_(std::move(files)),
        format_(std::move(format)),
        store_(std::move(store)) {
    for (const RecordFile& file : files_) {
      index_bytes_ += file.index.nbytes();
      compressed_ = compressed_ || file.compression != Compression::none;
    }
  }

  // The files decide what it gives, wherever they are; a position has their digest.
  std::string settings() const override { return printable(files_.front().name); }
  StagePtr make(Builder& builder) const override;
  const IndexedSource* indexed() const override { return compressed_ ? nullptr : this; }
  bool may_fail() const override { return true; }
  const FileSource* reads() const override { return this; }
  std::int64_t file_count() const override { return static_cast<std::int64_t>(files_.size()); }
  std::string file_path(std::int64_t index) const override {
    return files_[static_cast<std::size_t>(index)].name;
  }
  Bytes minimum(int /*threads*/) const override { return index_bytes_; }
  Bytes index_bytes() const { return index_bytes_; }

  Element get(std::int64_t index, Engine& engine) const override {
    const RecordFile& file = file_of(index);
    const Place place = place_of(file, index, engine);
    const auto source = file.open ? file.open : store_->open(file.name);
    if (place.bytes <= kSmall) {
      std::array<std::byte, kSmall> small;
      return parse(file, place, read(*source, place, small.data()), engine);
    }
    const Block block = allocate(engine, place.bytes);
    return parse(file, place, read(*source, place, block.data()), engine);
  }

  struct Place {
    std::size_t record = 0;  ///< within the file
    std::uint64_t offset = 0;
    Bytes bytes = 0;
  };

  const RecordFile& file_of(std::int64_t index) const {
    const auto after =
        std::upper_bound(files_.begin(), files_.end(), index,
                         [](std::int64_t at, const RecordFile& file) { return at < file.first; });
    return *std::prev(after);
  }
  /// Throws DataError for a record that cannot be read.
  static Place place_of(const RecordFile& file, std::int64_t index, const Engine& engine) {
    const auto record = static_cast<std::size_t>(index - file.first);
    const std::uint64_t begin = file.index.at(record);
    const Place place{record, begin, file.index.at(record + 1) - begin};
    if (!file.index.broken.empty() && record + 1 == file.index.count()) {
      throw DataError(error(file, place, file.index.broken));
    }
    const Bytes limit = engine.budget().limit();
    if (place.bytes > limit) {
      throw DataError(error(file, place,
                            fmt::format("it takes {}, and the pipeline has {}; raise its budget",
                                        format_bytes(place.bytes), format_bytes(limit))));
    }
    return place;
  }
  static std::string error(const RecordFile& file, const Place& place, std::string_view what) {
    const std::string name = printable(file.name);
    if (what.starts_with(name + ": ")) what.remove_prefix(name.size() + 2);
    return fmt::format("{}: record {} at offset {}: {}", name, place.record, place.offset, what);
  }
  static std::span<const std::byte> read(const ByteSource& source, const Place& place, void* to) {
    const Bytes got = source.read(to, place.bytes, place.offset);
    return {static_cast<const std::byte*>(to), got};
  }
  static Block allocate(const Engine& engine, Bytes bytes) {
    return engine.device().arena().allocate(std::max<Bytes>(bytes, 1),
                                            engine.budget().account(Tag::input, "record"));
  }
  Element parse(const RecordFile& file, const Place& place, std::span<const std::byte> bytes,
                const Engine& engine) const {
    try {
      if (bytes.size() < place.bytes) throw DataError("cut off since its index was made");
      return format_->parse(bytes, static_cast<std::size_t>(&file - files_.data()), place.offset,
                            {engine.device(), engine.tensor_options(Tag::input, kind())});
    } catch (const DataError& broken) {
      throw DataError(error(file, place, broken.what()));
    }
  }
  const ByteStore& store() const { return *store_; }
  const RecordFormat& format() const { return *format_; }
  std::size_t number_of(const RecordFile& file) const {
    return static_cast<std::size_t>(&file - files_.data());
  }

 private:
  std::vector<RecordFile> files_;
  std::shared_ptr<const RecordFormat> format_;
  std::shared_ptr<const ByteStore> store_;
  Bytes index_bytes_ = 0;
  bool compressed_ = false;
};

/// In order: small records come out of a buffer that holds the next ones, too.
class RecordsStage final : public IndexedStage {
 public:
  RecordsStage(NodePtr keep, const RecordsNode& node, Engine& engine)
      : IndexedStage(std::move(keep), node, engine),
        node_(node),
        options_(engine.tensor_options(Tag::input, node.kind())),
        charge_(engine.budget().charge(Tag::input, node.kind(), node.index_bytes())) {}

 protected:
  Element fetch(std::int64_t index) override {
    const RecordFile& file = file_at(index);
    const RecordsNode::Place place = RecordsNode::place_of(file, index, engine_);
    open(file);
    if (place.bytes > kBuffer / 2 || !have_buffer()) {
      const Block block = RecordsNode::allocate(engine_, place.bytes);
      return node_.parse(file, place, RecordsNode::read(*source_, place, block.data()), engine_);
    }
    return parse(file, place, buffered(file, place));
  }

 private:
  const RecordFile& file_at(std::int64_t index) {
    if (file_ != nullptr && index >= file_->first &&
        index - file_->first < static_cast<std::int64_t>(file_->index.count())) {
      return *file_;
    }
    return node_.file_of(index);
  }
  void open(const RecordFile& file) {
    if (file_ == &file) return;
    file_ = nullptr;
    source_ = nullptr;
    inflating_ = Charge();
    end_ = begin_ = 0;
    if (file.compression != Compression::none) {
      inflating_ = engine_.budget().charge(Tag::input, "inflate", kInflateBytes);
    }
    source_ = file.open ? file.open : node_.store().open(file.name);
    if (file.compression != Compression::none) source_ = inflated(source_);
    file_ = &file;
  }
  std::span<const std::byte> buffered(const RecordFile& file, const RecordsNode::Place& place) {
    auto* const buffer = static_cast<std::byte*>(buffer_.data());
    if (place.offset < begin_ || place.offset + place.bytes > end_) {
      // What of the next record is already here stays, so that a compressed file never goes back.
      const Bytes left = place.offset >= begin_ && place.offset < end_ ? end_ - place.offset : 0;
      if (left > 0) std::memmove(buffer, buffer + (place.offset - begin_), left);
      begin_ = place.offset;
      end_ = place.offset + left;
      const Bytes wanted = std::min<Bytes>(kBuffer, file.index.end() - begin_);
      end_ += source_->read(buffer + left, wanted - left, end_);
    }
    const Bytes have = std::min<Bytes>(place.bytes, end_ - place.offset);
    return {buffer + (place.offset - begin_), have};
  }
  Element parse(const RecordFile& file, const RecordsNode::Place& place,
                std::span<const std::byte> bytes) const {
    try {
      if (bytes.size() < place.bytes) throw DataError("cut off since its index was made");
      return node_.format().parse(bytes, node_.number_of(file), place.offset,
                                  {engine_.device(), options_});
    } catch (const DataError& broken) {
      throw DataError(RecordsNode::error(file, place, broken.what()));
    }
  }
  bool have_buffer() {
    if (!buffer_ && engine_.spare() > 2 * kBuffer) {
      buffer_ = RecordsNode::allocate(engine_, kBuffer);
    }
    return static_cast<bool>(buffer_);
  }

  const RecordsNode& node_;
  TensorOptions options_;
  Charge charge_;
  Charge inflating_;
  const RecordFile* file_ = nullptr;  ///< what the buffer holds of it is [begin_, end_)
  std::shared_ptr<const ByteSource> source_;
  Block buffer_;
  Bytes begin_ = 0;
  Bytes end_ = 0;
};

StagePtr RecordsNode::make(Builder& builder) const {
  return std::make_unique<RecordsStage>(shared_from_this(), *this, builder.engine());
}

RecordFile indexed_file(const std::string& name, std::size_t number, const RecordFormat& format,
                        const RecordOptions& options, const ByteStore& store,
                        FindCompression compression) {
  RecordFile file;
  file.name = name;
  file.open = store.open(name);
  if (compression != nullptr) file.compression = compression(*file.open);
  const auto contents = file.compression == Compression::none ? file.open : inflated(file.open);
  file.index = read_or_build_index(format, *contents, number, file.open->stamp(), options);
  if (number >= kKeptOpen) file.open = nullptr;
  return file;
}

[[noreturn]] void speak(const RecordFormat& format, const char* what) {
  throw DataError(fmt::format("[{}] {}", format.kind(), what));
}

}  // namespace

Dataset records(const std::vector<std::string>& names, std::shared_ptr<const RecordFormat> format,
                const RecordOptions& options, FindCompression compression) {
  const auto store = options.store ? options.store : local_files();
  std::vector<RecordFile> files(names.size());
  try {
    parallel_tasks(static_cast<std::int64_t>(names.size()), kIndexers,
                   [&](std::int64_t task, int /*slot*/) {
                     const auto i = static_cast<std::size_t>(task);
                     files[i] = indexed_file(names[i], i, *format, options, *store, compression);
                   });
  } catch (const DataError& error) {
    speak(*format, error.what());
  }
  std::int64_t count = 0;
  for (RecordFile& file : files) {
    file.first = count;
    if (__builtin_add_overflow(count, static_cast<std::int64_t>(file.index.count()), &count)) {
      speak(*format, "more records than fit in 63 bits");
    }
  }
  return Dataset(std::make_shared<RecordsNode>(std::move(files), std::move(format), store, count));
}

void look_at_records(const std::vector<std::string>& names, const RecordFormat& format,
                     const RecordOptions& options, std::int64_t most,
                     const std::function<bool(std::span<const std::byte>, std::size_t)>& look,
                     FindCompression compression) {
  constexpr Bytes kMost = MiB(64);
  const auto store = options.store ? options.store : local_files();
  for (std::size_t i = 0; i < names.size() && most > 0; ++i) {
    const RecordFile file = indexed_file(names[i], i, format, options, *store, compression);
    std::shared_ptr<const ByteSource> source = file.open ? file.open : store->open(file.name);
    if (file.compression != Compression::none) source = inflated(source);
    const std::size_t whole = file.index.count() - (file.index.broken.empty() ? 0 : 1);
    std::vector<std::byte> bytes;
    for (std::size_t r = 0; r < whole && most > 0; ++r, --most) {
      const std::uint64_t begin = file.index.at(r);
      if (file.index.at(r + 1) - begin > kMost) continue;
      bytes.resize(file.index.at(r + 1) - begin);
      if (source->read(bytes.data(), bytes.size(), begin) < bytes.size()) break;
      try {
        if (!look(bytes, i)) return;
      } catch (const DataError& error) {
        throw DataError(fmt::format("{}: record {} at offset {}: {}", printable(file.name), r,
                                    begin, error.what()));
      }
    }
  }
}

}  // namespace plimsoll::data
