#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/engine/node.h"

namespace plimsoll::data {

/// Some of the elements of a node that has an index, by an index of their own; the same for the
/// files they are. For nodes to derive from.
class IndexView : public IndexedSource, public FileSource {
 public:
  explicit IndexView(const Node& input) : elements_(input.indexed()), files_(input.files()) {}
  Element get(std::int64_t index, Engine& engine) const override {
    return elements_->get(source_index(index), engine);
  }
  bool reads_in_any_thread() const override {
    return elements_ != nullptr && elements_->reads_in_any_thread();
  }
  Bytes read_bytes(std::int64_t index) const override {
    return elements_->read_bytes(source_index(index));
  }
  std::int64_t file_count() const override { return size(); }
  std::string file_path(std::int64_t index) const override {
    return files_->file_path(source_index(index));
  }
  std::int64_t file_class(std::int64_t index) const override {
    return files_->file_class(source_index(index));
  }
  std::vector<std::string> class_names() const override { return files_->class_names(); }

 protected:
  /// The input's index of element `index`.
  virtual std::int64_t source_index(std::int64_t index) const = 0;
  const IndexedSource* elements_or_null() const { return elements_ == nullptr ? nullptr : this; }
  const FileSource* files_or_null() const { return files_ == nullptr ? nullptr : this; }

 private:
  const IndexedSource* elements_;  ///< of the input, which the node keeps
  const FileSource* files_;
};

}  // namespace plimsoll::data
