#include <plimsoll/data/byte_source.h>

#include <sys/stat.h>

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/sources/read_file.h"

namespace plimsoll::data {
namespace {

class LocalFile final : public ByteSource {
 public:
  explicit LocalFile(const std::string& path) : name_(path), file_(path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) {
      stamp_.time = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    }
    stamp_.size = file_.size();
  }
  const std::string& name() const override { return name_; }
  ByteStamp stamp() const override { return stamp_; }
  Bytes read(void* to, Bytes bytes, Bytes offset) const override {
    return file_.read(to, bytes, offset);
  }

 private:
  std::string name_;
  InputFile file_;
  ByteStamp stamp_;
};

class LocalFiles final : public ByteStore {
 public:
  std::shared_ptr<const ByteSource> open(const std::string& name) const override {
    return std::make_shared<LocalFile>(name);
  }
};

}  // namespace

std::shared_ptr<const ByteStore> local_files() { return std::make_shared<LocalFiles>(); }

}  // namespace plimsoll::data
