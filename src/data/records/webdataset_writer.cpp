#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/records/npy_value.h"
#include "data/records/output_file.h"
#include "data/records/shard_writer.h"
#include "data/records/tar.h"

namespace plimsoll::data {
namespace {

class TarWriter final : public ShardWriter {
 public:
  TarWriter(const std::string& path, const std::vector<std::string>& names)
      : file_(path), names_(names) {}

  void add(const Element& element, std::int64_t number) override {
    std::string key = fmt::format("{:09}", number);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == kTarKey) key = element.at(i).text();
    }
    if (key.empty() || key.find('.', key.rfind('/') + 1) != std::string::npos) {
      throw InvalidArgument(
          fmt::format("[write_records] \"{}\" cannot name a sample: its last part must have no dot",
                      printable(key)));
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != kTarKey) put(key, names_[i], element.at(i));
    }
  }
  Bytes bytes() const override { return file_.written(); }
  void close() override {
    file_.write(std::string(2 * kTarBlock, '\0'));
    file_.commit();
  }

 private:
  void put(const std::string& key, const std::string& suffix, const Value& value) {
    if (value.dtype() == DType::bytes) return member(key + "." + suffix, value.text());
    const bool npy = suffix == "npy" || suffix.ends_with(".npy");
    if (value.shape().rank() > 0 || npy) {
      return member(key + "." + suffix + (npy ? "" : ".npy"), npy_file(value));
    }
    member(key + "." + suffix, is_floating(value.dtype()) ? fmt::format("{}", as_real(value))
                                                          : fmt::format("{}", as_integer(value)));
  }
  void member(const std::string& name, std::string_view contents) {
    file_.write(tar_header(name, contents.size()));
    file_.write(contents);
    file_.write(std::string((kTarBlock - contents.size() % kTarBlock) % kTarBlock, '\0'));
  }

  OutputFile file_;
  const std::vector<std::string>& names_;
};

class TarShards final : public ShardFormat {
 public:
  explicit TarShards(std::vector<std::string> names) : names_(std::move(names)) {}
  std::string file_name(std::int64_t shard) const override {
    return fmt::format("shard-{:05}.tar", shard);
  }
  std::unique_ptr<ShardWriter> open(const std::string& path) override {
    return std::make_unique<TarWriter>(path, names_);
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<ShardFormat> webdataset_shards(const ElementSpec& spec) {
  for (const std::string& name : spec.names) {
    if (!name.empty() && name.find('/') == std::string::npos) continue;
    throw InvalidArgument(fmt::format(
        "[write_records] \"{}\" cannot be a suffix: it is empty or has a slash", printable(name)));
  }
  return std::make_unique<TarShards>(spec.names);
}

}  // namespace plimsoll::data
