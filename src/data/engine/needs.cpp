#include <plimsoll/data/needs.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/printable.h>
#include <plimsoll/data/unreadable.h>

#include "data/engine/needs_scan.h"
#include "data/engine/node.h"

namespace plimsoll::data {

NeedsScan::NeedsScan(std::function<Bytes(const std::string& path)> needs,
                     std::vector<const FileSource*> sources)
    : needs_(std::move(needs)), sources_(std::move(sources)) {
  for (const FileSource* const source : sources_) known_.files += source->file_count();
  known_.complete = known_.files == 0;
}

DecodeNeeds NeedsScan::known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

std::string NeedsScan::first_unreadable() const {
  const std::lock_guard lock(mutex_);
  return first_unreadable_;
}

void NeedsScan::look_at(const std::string& path) {
  Bytes bytes = 0;
  std::optional<std::string> wrong;
  try {
    bytes = needs_(path);
  } catch (const std::exception& error) {  // says so when it is read
    wrong = error.what();
  }
  const std::lock_guard lock(mutex_);
  ++known_.looked_at;
  if (wrong && known_.unreadable++ == 0) {
    const std::string name = printable(path);
    first_unreadable_ = wrong->starts_with(name) ? *wrong : fmt::format("{}: {}", name, *wrong);
  }
  if (bytes > known_.largest) {
    known_.largest = bytes;
    known_.largest_file = path;
  }
}

std::int64_t NeedsScan::go_on(std::chrono::steady_clock::time_point deadline, std::int64_t most) {
  const std::lock_guard scanning(scanning_);
  std::int64_t done = 0;
  for (; source_ < sources_.size(); ++source_, next_ = 0) {
    const FileSource& source = *sources_[source_];
    for (const std::int64_t count = source.file_count(); next_ < count; ++next_, ++done) {
      if (done >= most || (done > 0 && std::chrono::steady_clock::now() >= deadline)) return done;
      look_at(source.file_path(next_));
    }
  }
  const std::lock_guard lock(mutex_);
  known_.complete = true;
  return done;
}

void find_scans(const Node& node, std::vector<NeedsScan*>& found) {
  if (NeedsScan* const scan = node.needs(); scan != nullptr) {
    if (std::find(found.begin(), found.end(), scan) == found.end()) found.push_back(scan);
  }
  for (const NodePtr& input : node.inputs()) find_scans(*input, found);
}

void find_files(const Node& node, std::vector<const FileSource*>& found) {
  if (const FileSource* const files = node.files(); files != nullptr) {
    found.push_back(files);
  } else if (node.hands_on()) {
    for (const NodePtr& input : node.inputs()) find_files(*input, found);
  }
}

DecodeNeeds decode_needs(const Dataset& dataset, std::chrono::milliseconds time,
                         std::int64_t max_files) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  std::vector<NeedsScan*> scans;
  find_scans(*dataset.node(), scans);
  DecodeNeeds all;
  std::int64_t left = max_files;
  for (NeedsScan* const scan : scans) {
    left -= scan->go_on(deadline, left);
    const DecodeNeeds each = scan->known();
    all.looked_at += each.looked_at;
    all.files += each.files;
    all.unreadable += each.unreadable;
    all.complete = all.complete && each.complete;
    if (each.largest > all.largest) {
      all.largest = each.largest;
      all.largest_file = each.largest_file;
    }
  }
  return all;
}

std::string first_unreadable(const Dataset& dataset) {
  std::vector<NeedsScan*> scans;
  find_scans(*dataset.node(), scans);
  for (const NeedsScan* const scan : scans) {
    if (std::string found = scan->first_unreadable(); !found.empty()) return found;
  }
  return {};
}

}  // namespace plimsoll::data
