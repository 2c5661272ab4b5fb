#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/engine.h"
#include "data/engine/inbox.h"
#include "data/engine/node.h"
#include "data/engine/pinned_memory.h"
#include "data/engine/row_sink.h"
#include "data/stages/batch_rows.h"
#include "data/stages/batch_texts.h"
#include "data/stages/batching.h"

namespace plimsoll::data {
namespace {

/// Batches that may be open at once: the one being filled, and the one after it.
constexpr std::size_t kOpen = 2;

struct Column {
  TensorSpec spec;  ///< of a row
  Bytes row_bytes = 0;
  Tensor rows;                ///< undefined for byte strings
  std::byte* base = nullptr;  ///< its memory
  BatchTexts texts;
};
using OpenBatch = std::vector<Column>;

class BatchStage final : public Stage, public PinnedBatches, private Placement, private RowSink {
 public:
  BatchStage(StagePtr input, Engine& engine, const std::string& title, std::int64_t size, bool drop,
             const ElementSpec& row)
      : inbox_(std::move(input)),
        engine_(engine),
        title_(title),
        options_(engine.tensor_options(Tag::input, title)),
        size_(static_cast<std::size_t>(size)),
        drop_(drop),
        row_(row) {
    if (row.nbytes()) inbox_.stage().offer(*this);
    if (auto* const source = dynamic_cast<RowSource*>(&inbox_.stage())) {
      source->write_rows_to(*this);
    }
  }

  void start(std::uint64_t epoch) override {
    inbox_.start(epoch);
    reset();
  }
  /// From the first row of the batch that is being filled; errors among its rows that have gone out
  /// already are not to go out again.
  StatePtr save() const override {
    return make_state({seen_ > delivered_ ? seen_ - delivered_ : 0}, {inbox_.position(delivered_)});
  }
  void restore(const State& state) override {
    inbox_.restore(*state.inputs.at(0));
    reset();
    seen_ = state.words.at(0);
  }
  std::size_t state_words() const override { return 1 + inbox_.state_words(); }
  void assemble_in(const std::shared_ptr<PinnedMemory>& memory) override { pinned_ = memory; }

 protected:
  Pull pull(ElementBlock& out, std::size_t /*max*/) override {
    for (;;) {
      try {
        return fill(out);
      } catch (const DataError&) {
        if (inbox_.taken() > seen_) {
          seen_ = inbox_.taken();
          throw;
        }
      }
    }
  }

 private:
  Pull fill(ElementBlock& out) {
    while (have_ < size_) {
      // With nothing under way, places count from the next row again.
      if (placed_ == 0) next_place_ = have_;
      const Pull filled = inbox_.fill(size_ - have_);
      if (filled == Pull::pending) {
        // Places that failing elements had may be all that is missing.
        if (placed_ == 0 && next_place_ != have_) continue;
        return filled;
      }
      if (filled == Pull::end) return finish(out);
      while (inbox_.ready() > 0 && have_ < size_) {
        if (inbox_.front().empty() && !row_.components.empty()) {
          take_written();
          continue;
        }
        if (open_.empty() && !open(row_of(inbox_.front()), false)) return Pull::pending;
        add(inbox_.front());
      }
    }
    deliver(out);
    return Pull::ready;
  }

  void reset() {
    open_.clear();
    have_ = 0;
    next_place_ = 0;
    placed_ = 0;
    delivered_ = 0;
    seen_ = 0;
  }

  Pull finish(ElementBlock& out) {
    if (have_ == 0 || drop_) {
      open_.clear();
      have_ = 0;
      return Pull::end;
    }
    deliver(out);
    return Pull::ready;
  }

  void deliver(ElementBlock& out) {
    Element batch;
    for (Column& column : open_.front()) batch.push_back(complete(column));
    batch.id = mix_ids(first_id_, size_);
    out.push_back(std::move(batch));
    open_.pop_front();
    next_place_ -= std::min(next_place_, have_);
    have_ = 0;
    delivered_ = inbox_.taken();
    inbox_.forget(delivered_);
  }

  Value complete(Column& column) {
    const auto rows = static_cast<std::int64_t>(have_);
    if (column.rows.defined()) {
      return have_ == size_ ? Value(column.rows) : Value(column.rows.slice(0, 0, rows));
    }
    return Value(
        Tensor::from_strings(column.texts.views(have_), {rows}, engine_.device(), options_));
  }

  static ElementSpec row_of(const Element& element) {
    ElementSpec spec;
    for (const Value& value : element) spec.components.push_back(TensorSpec::of(value));
    return spec;
  }

  /// Takes the memory of another batch. Ahead of what the consumer waits for only where plenty is
  /// left; false if not. Throws OutOfMemory.
  bool open(const ElementSpec& row, bool ahead) {
    const Bytes bytes = row.nbytes().value_or(0) * size_;
    if ((ahead || !engine_.demand()) && engine_.spare() < bytes + kLeave) return false;
    OpenBatch batch;
    std::vector<TensorType> types;
    for (const TensorSpec& spec : row.components) {
      if (spec.dtype != DType::bytes) {
        types.push_back({spec.dtype, spec.batched(static_cast<std::int64_t>(size_)).shape()});
      } else if (!spec.dims->empty()) {
        inbox_.pop();
        throw DataError("[batch] byte strings can be batched one per element only");
      }
    }
    std::vector<Tensor> columns = memory_for(types);
    auto next = columns.begin();
    for (const TensorSpec& spec : row.components) {
      Column column;
      column.spec = spec;
      if (spec.dtype != DType::bytes) {
        column.row_bytes = *spec.nbytes();
        column.rows = std::move(*next++);
        column.base = static_cast<std::byte*>(column.rows.raw_mutable_data());
      }
      batch.push_back(std::move(column));
    }
    open_.push_back(std::move(batch));
    return true;
  }

  std::vector<Tensor> memory_for(const std::vector<TensorType>& types) const {
    if (pinned_ != nullptr) {
      if (auto made = pinned_->make(types, title_)) return std::move(*made);
    }
    std::vector<Tensor> made;
    for (const TensorType& type : types) {
      made.push_back(Tensor::empty(type.shape, type.dtype, engine_.device(), options_));
    }
    return made;
  }

  void add(Element& element) {
    OpenBatch& batch = open_.front();
    const bool fits = element.size() == batch.size();
    for (std::size_t c = 0; c < element.size(); ++c) {
      if (fits && element[c].is_scalar() && batch[c].spec.dtype == element[c].dtype() &&
          batch[c].spec.dims->empty()) {
        continue;
      }
      if (!fits || !(TensorSpec::of(element[c]) == batch[c].spec)) refuse(element, c);
    }
    if (have_ == 0) first_id_ = element.id;
    for (std::size_t c = 0; c < element.size(); ++c) write(batch[c], element[c]);
    ++have_;
    inbox_.pop();
  }

  /// The row is there already.
  void take_written() {
    if (have_ == 0) first_id_ = inbox_.front().id;
    ++have_;
    inbox_.pop();
  }

  void write(Column& column, Value& value) {
    if (!column.rows.defined()) {
      column.texts.set(have_, std::move(value));
      return;
    }
    std::byte* const row = column.base + have_ * column.row_bytes;
    if (value.is_scalar()) {
      std::memcpy(row, &value.bits(), column.row_bytes);
      return;
    }
    const Tensor tensor = value.tensor().contiguous();
    const void* const from = tensor.raw_data();
    if (from != row && column.row_bytes > 0) std::memcpy(row, from, column.row_bytes);
  }

  [[noreturn]] void refuse(const Element& element, std::size_t c) {
    std::string message;
    if (element.size() != open_.front().size()) {
      message = fmt::format("[batch] elements have {} and {} components", open_.front().size(),
                            element.size());
    } else {
      message = fmt::format(
          "[batch] elements have component {} as {} and {}; use padded_batch, or resize first", c,
          open_.front()[c].spec.to_string(), TensorSpec::of(element[c]).to_string());
    }
    inbox_.pop();
    throw DataError(message);
  }

  std::optional<std::vector<Tensor>> place() override {
    const std::size_t at = next_place_ / size_;
    if (at >= kOpen) return std::nullopt;
    while (open_.size() <= at) {
      if (!open(row_, !open_.empty())) return std::nullopt;
    }
    std::vector<Tensor> rows;
    for (const Column& column : open_[at]) {
      const bool tensor = column.rows.defined() && !column.spec.dims->empty();
      rows.push_back(tensor ? column.rows.select(0, static_cast<std::int64_t>(next_place_ % size_))
                            : Tensor());
    }
    ++next_place_;
    ++placed_;
    return rows;
  }
  void left() override {
    if (placed_ > 0) --placed_;
  }

  // Rows that a source writes itself.

  bool begin_row(std::size_t position) override {
    if (inbox_.replaying() || (open_.empty() && !open(row_, false))) return false;
    row_begun_ = have_ + position;
    return true;
  }
  std::byte* fixed(std::size_t c) override {
    const Column& column = open_.front()[c];
    return column.base + row_begun_ * column.row_bytes;
  }
  void text(std::size_t c, std::string_view text) override {
    open_.front()[c].texts.put(row_begun_, text, engine_.device(), options_.account);
  }

  Inbox inbox_;
  Engine& engine_;
  const std::string title_;
  TensorOptions options_;
  std::shared_ptr<PinnedMemory> pinned_;  ///< null: batches go elsewhere than to a device
  const std::size_t size_;
  const bool drop_;
  const ElementSpec row_;
  std::deque<OpenBatch> open_;
  std::size_t have_ = 0;        ///< rows of the first open batch that are filled
  std::size_t next_place_ = 0;  ///< counted in rows from the first open batch
  std::size_t placed_ = 0;      ///< places given to elements that are still with the input
  std::size_t row_begun_ = 0;   ///< that a source is writing
  std::uint64_t first_id_ = 0;
  std::uint64_t delivered_ = 0;  ///< units of the input in batches that have gone out
  std::uint64_t seen_ = 0;       ///< units whose errors have gone out
};

class BatchNode final : public Node, public BatchRows {
 public:
  BatchNode(const NodePtr& input, std::int64_t size, bool drop)
      : Node("batch", fmt::format("{}{}", size, drop ? ", drop_remainder" : ""), {input},
             batched(input->spec(), full_batches_only(*input, size, drop) ? size : kAnyExtent),
             input->cardinality() < 0 ? input->cardinality()
                                      : (input->cardinality() + (drop ? 0 : size - 1)) / size),
        size_(size),
        drop_(drop) {}
  StagePtr make(Builder& builder) const override {
    return std::make_unique<BatchStage>(builder.input(*this), builder.engine(), title(), size_,
                                        drop_, inputs()[0]->spec());
  }
  std::int64_t rows() const override { return size_; }
  bool drops_remainder() const override { return drop_; }
  Bytes minimum(int /*threads*/) const override {
    return inputs()[0]->spec().nbytes().value_or(0) * static_cast<Bytes>(size_);
  }

 private:
  std::int64_t size_;
  bool drop_;
};

}  // namespace

Dataset Dataset::batch(std::int64_t size, const BatchOptions& options) const {
  if (size < 1) throw InvalidArgument(fmt::format("[batch] a size of {}; give 1 or more", size));
  return Dataset(std::make_shared<BatchNode>(node_, size, options.drop_remainder));
}

}  // namespace plimsoll::data
