#include <plimsoll/data/dataset.h>

#include "data/node.h"

namespace plimsoll::data {

const ElementSpec& Dataset::element_spec() const { return node_->spec(); }

std::int64_t Dataset::cardinality() const { return node_->cardinality(); }

std::string Dataset::signature() const {
  std::string text;
  node_->write_signature(text, 0);
  return text;
}

}  // namespace plimsoll::data
