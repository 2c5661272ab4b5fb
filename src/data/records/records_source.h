#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/error.h>

#include "data/engine/indexed_stage.h"
#include "data/records/records_node.h"

namespace plimsoll::data {

/// Where one record lies.
struct RecordPlace {
  std::size_t record = 0;  ///< within the file
  std::uint64_t offset = 0;
  Bytes bytes = 0;
};

/// The records of all files, by index.
class RecordsNode final : public IndexedNode, public FileSource {
 public:
  RecordsNode(std::vector<RecordFile> files, std::shared_ptr<const RecordFormat> format,
              std::shared_ptr<const ByteStore> store, std::int64_t count);

  std::string settings() const override;
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
  Element get(std::int64_t index, Engine& engine) const override;
  bool reads_in_any_thread() const override { return !compressed_ && has_large_; }
  Bytes read_bytes(std::int64_t index) const override;

  /// Records above this are read straight to where they stay: a copy of them costs more than a
  /// call. Smaller ones come out of a buffer.
  static constexpr Bytes kSmall = KiB(8);

  const ByteStore& store() const { return *store_; }
  const RecordFormat& format() const { return *format_; }
  const RecordFile& file_of(std::int64_t index) const;
  /// Throws DataError for a record that cannot be read.
  static RecordPlace place_of(const RecordFile& file, std::int64_t index, const Engine& engine);

  // The element of a record. DataErrors have the file, the record and its offset.

  /// Of bytes that were read already, possibly too few of them.
  Element parse(const RecordFile& file, const RecordPlace& place, std::span<const std::byte> bytes,
                const RecordMemory& memory) const;
  /// Of a record that is read to memory of its own.
  Element read_alone(const ByteSource& source, const RecordFile& file, const RecordPlace& place,
                     RecordMemory memory) const;
  /// Written to a row that was begun.
  void parse_row(const RecordFile& file, const RecordPlace& place, std::span<const std::byte> bytes,
                 const RecordMemory& memory, RowSink& row) const;

 private:
  static std::string error(const RecordFile& file, const RecordPlace& place, std::string_view what);
  static void require_whole(const RecordPlace& place, std::span<const std::byte> bytes);
  std::size_t number_of(const RecordFile& file) const {
    return static_cast<std::size_t>(&file - files_.data());
  }
  template <typename Work>
  static auto in_place(const RecordFile& file, const RecordPlace& place, const Work& work) {
    try {
      return work();
    } catch (const DataError& broken) {
      throw DataError(error(file, place, broken.what()));
    }
  }

  std::vector<RecordFile> files_;
  std::shared_ptr<const RecordFormat> format_;
  std::shared_ptr<const ByteStore> store_;
  Bytes values_bytes_ = 0;  ///< of the list of components of one element
  Bytes index_bytes_ = 0;
  bool compressed_ = false;
  bool has_large_ = false;
};

}  // namespace plimsoll::data
