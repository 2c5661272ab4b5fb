#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/dataset.h>

#include "data/records/inflated.h"
#include "data/records/npy_value.h"
#include "data/records/number_text.h"
#include "data/records/records_node.h"
#include "data/records/tar.h"
#include "data/sources/npy_header.h"

namespace plimsoll::data {
namespace {

std::string_view contents_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_npy(std::string_view suffix) { return suffix == "npy" || suffix.ends_with(".npy"); }

/// "jpg;jpeg;png" as its parts.
std::vector<std::string> choices(std::string_view name) {
  std::vector<std::string> result;
  for (;;) {
    const auto end = name.find(';');
    result.emplace_back(name.substr(0, end));
    if (end == std::string_view::npos) return result;
    name.remove_prefix(end + 1);
  }
}

TarReader reader_of(std::span<const std::byte> record) {
  return TarReader([record](std::uint64_t offset, Bytes) {
    return offset < record.size() ? record.subspan(offset) : std::span<const std::byte>();
  });
}

/// Calls `each(key, suffix, contents)` for the members of a sample.
template <typename Each>
void for_each_member(std::span<const std::byte> record, Each each) {
  TarReader reader = reader_of(record);
  while (const auto member = reader.next()) {
    const auto name = member->regular ? sample_name(member->name) : std::nullopt;
    if (!name) continue;
    if (member->offset > record.size() || member->size > record.size() - member->offset) {
      throw DataError(fmt::format("{} is cut off", printable(member->name)));
    }
    each(name->key, name->suffix, record.subspan(member->offset, member->size));
  }
}

class WebDatasetFormat final : public RecordFormat {
 public:
  explicit WebDatasetFormat(Features features)
      : features_(std::move(features)), spec_(features_spec(features_, "webdataset")) {
    for (const Feature& feature : features_) {
      suffixes_.push_back(choices(feature.name));
      check(feature);
    }
  }
  const char* kind() const override { return "webdataset"; }
  ElementSpec spec() const override { return spec_; }
  std::string parameters() const override { return features_text(features_); }

  RecordIndex index(ByteWindow& window, std::size_t /*file*/) const override {
    RecordIndex index;
    index.bounds.clear();
    TarReader reader([&](std::uint64_t offset, Bytes wanted) { return window.at(offset, wanted); });
    std::string key;
    std::uint64_t end = 0;  // of the last member
    std::string broken;
    try {
      while (const auto member = reader.next()) {
        if (is_cut_off(window, *member)) {
          throw DataError(fmt::format("{} is cut off", printable(member->name)));
        }
        end = member->end;
        const auto name = member->regular ? sample_name(member->name) : std::nullopt;
        if (!name || (name->key == key && !index.bounds.empty())) continue;
        key = name->key;
        index.bounds.push_back(member->begin);
      }
    } catch (const DataError& error) {
      broken = error.what();
    }
    if (index.bounds.empty()) index.bounds.push_back(0);
    // A sample that breaks off in the middle is not given as if it were whole.
    if (!broken.empty()) {
      if (index.bounds.size() > 1 || end > index.bounds.front()) {
        index.end_broken(std::max(end, index.bounds.back() + 1),
                         fmt::format("offset {}: {}", reader.position(), broken));
      } else {
        index.end_broken(index.bounds.back() + 1, broken);
      }
    } else if (end > index.bounds.back()) {
      index.bounds.push_back(std::min<std::uint64_t>(end, window.size()));
    }
    index.bounds.shrink_to_fit();
    return index;
  }

  Element parse(std::span<const std::byte> bytes, std::size_t /*file*/, std::uint64_t /*offset*/,
                const RecordMemory& memory) const override {
    struct Found {
      std::size_t rank = 0;  ///< among the feature's suffixes
      std::span<const std::byte> contents;
      bool there = false;
    };
    std::vector<Found> found(features_.size());
    std::string key;
    for_each_member(bytes, [&](std::string_view name, const std::string& suffix,
                               std::span<const std::byte> contents) {
      key = name;
      for (std::size_t i = 0; i < suffixes_.size(); ++i) {
        const auto at = std::find(suffixes_[i].begin(), suffixes_[i].end(), suffix);
        if (at == suffixes_[i].end()) continue;
        const auto rank = static_cast<std::size_t>(at - suffixes_[i].begin());
        if (found[i].there && found[i].rank == rank) {
          throw DataError(fmt::format("sample \"{}\" has .{} twice", printable(name), suffix));
        }
        if (!found[i].there || rank < found[i].rank) found[i] = {rank, contents, true};
      }
    });
    Element element;
    try {
      for (std::size_t i = 0; i < features_.size(); ++i) {
        if (features_[i].name == kTarKey) {
          element.push_back(memory.text(key));
        } else if (!found[i].there) {
          element.push_back(missing_value(features_[i], memory));
        } else {
          element.push_back(
              value(features_[i], suffixes_[i][found[i].rank], found[i].contents, memory));
        }
      }
    } catch (const DataError& error) {
      throw DataError(fmt::format("sample \"{}\": {}", printable(key), error.what()));
    }
    return element;
  }

 private:
  static bool is_cut_off(ByteWindow& window, const TarMember& member) {
    const std::uint64_t end = member.offset + member.size;
    if (window.size() != kUnlimited) return end > window.size();
    return member.size > 0 && window.at(end - 1, 1).empty();
  }
  void check(const Feature& feature) const {
    const TensorSpec& spec = feature.spec;
    const bool text = spec.dtype == DType::bytes || spec.dtype == DType::i64 ||
                      spec.dtype == DType::f32 || spec.dtype == DType::f64;
    if (spec.dims->empty() && text) return;
    if (spec.dtype != DType::bytes && is_npy(suffixes_.back().back())) return;
    throw InvalidArgument(fmt::format(
        "[webdataset] \"{}\" is {}; a member is bytes, i64, f32 or f64 without extents, or an .npy "
        "array",
        printable(feature.name), spec.to_string()));
  }
  static Value value(const Feature& feature, const std::string& suffix,
                     std::span<const std::byte> contents, const RecordMemory& memory) {
    if (feature.spec.dtype == DType::bytes) {
      return memory.text(contents_text(contents));
    }
    if (is_npy(suffix)) return npy_value(feature, contents, memory);
    return number_from_text(feature, contents_text(contents));
  }

  Features features_;
  ElementSpec spec_;
  std::vector<std::vector<std::string>> suffixes_;  ///< of each feature
};

Compression webdataset_compression(const ByteSource& source) {
  const Compression found = compression_of(source);
  return found == Compression::gzip ? found : Compression::none;
}

}  // namespace

Features webdataset_features(const Shards& files, const RecordOptions& options) {
  Features features;
  const WebDatasetFormat format({});
  look_at_records(
      files.files(), format, options, 1,
      [&](std::span<const std::byte> record, std::size_t /*file*/) {
        for_each_member(record, [&](std::string_view, const std::string& suffix,
                                    std::span<const std::byte> contents) {
          if (suffix == "cls" || suffix == "index" || suffix == "id") {
            features.emplace_back(suffix, DType::i64);
          } else if (is_npy(suffix)) {
            const NpyHeader header = read_npy_header(contents);
            std::vector<std::int64_t> dims(header.shape.begin(), header.shape.end());
            if (!dims.empty()) dims[0] = kAnyExtent;
            features.emplace_back(suffix, header.dtype, dims);
          } else {
            features.emplace_back(suffix, DType::bytes);
          }
        });
        return false;
      },
      webdataset_compression);
  return features;
}

Dataset Dataset::webdataset(const Shards& files, Features features, const RecordOptions& options) {
  if (features.empty()) features = webdataset_features(files, options);
  if (features.empty()) {
    throw DataError(
        fmt::format("[webdataset] {}: no samples in it to take features from; name them",
                    printable(files.patterns.front())));
  }
  return records(files.files(), std::make_shared<WebDatasetFormat>(std::move(features)), options,
                 webdataset_compression);
}

}  // namespace plimsoll::data
