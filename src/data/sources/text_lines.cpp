#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"
#include "data/engine/node.h"
#include "data/sources/read_file.h"

namespace plimsoll::data {
namespace {

constexpr Bytes kLineBuffer = KiB(64);

/// Seeks: a position is a file and an offset in it.
class TextStage final : public Stage {
 public:
  TextStage(std::vector<std::string> paths, Engine& engine)
      : paths_(std::move(paths)),
        engine_(engine),
        options_(engine.tensor_options(Tag::input, "text_lines")) {}

  void start(std::uint64_t /*epoch*/) override { go_to(0, 0, 0); }
  StatePtr save() const override { return make_state({file_, offset_, line_}); }
  void restore(const State& state) override {
    go_to(static_cast<std::size_t>(state.words.at(0)), state.words.at(1), state.words.at(2));
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    while (out.size() - before < max && file_ < paths_.size()) {
      if (!open_ && out.size() > before) return Pull::ready;  // an error comes alone
      if (!open_) open();
      const std::optional<std::string_view> line = next_line();
      if (!line) {
        go_to(file_ + 1, 0, 0);
        continue;
      }
      std::string_view text = *line;
      if (text.ends_with('\n')) text.remove_suffix(1);
      if (text.ends_with('\r')) text.remove_suffix(1);
      Element element;
      element.push_back(Tensor::from_strings({text}, {}, engine_.device(), options_));
      element.id = mix_ids(file_, line_++);
      out.push_back(std::move(element));
      offset_ += line->size();
    }
    return out.size() > before ? Pull::ready : Pull::end;
  }

 private:
  void go_to(std::size_t file, Bytes offset, std::uint64_t line) {
    file_ = file;
    offset_ = offset;
    line_ = line;
    open_.reset();
    buffer_ = Block();
    have_ = 0;
  }
  void open() {
    try {
      open_.emplace(paths_[file_]);
      size_ = open_->size();
    } catch (const DataError& error) {
      go_to(file_ + 1, 0, 0);
      throw DataError(fmt::format("{} (text_lines)", error.what()));
    }
  }
  /// The line at offset_ with its end; nullopt at the end of the file. The buffer grows to the
  /// longest line.
  std::optional<std::string_view> next_line() {
    if (offset_ >= size_) return std::nullopt;
    for (;;) {
      if (have_ > 0 && offset_ >= base_ && offset_ < base_ + have_) {
        const std::string_view rest(static_cast<const char*>(buffer_.data()) + (offset_ - base_),
                                    base_ + have_ - offset_);
        const auto end = rest.find('\n');
        if (end != std::string_view::npos) return rest.substr(0, end + 1);
        if (base_ + have_ >= size_) return rest;
      }
      const bool whole = have_ > 0 && base_ == offset_;
      const Bytes wanted = std::min<Bytes>(whole ? have_ * 2 : kLineBuffer, size_ - offset_);
      if (!buffer_ || buffer_.size() < wanted) {
        buffer_ = Block();
        have_ = 0;
        buffer_ = engine_.device().arena().allocate(wanted, options_.account);
      }
      base_ = offset_;
      have_ = open_->read(buffer_.data(), wanted, base_);
      if (have_ < wanted) size_ = base_ + have_;
      if (have_ == 0) return std::nullopt;
    }
  }

  std::vector<std::string> paths_;
  Engine& engine_;
  TensorOptions options_;
  std::optional<InputFile> open_;
  std::size_t file_ = 0;
  Bytes offset_ = 0;
  std::uint64_t line_ = 0;
  Bytes size_ = 0;
  Block buffer_;
  Bytes base_ = 0;  ///< where in the file the buffer begins
  Bytes have_ = 0;
};

class TextNode final : public Node, public FileSource {
 public:
  explicit TextNode(std::vector<std::string> paths)
      : Node("text_lines", fmt::format("{} files, first {}", paths.size(), paths.front()), {},
             {true, {TensorSpec::scalar(DType::bytes)}, {"line"}}, kUnknown),
        paths_(std::move(paths)) {}
  StagePtr make(Builder& builder) const override {
    return std::make_unique<TextStage>(paths_, builder.engine());
  }
  bool may_fail() const override { return true; }
  const FileSource* reads() const override { return this; }
  std::int64_t file_count() const override { return static_cast<std::int64_t>(paths_.size()); }
  std::string file_path(std::int64_t index) const override {
    return paths_[static_cast<std::size_t>(index)];
  }
  Bytes minimum(int /*threads*/) const override { return kLineBuffer; }

 private:
  std::vector<std::string> paths_;
};

}  // namespace

Dataset Dataset::text_lines(std::vector<std::string> paths) {
  if (paths.empty()) throw InvalidArgument("[text_lines] no files");
  return Dataset(std::make_shared<TextNode>(Shards(std::move(paths)).files()));
}

}  // namespace plimsoll::data
