#include <array>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"
#include "data/stages/lazy_map.h"

namespace plimsoll::data {
namespace {

class ConcatenateStage final : public Stage {
 public:
  ConcatenateStage(StagePtr first, StagePtr second)
      : inputs_{std::move(first), std::move(second)} {}

  void start(std::uint64_t epoch) override {
    epoch_ = epoch;
    at_ = 0;
    inputs_[0]->start(epoch);
  }
  StatePtr save() const override { return make_state({epoch_, at_}, {inputs_[at_]->save()}); }
  void restore(const State& state) override {
    epoch_ = state.words.at(0);
    at_ = state.words.at(1) == 0 ? 0 : 1;
    inputs_[at_]->restore(*state.inputs.at(0));
  }
  std::size_t state_words() const override { return 2 + inputs_[at_]->state_words(); }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    for (;;) {
      const Pull pulled = inputs_[at_]->next_block(out, max);
      if (at_ == 1) {
        for (std::size_t i = before; i < out.size(); ++i) out[i].id = mix_ids(out[i].id, ~0ULL);
      }
      if (pulled != Pull::end || at_ == 1) return pulled;
      at_ = 1;
      inputs_[1]->start(epoch_);
    }
  }

 private:
  std::array<StagePtr, 2> inputs_;
  std::uint64_t epoch_ = 0;
  std::size_t at_ = 0;
};

ElementSpec common_spec(const ElementSpec& a, const ElementSpec& b) {
  if (!a.known || !b.known) return ElementSpec::unknown();
  bool fits = a.components.size() == b.components.size();
  ElementSpec result = a;
  for (std::size_t i = 0; fits && i < a.components.size(); ++i) {
    fits = a.components[i].dtype == b.components[i].dtype;
    result.components[i] = TensorSpec::common(a.components[i], b.components[i]);
  }
  if (!fits) {
    throw InvalidArgument(
        fmt::format("[concatenate] elements are {} and {}; map one to the dtypes of the other",
                    a.to_string(), b.to_string()));
  }
  return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  if (a == kInfinite || b == kInfinite) return kInfinite;
  return a == kUnknown || b == kUnknown ? kUnknown : a + b;
}

/// Where both inputs have an index, it has one: the first's, then the second's. The same for files,
/// if both have the same classes.
class ConcatenateNode final : public Node, private IndexedSource, private FileSource {
 public:
  ConcatenateNode(const NodePtr& first, const NodePtr& second)
      : Node("concatenate", "", {first, second}, common_spec(first->spec(), second->spec()),
             sum(first->cardinality(), second->cardinality())),
        elements_{first->indexed(), second->indexed()},
        files_{first->files(), second->files()} {}
  bool hands_on() const override { return true; }
  const IndexedSource* indexed() const override {
    return elements_[0] != nullptr && elements_[1] != nullptr ? this : nullptr;
  }
  const FileSource* files() const override {
    if (files_[0] == nullptr || files_[1] == nullptr) return nullptr;
    return files_[0]->class_names() == files_[1]->class_names() ? this : nullptr;
  }
  StagePtr make(Builder& builder) const override {
    StagePtr first = builder.input(*this, 0);
    return std::make_unique<ConcatenateStage>(std::move(first), builder.input(*this, 1));
  }

 private:
  std::int64_t size() const override { return cardinality(); }
  Element get(std::int64_t index, Engine& engine) const override {
    const auto [elements, at] = part(elements_, elements_[0]->size(), index);
    return elements->get(at, engine);
  }
  bool reads_in_any_thread() const override {
    return elements_[0]->reads_in_any_thread() && elements_[1]->reads_in_any_thread();
  }
  Bytes read_bytes(std::int64_t index) const override {
    const auto [elements, at] = part(elements_, elements_[0]->size(), index);
    return elements->read_bytes(at);
  }

  std::int64_t file_count() const override {
    return files_[0]->file_count() + files_[1]->file_count();
  }
  std::string file_path(std::int64_t index) const override {
    const auto [files, at] = part(files_, files_[0]->file_count(), index);
    return files->file_path(at);
  }
  std::string file_name(std::int64_t index) const override {
    const auto [files, at] = part(files_, files_[0]->file_count(), index);
    return files->file_name(at);
  }
  std::int64_t file_class(std::int64_t index) const override {
    const auto [files, at] = part(files_, files_[0]->file_count(), index);
    return files->file_class(at);
  }
  std::vector<std::string> class_names() const override { return files_[0]->class_names(); }

  /// Which of two has element `index`, where the first has `count`, and its index there.
  template <typename T>
  static std::pair<T, std::int64_t> part(const std::array<T, 2>& both, std::int64_t count,
                                         std::int64_t index) {
    return index < count ? std::pair(both[0], index) : std::pair(both[1], index - count);
  }

  // Of the inputs, which the node keeps.
  std::array<const IndexedSource*, 2> elements_;
  std::array<const FileSource*, 2> files_;
};

}  // namespace

Dataset Dataset::concatenate(const Dataset& other) const {
  const Node& second = *other.node_;
  if (node_->is_lazy() && second.is_lazy() && *node_->program() == *second.program()) {
    return *choose_below(*this, [&](const Dataset& files) {
      return files.concatenate(Dataset(second.inputs().front()));
    });
  }
  return Dataset(std::make_shared<ConcatenateNode>(node_, other.node_));
}

}  // namespace plimsoll::data
