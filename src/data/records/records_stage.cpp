#include <algorithm>
#include <utility>

#include "data/engine/indexed_stage.h"
#include "data/engine/row_sink.h"
#include "data/records/inflated.h"
#include "data/records/records_source.h"

namespace plimsoll::data {
namespace {

/// Small records come out of a buffer of this size, which is read with the next ones in it.
constexpr Bytes kBuffer = KiB(256);
/// Compressed ones are copied up to this size: what was inflated and had no room in memory would
/// have to be inflated again from the beginning of the file.
constexpr Bytes kSmallInflated = kBuffer / 2;

/// The records in order.
class RecordsStage final : public IndexedStage, public RowSource {
 public:
  RecordsStage(NodePtr keep, const RecordsNode& node, Engine& engine)
      : IndexedStage(std::move(keep), node, engine),
        node_(node),
        options_(engine.tensor_options(Tag::input, node.kind())),
        charge_(engine.budget().charge(Tag::input, node.kind(), node.index_bytes())) {}

  void write_rows_to(RowSink& sink) override {
    if (node_.format().has_rows()) sink_ = &sink;
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    out_ = &out;
    return IndexedStage::pull(out, max);
  }
  Element fetch(std::int64_t index) override {
    const RecordFile& file = file_at(index);
    const RecordPlace place = RecordsNode::place_of(file, index, engine_);
    open(file);
    if (place.bytes > small_ || !have_buffer()) {
      return node_.read_alone(*source_, file, place, {engine_.device(), options_});
    }
    const auto bytes = buffered(file, place);
    if (sink_ != nullptr && sink_->begin_row(out_->size())) {
      node_.parse_row(file, place, bytes, {engine_.device(), options_}, *sink_);
      stats_.bytes += place.bytes;
      return {};
    }
    return node_.parse(file, place, bytes, {engine_.device(), options_});
  }

 private:
  const RecordFile& file_at(std::int64_t index) {
    if (file_ != nullptr && index >= file_->first &&
        index - file_->first < static_cast<std::int64_t>(file_->index.count())) {
      return *file_;
    }
    return node_.file_of(index);
  }
  void open(const RecordFile& file) {
    if (file_ == &file) return;
    file_ = nullptr;
    source_ = nullptr;
    inflating_ = Charge();
    end_ = begin_ = 0;
    const bool compressed = file.compression != Compression::none;
    if (compressed) inflating_ = engine_.budget().charge(Tag::input, "inflate", kInflateBytes);
    source_ = file.open ? file.open : node_.store().open(file.name);
    if (compressed) source_ = inflated(source_);
    small_ = compressed ? kSmallInflated : RecordsNode::kSmall;
    file_ = &file;
  }
  /// The record out of the buffer, which has whole records: as many small ones as fit and follow
  /// one another.
  std::span<const std::byte> buffered(const RecordFile& file, const RecordPlace& place) {
    auto* const buffer = static_cast<std::byte*>(buffer_.data());
    if (place.offset < begin_ || place.offset + place.bytes > end_) {
      begin_ = end_ = place.offset;
      std::uint64_t until = place.offset + place.bytes;
      for (std::size_t next = place.record + 1; next < file.index.count(); ++next) {
        const std::uint64_t end = file.index.at(next + 1);
        if (end - until > small_ || end - begin_ > kBuffer) break;
        until = end;
      }
      end_ += source_->read(buffer, until - begin_, begin_);
    }
    const Bytes have = std::min<Bytes>(place.bytes, end_ - place.offset);
    return {buffer + (place.offset - begin_), have};
  }
  bool have_buffer() {
    if (!buffer_ && engine_.spare() > 2 * kBuffer) {
      buffer_ = engine_.device().arena().allocate(kBuffer,
                                                  engine_.budget().account(Tag::input, "record"));
    }
    return static_cast<bool>(buffer_);
  }

  const RecordsNode& node_;
  TensorOptions options_;
  Charge charge_;
  Charge inflating_;
  RowSink* sink_ = nullptr;
  const ElementBlock* out_ = nullptr;  ///< what is being pulled
  const RecordFile* file_ = nullptr;   ///< what the buffer holds of it is [begin_, end_)
  std::shared_ptr<const ByteSource> source_;
  Bytes small_ = 0;
  Block buffer_;
  Bytes begin_ = 0;
  Bytes end_ = 0;
};

}  // namespace

StagePtr RecordsNode::make(Builder& builder) const {
  return std::make_unique<RecordsStage>(shared_from_this(), *this, builder.engine());
}

}  // namespace plimsoll::data
