#include "data/records/records_node.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/base/printable.h>

#include "data/engine/engine.h"
#include "data/records/index_file.h"
#include "data/records/inflated.h"
#include "data/records/records_source.h"

namespace plimsoll::data {
namespace {

bool has_record_above(const RecordIndex& index, Bytes bytes) {
  if (index.bounds.empty()) return index.even.number > 0 && index.even.stride > bytes;
  return std::adjacent_find(index.bounds.begin(), index.bounds.end(),
                            [=](std::uint64_t begin, std::uint64_t end) {
                              return end - begin > bytes;
                            }) != index.bounds.end();
}

/// What the list of an element's components takes; it grows by doubling.
Bytes bytes_of_values(std::size_t components) {
  return components > Element::kInline ? std::bit_ceil(components) * sizeof(Value) : 0;
}

}  // namespace

RecordsNode::RecordsNode(std::vector<RecordFile> files, std::shared_ptr<const RecordFormat> format,
                         std::shared_ptr<const ByteStore> store, std::int64_t count)
    : IndexedNode(format->kind(),
                  fmt::format("files={}, records={}{}{}", files.size(), count,
                              format->parameters().empty() ? "" : ", ", format->parameters()),
                  format->spec(), count),
      files_(std::move(files)),
      format_(std::move(format)),
      store_(std::move(store)),
      values_bytes_(bytes_of_values(format_->spec().components.size())) {
  for (const RecordFile& file : files_) {
    index_bytes_ += file.index.nbytes();
    compressed_ = compressed_ || file.compression != Compression::none;
    has_large_ = has_large_ || has_record_above(file.index, kSmall);
  }
}

// The files decide what it gives, wherever they are; a position has their digest.
std::string RecordsNode::settings() const { return printable(files_.front().name); }

Element RecordsNode::get(std::int64_t index, Engine& engine) const {
  /// Records up to this size need no memory of the arena.
  constexpr Bytes kOnStack = KiB(4);
  const RecordFile& file = file_of(index);
  const RecordPlace place = place_of(file, index, engine);
  const auto source = file.open ? file.open : store_->open(file.name);
  const TensorOptions options = engine.tensor_options(Tag::input, kind());
  if (place.bytes <= kOnStack) {
    std::array<std::byte, kOnStack> small;
    const Bytes got = source->read(small.data(), place.bytes, place.offset);
    return parse(file, place, std::span(small).first(got), {engine.device(), options});
  }
  return read_alone(*source, file, place, {engine.device(), options});
}

Bytes RecordsNode::read_bytes(std::int64_t index) const {
  const RecordFile& file = file_of(index);
  const auto record = static_cast<std::size_t>(index - file.first);
  const Bytes bytes = file.index.at(record + 1) - file.index.at(record);
  return bytes > kSmall ? bytes + values_bytes_ : 0;
}

const RecordFile& RecordsNode::file_of(std::int64_t index) const {
  const auto after =
      std::upper_bound(files_.begin(), files_.end(), index,
                       [](std::int64_t at, const RecordFile& file) { return at < file.first; });
  return *std::prev(after);
}

RecordPlace RecordsNode::place_of(const RecordFile& file, std::int64_t index,
                                  const Engine& engine) {
  const auto record = static_cast<std::size_t>(index - file.first);
  const std::uint64_t begin = file.index.at(record);
  const RecordPlace place{record, begin, file.index.at(record + 1) - begin};
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

std::string RecordsNode::error(const RecordFile& file, const RecordPlace& place,
                               std::string_view what) {
  const std::string name = printable(file.name);
  if (what.starts_with(name + ": ")) what.remove_prefix(name.size() + 2);
  return fmt::format("{}: record {} at offset {}: {}", name, place.record, place.offset, what);
}

Element RecordsNode::read_alone(const ByteSource& source, const RecordFile& file,
                                const RecordPlace& place, RecordMemory memory) const {
  const RecordStorage storage(memory.device, place.bytes, place.offset, memory.options);
  const Bytes got = source.read(storage.data(), place.bytes, place.offset);
  memory.record = &storage;
  return parse(file, place, {storage.data(), got}, memory);
}

Element RecordsNode::parse(const RecordFile& file, const RecordPlace& place,
                           std::span<const std::byte> bytes, const RecordMemory& memory) const {
  return in_place(file, place, [&] {
    require_whole(place, bytes);
    return format_->parse(bytes, number_of(file), place.offset, memory);
  });
}

void RecordsNode::parse_row(const RecordFile& file, const RecordPlace& place,
                            std::span<const std::byte> bytes, const RecordMemory& memory,
                            RowSink& row) const {
  in_place(file, place, [&] {
    require_whole(place, bytes);
    format_->parse_row(bytes, memory, row);
  });
}

void RecordsNode::require_whole(const RecordPlace& place, std::span<const std::byte> bytes) {
  if (bytes.size() < place.bytes) throw DataError("cut off since its index was made");
}

namespace {

/// Files that stay open as long as the description; others are opened when they are read.
constexpr std::size_t kKeptOpen = 256;
constexpr int kIndexers = 8;

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
