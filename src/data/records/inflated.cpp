#include "data/records/inflated.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

namespace plimsoll::data {
namespace {

constexpr Bytes kInput = KiB(64);
constexpr int kDetect = 32 + MAX_WBITS;  // gzip or zlib, by the header

class Inflated final : public ByteSource {
 public:
  explicit Inflated(std::shared_ptr<const ByteSource> source)
      : source_(std::move(source)), input_(kInput) {
    if (::inflateInit2(&stream_, kDetect) != Z_OK) throw Error("[inflate] zlib cannot begin");
  }
  Inflated(const Inflated&) = delete;
  Inflated& operator=(const Inflated&) = delete;
  ~Inflated() override { ::inflateEnd(&stream_); }

  const std::string& name() const override { return source_->name(); }
  ByteStamp stamp() const override { return {kUnlimited, source_->stamp().time}; }

  Bytes read(void* to, Bytes bytes, Bytes offset) const override {
    if (offset < at_) restart();
    std::array<std::byte, 16 * 1024> dropped;
    while (at_ < offset) {
      if (more(dropped.data(), std::min<Bytes>(dropped.size(), offset - at_)) == 0) break;
    }
    Bytes done = 0;
    while (at_ >= offset && done < bytes) {
      const Bytes got = more(static_cast<std::byte*>(to) + done, bytes - done);
      if (got == 0) break;
      done += got;
    }
    if (done == 0 && bytes > 0 && !broken_.empty()) throw DataError(broken_);
    return done;
  }

 private:
  void restart() const {
    ::inflateReset2(&stream_, kDetect);
    stream_.avail_in = 0;
    taken_ = 0;
    at_ = 0;
    ended_ = false;
    broken_.clear();
  }
  void fail(const char* what) const {
    broken_ = fmt::format("{}: offset {} of the compressed file: {}", printable(source_->name()),
                          taken_ - stream_.avail_in, what);
  }
  void refill() const {
    const Bytes got = source_->read(input_.data(), input_.size(), taken_);
    taken_ += got;
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(got);
  }
  /// Up to `bytes` more; 0 at the end, and where the data is broken.
  Bytes more(void* to, Bytes bytes) const {
    stream_.next_out = static_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<Bytes>(bytes, Bytes{1} << 30));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room && broken_.empty()) {
      if (stream_.avail_in == 0) refill();
      if (ended_) {
        if (stream_.avail_in == 0) return 0;
        // gzip files may follow one another.
        ::inflateReset2(&stream_, kDetect);
        ended_ = false;
      }
      if (stream_.avail_in == 0) {
        fail("cut off");
        break;
      }
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      ended_ = status == Z_STREAM_END;
      if (!ended_ && status != Z_OK) {
        fail(stream_.msg != nullptr ? stream_.msg : "not compressed data");
      }
    }
    const Bytes got = room - stream_.avail_out;
    at_ += got;
    return got;
  }

  std::shared_ptr<const ByteSource> source_;
  mutable std::vector<Bytef> input_;
  mutable ::z_stream stream_{};
  mutable Bytes taken_ = 0;  ///< of the compressed file
  mutable Bytes at_ = 0;     ///< in what it contains
  mutable bool ended_ = false;
  mutable std::string broken_;
};

}  // namespace

Compression compression_of(const ByteSource& source) {
  std::array<unsigned char, 2> head{};
  if (source.read(head.data(), head.size(), 0) < head.size()) return Compression::none;
  if (head[0] == 0x1F && head[1] == 0x8B) return Compression::gzip;
  const bool deflate = (head[0] & 0x0F) == 8 && head[0] >> 4 <= 7;
  const bool check = (head[0] * 256 + head[1]) % 31 == 0;
  return deflate && check ? Compression::zlib : Compression::none;
}

std::shared_ptr<const ByteSource> inflated(std::shared_ptr<const ByteSource> source) {
  return std::make_shared<Inflated>(std::move(source));
}

}  // namespace plimsoll::data
