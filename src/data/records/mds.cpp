#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/dataset.h>

#include "data/records/mds_index.h"
#include "data/records/records_node.h"

namespace plimsoll::data {
namespace {

constexpr Bytes kWord = sizeof(std::uint32_t);

std::uint32_t word_of(const std::byte* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

/// A shard has the number of samples and where each begins and the last one ends, as 32-bit words,
/// then its configuration, then the samples. A sample has the sizes of its columns that vary, then
/// the values.
class MdsFormat final : public RecordFormat {
 public:
  MdsFormat(MdsIndex index, std::vector<std::size_t> chosen)
      : index_(std::move(index)), chosen_(std::move(chosen)) {
    for (const std::size_t i : chosen_) {
      spec_.components.push_back(TensorSpec::scalar(index_.columns[i].dtype));
      spec_.names.push_back(index_.columns[i].name);
    }
  }
  const char* kind() const override { return "mds"; }
  ElementSpec spec() const override { return spec_; }
  std::string parameters() const override {
    std::string text;
    for (const std::size_t i : chosen_) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(index_.columns[i].name),
                          index_.columns[i].encoding);
    }
    return text;
  }

  RecordIndex index(ByteWindow& window, std::size_t file) const override {
    RecordIndex index;
    const std::uint64_t samples = index_.shards[file].samples;
    const auto head = window.at(0, kWord);
    if (head.size() < kWord || word_of(head.data()) != samples) {
      index.end_broken(
          1, fmt::format("it does not have the {} samples that index.json says", samples));
      return index;
    }
    index.bounds.clear();
    std::uint64_t before = kWord * (samples + 2);
    for (std::uint64_t i = 0; i <= samples; ++i) {
      const auto word = window.at(kWord * (1 + i), kWord);
      const std::uint64_t at = word.size() < kWord ? 0 : word_of(word.data());
      if (at < before || at > window.size()) {
        if (index.bounds.empty()) index.bounds.push_back(before);
        index.end_broken(std::max<std::uint64_t>(window.size(), index.bounds.back() + 1),
                         fmt::format("sample {} begins at {}, which is {}", i, at,
                                     at < before ? "before the one in front of it ends"
                                                 : "behind the end of the file"));
        return index;
      }
      index.bounds.push_back(at);
      before = at;
    }
    return index;
  }

  Element parse(std::span<const std::byte> bytes, std::size_t /*file*/, std::uint64_t /*offset*/,
                const RecordMemory& memory) const override {
    const std::size_t all = index_.columns.size();
    std::vector<std::span<const std::byte>> values(all);
    Bytes sizes = 0;
    for (const MdsColumn& column : index_.columns) sizes += column.size == 0 ? kWord : 0;
    if (bytes.size() < sizes) throw DataError("the sizes of its columns are cut off");
    Bytes size_at = 0;
    Bytes at = sizes;
    for (std::size_t i = 0; i < all; ++i) {
      Bytes size = index_.columns[i].size;
      if (size == 0) {
        size = word_of(bytes.data() + size_at);
        size_at += kWord;
      }
      if (size > bytes.size() - at) {
        throw DataError(fmt::format("column \"{}\" has {} bytes, and {} are left",
                                    printable(index_.columns[i].name), size, bytes.size() - at));
      }
      values[i] = bytes.subspan(at, size);
      at += size;
    }
    if (at != bytes.size()) {
      throw DataError(fmt::format("{} bytes are left over after its columns", bytes.size() - at));
    }
    Element element;
    for (const std::size_t i : chosen_) {
      if (index_.columns[i].dtype == DType::bytes) {
        const std::string_view text(reinterpret_cast<const char*>(values[i].data()),
                                    values[i].size());
        element.push_back(memory.text(text));
      } else {
        element.push_back(Value::from_bits(index_.columns[i].dtype, values[i].data()));
      }
    }
    return element;
  }

 private:
  MdsIndex index_;
  std::vector<std::size_t> chosen_;
  ElementSpec spec_;
};

}  // namespace

Features mds_columns(const std::string& folder) {
  Features features;
  for (const MdsColumn& column : read_mds_index(folder, *local_files()).columns) {
    features.emplace_back(column.name, column.dtype);
  }
  return features;
}

Dataset Dataset::mds(const std::string& folder, std::vector<std::string> columns,
                     const RecordOptions& options) {
  const auto store = options.store ? options.store : local_files();
  MdsIndex index = [&] {
    try {
      return read_mds_index(folder, *store);
    } catch (const DataError& error) {
      throw DataError(fmt::format("[mds] {}", error.what()));
    }
  }();
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < index.columns.size() && columns.empty(); ++i) chosen.push_back(i);
  for (const std::string& name : columns) {
    const auto found = std::find_if(index.columns.begin(), index.columns.end(),
                                    [&](const MdsColumn& column) { return column.name == name; });
    if (found == index.columns.end()) {
      std::string names;
      for (const MdsColumn& column : index.columns) {
        names += (names.empty() ? "" : ", ") + printable(column.name);
      }
      throw InvalidArgument(fmt::format("[mds] {} has no column \"{}\"; it has {}",
                                        printable(folder), printable(name), names));
    }
    chosen.push_back(static_cast<std::size_t>(found - index.columns.begin()));
  }
  std::vector<std::string> files;
  for (const MdsShard& shard : index.shards) files.push_back(shard.file);
  // The shards have indexes of their own.
  RecordOptions own = options;
  own.index_from = kUnlimited;
  return records(files, std::make_shared<MdsFormat>(std::move(index), std::move(chosen)), own);
}

}  // namespace plimsoll::data
