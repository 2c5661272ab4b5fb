#include <plimsoll/data/dataset.h>

#include "data/engine/node.h"

namespace plimsoll::data {

const ElementSpec& Dataset::element_spec() const { return node_->spec(); }

std::int64_t Dataset::cardinality() const { return node_->cardinality(); }

namespace {

/// The files nearest to the end of the pipeline, so that parts count theirs.
const FileSource* files_of(const Node& node) {
  if (node.files() != nullptr) return node.files();
  for (const NodePtr& input : node.inputs()) {
    if (const FileSource* const found = files_of(*input)) return found;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> Dataset::classes() const {
  const FileSource* const files = files_of(*node_);
  return files == nullptr ? std::vector<std::string>() : files->class_names();
}

std::vector<std::int64_t> Dataset::class_counts() const {
  const FileSource* const files = files_of(*node_);
  std::vector<std::int64_t> counts(classes().size());
  if (counts.empty()) return counts;
  for (std::int64_t i = 0; i < files->file_count(); ++i) {
    ++counts[static_cast<std::size_t>(files->file_class(i))];
  }
  return counts;
}

std::string Dataset::signature() const {
  std::string text;
  node_->write_signature(text, 0);
  return text;
}

}  // namespace plimsoll::data
