#include "data/engine/identity.h"

#include <algorithm>
#include <chrono>

#include <sys/stat.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/engine/fnv.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostGroups = 1024;
constexpr std::int64_t kMostStats = 65536;
constexpr std::size_t kNamedFiles = 5;

struct Digest {
  std::uint64_t things = 0;  ///< names and sizes
  std::uint64_t times = 0;
};

/// Sources whose files make up the data, each once.
void find_sources(const Node& node, std::vector<const FileSource*>& found) {
  if (node.inputs().empty() && node.reads() != nullptr &&
      std::find(found.begin(), found.end(), node.reads()) == found.end()) {
    found.push_back(node.reads());
  }
  for (const NodePtr& input : node.inputs()) find_sources(*input, found);
}

/// How a source's files are grouped, which their number decides.
class Groups {
 public:
  explicit Groups(std::int64_t files)
      : files_(files),
        size_(std::max<std::int64_t>(1, (files + kMostGroups - 1) / kMostGroups)),
        stride_(std::max<std::int64_t>(1, (files + kMostStats - 1) / kMostStats)) {}
  std::int64_t count() const { return (files_ + size_ - 1) / size_; }
  std::int64_t begin(std::int64_t group) const { return group * size_; }
  std::int64_t end(std::int64_t group) const { return std::min(files_, (group + 1) * size_); }
  bool has_stat(std::int64_t file) const { return file % stride_ == 0; }

 private:
  std::int64_t files_;
  std::int64_t size_;
  std::int64_t stride_;
};

Digest digest_of(const FileSource& source, const Groups& groups, std::int64_t group) {
  Digest digest;
  for (std::int64_t i = groups.begin(group); i < groups.end(group); ++i) {
    const std::string path = source.file_path(i);
    digest.things = mix_ids(digest.things, hash_of(source.file_name(i)));
    if (!groups.has_stat(i)) continue;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) continue;  // a missing file differs from any other
    digest.things = mix_ids(digest.things, static_cast<std::uint64_t>(status.st_size) + 1);
    digest.times = mix_ids(digest.times, static_cast<std::uint64_t>(status.st_mtim.tv_sec));
    digest.times = mix_ids(digest.times, static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
  }
  return digest;
}

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Whether the file was made or changed since then, as its folder has it.
bool is_newer(const std::string& path, std::int64_t time) {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 || status.st_ctim.tv_sec >= time;
}

class Names {
 public:
  void add(const std::string& path) {
    if (count_++ < kNamedFiles) text_ += (text_.empty() ? "" : ", ") + printable(path);
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return count_ > kNamedFiles ? fmt::format("{} and {} more", text_, count_ - kNamedFiles)
                                : text_;
  }

 private:
  std::string text_;
  std::size_t count_ = 0;
};

/// Adds the files of a group that has changed: those whose dates say so, else all.
void name_files(const FileSource& source, const Groups& groups, std::int64_t group,
                std::int64_t time, Names& names) {
  const std::int64_t begin = groups.begin(group);
  bool any = groups.end(group) - begin == 1;
  for (std::int64_t i = begin; i < groups.end(group) && !any; ++i) {
    any = is_newer(source.file_path(i), time);
  }
  for (std::int64_t i = begin; i < groups.end(group); ++i) {
    const std::string path = source.file_path(i);
    if (!any || groups.end(group) - begin == 1 || is_newer(path, time)) names.add(path);
  }
}

class WordReader {
 public:
  explicit WordReader(const std::vector<std::uint64_t>& words) : words_(words) {}
  std::uint64_t word() {
    if (at_ >= words_.size()) {
      throw DataError("[Pipeline::restore] not a saved position: what it says of files is cut off");
    }
    return words_[at_++];
  }

 private:
  const std::vector<std::uint64_t>& words_;
  std::size_t at_ = 0;
};

[[noreturn]] void other_number(const FileSource& source, std::uint64_t before, std::int64_t time) {
  Names names;
  for (std::int64_t i = 0; i < source.file_count(); ++i) {
    const std::string path = source.file_path(i);
    if (is_newer(path, time)) names.add(path);
  }
  throw InvalidArgument(fmt::format(
      "[Pipeline::restore] the data has {} files, and {} when the position was saved{}{}; restore "
      "what was there, or start again from the beginning",
      source.file_count(), before, names.empty() ? "" : "; new or changed since: ", names.text()));
}

}  // namespace

std::vector<std::uint64_t> identity_of(const Node& node) {
  std::vector<const FileSource*> sources;
  find_sources(node, sources);
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(now()), sources.size()};
  for (const FileSource* const source : sources) {
    words.push_back(static_cast<std::uint64_t>(source->file_count()));
    const Groups groups(source->file_count());
    for (std::int64_t group = 0; group < groups.count(); ++group) {
      const Digest digest = digest_of(*source, groups, group);
      words.push_back(digest.things);
      words.push_back(digest.times);
    }
  }
  return words;
}

std::string compare_identity(const Node& node, const std::vector<std::uint64_t>& saved) {
  std::vector<const FileSource*> sources;
  find_sources(node, sources);
  WordReader reader(saved);
  const auto time = static_cast<std::int64_t>(reader.word());
  if (reader.word() != sources.size()) {
    throw DataError("[Pipeline::restore] not a saved position: it is of other sources");
  }
  Names changed;
  Names touched;
  for (const FileSource* const source : sources) {
    const std::uint64_t before = reader.word();
    if (before != static_cast<std::uint64_t>(source->file_count())) {
      other_number(*source, before, time);
    }
    const Groups groups(source->file_count());
    for (std::int64_t group = 0; group < groups.count(); ++group) {
      const Digest digest = digest_of(*source, groups, group);
      const bool same = reader.word() == digest.things;
      const bool same_time = reader.word() == digest.times;
      if (!same) {
        name_files(*source, groups, group, time, changed);
      } else if (!same_time) {
        name_files(*source, groups, group, time, touched);
      }
    }
  }
  if (!changed.empty()) {
    throw InvalidArgument(
        fmt::format("[Pipeline::restore] the data has changed since the position was saved: {}; "
                    "restore what was there, or start again from the beginning",
                    changed.text()));
  }
  if (touched.empty()) return {};
  return fmt::format(
      "files have the same names and sizes and were written to since the position was saved: {}; "
      "if "
      "their contents differ, so does what the run learns",
      touched.text());
}

}  // namespace plimsoll::data
