#include "text_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>
#include <plimsoll/data/map_function.h>

#include "record_source.h"

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;
using data::Dataset;

/// Fewer pieces are all for training.
constexpr std::int64_t kLeastPieces = 20;
constexpr std::int64_t kHeldOutShare = 10;

/// A file that stays open. Thread-safe.
class TextFile {
 public:
  explicit TextFile(std::string path)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat about {};
    if (file_ < 0 || ::fstat(file_, &about) != 0) fail();
    size_ = about.st_size;
    changed_ = about.st_mtime;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() {
    if (file_ >= 0) ::close(file_);
  }

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  std::int64_t changed() const { return changed_; }

  void read(std::uint8_t* to, std::int64_t count, std::int64_t offset) const {
    while (count > 0) {
      const auto got = ::pread(file_, to, static_cast<std::size_t>(count), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0) {
        throw DataError(fmt::format("{}: offset {}: the file ends", printable(path_), offset));
      }
      to += got;
      count -= got;
      offset += got;
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw DataError(fmt::format("{}: {}", printable(path_), std::strerror(errno)));
  }

  std::string path_;
  int file_;
  std::int64_t size_ = 0;
  std::int64_t changed_ = 0;
};

/// Piece number `first` + i of the text, with what follows each of its bytes.
data::MapFunction piece(const std::shared_ptr<const TextFile>& file, std::int64_t first,
                        std::int64_t length) {
  data::MapFunction make;
  make.name = fmt::format("text({} bytes={} changed={} from={} length={})", file->path(),
                          file->size(), file->changed(), first, length);
  make.random = false;
  make.output = data::ElementSpec{true,
                                  {data::TensorSpec::of(DType::i64, Shape{length}),
                                   data::TensorSpec::of(DType::i64, Shape{length})},
                                  {"input", "target"}};
  make.run = [=](const data::Element& element, data::MapContext& context) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(length) + 1);
    file->read(bytes.data(), length + 1, (first + element[0].as<std::int64_t>()) * length);
    Tensor input = context.output(0);
    Tensor target = context.output(1);
    std::copy_n(bytes.begin(), length, input.mutable_data<std::int64_t>());
    std::copy_n(bytes.begin() + 1, length, target.mutable_data<std::int64_t>());
    return data::Element{input, target};
  };
  return make;
}

}  // namespace

bool is_text_file(const std::string& path) {
  const std::string end = lower_extension(path);
  std::error_code error;
  return (end == ".txt" || end == ".text") && fs::is_regular_file(path, error);
}

TrainingData text_data(const std::string& path, const nn::Model& model, std::int64_t classes,
                       const TrainingDataOptions& options) {
  const TensorType input = model.input_type(1);
  const TensorType target = model.target_type(1);
  if (input.dtype != DType::i64 || input.shape.rank() != 2 || target.shape != input.shape) {
    throw InvalidArgument(
        fmt::format("--data {}: the model wants {}, and a text is a row of tokens; use a language "
                    "model such as gpt2_tiny",
                    printable(path), input.to_string()));
  }
  if (classes < kTextTokens) {
    throw InvalidArgument(fmt::format(
        "--data {}: a text has bytes as tokens, and the model knows {}; leave --classes out",
        printable(path), classes));
  }
  const auto file = std::make_shared<const TextFile>(path);
  const std::int64_t length = input.shape.dim(1);
  const std::int64_t pieces = (file->size() - 1) / length;
  if (pieces < 1) {
    throw InvalidArgument(
        fmt::format("--data {}: it has {}, and the model learns from {} at a time; use a "
                    "longer text, or a smaller --size",
                    printable(path), counted(file->size(), "byte"), length + 1));
  }
  TrainingData all;
  const bool holds_out = options.validates && pieces >= kLeastPieces;
  all.validation_count = holds_out ? pieces / kHeldOutShare : 0;
  all.train_count = pieces - all.validation_count;
  const data::MapOptions parallel{.parallel = data::kAutotune};
  const Dataset numbers = Dataset::range(all.train_count);
  all.train =
      (options.in_order ? numbers : numbers.shuffle()).map(piece(file, 0, length), parallel);
  if (holds_out) {
    all.validation =
        Dataset::range(all.validation_count).map(piece(file, all.train_count, length), parallel);
  }
  all.summary =
      fmt::format("{} of text in {} of {}; {} for validation\n", counted(file->size(), "byte"),
                  counted(pieces, "piece"), length, format_count(all.validation_count));
  return all;
}

}  // namespace plimsoll::tools
