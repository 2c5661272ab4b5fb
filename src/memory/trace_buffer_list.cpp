// Buffer lists, as planners exchange them: each line a buffer with its lifetime and size.

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_set>

#include <fmt/format.h>

#include "memory/trace_builder.h"
#include "memory/trace_format.h"

namespace plimsoll {
namespace {

class BufferListFormat : public TraceFormat {
 public:
  BufferListFormat(const TracePosition& at, std::size_t id, std::size_t lower, std::size_t upper,
                   std::size_t size)
      : at_(at), id_(id), lower_(lower), upper_(upper), size_(size) {}

  void line(TraceFields fields) override {
    constexpr std::uint64_t kMaxTime = std::numeric_limits<std::int64_t>::max();
    const std::string_view id = fields[id_];
    if (id.empty()) at_.fail("id is empty");
    Buffer buffer;
    buffer.lower = read_number(fields[lower_], "lower", kMaxTime, at_);
    buffer.upper = read_number(fields[upper_], "upper", kMaxTime, at_);
    buffer.bytes = read_number(fields[size_], "size", kTraceMaxBytes, at_);
    if (buffer.upper <= buffer.lower) {
      at_.fail(fmt::format("upper {} is not after lower {}; a buffer is live in [lower, upper)",
                           buffer.upper, buffer.lower));
    }
    check_total(allocated_, buffer.bytes, at_);
    if (!ids_.emplace(id).second) at_.fail(fmt::format("the id {} is there twice", quoted(id)));
    if (buffers_.size() == std::numeric_limits<std::uint32_t>::max()) {
      at_.fail("the list has too many buffers");
    }
    allocated_ += buffer.bytes;
    buffers_.push_back(buffer);
  }

  /// Events in the order of their times; at one time frees come first, then the file's order.
  Trace finish() override {
    ids_.clear();
    const std::vector<std::uint32_t> starts = sorted_by(&Buffer::lower);
    const std::vector<std::uint32_t> ends = sorted_by(&Buffer::upper);
    std::vector<std::uint32_t> slots(buffers_.size());
    TraceBuilder builder;
    auto start = starts.begin();
    for (const std::uint32_t ending : ends) {
      for (; start != starts.end() && buffers_[*start].lower < buffers_[ending].upper; ++start) {
        slots[*start] = builder.allocate(buffers_[*start].bytes);
      }
      builder.release(slots[ending]);
    }
    return builder.finish();
  }

 private:
  struct Buffer {
    std::uint64_t lower = 0;
    std::uint64_t upper = 0;
    Bytes bytes = 0;
  };

  std::vector<std::uint32_t> sorted_by(std::uint64_t Buffer::*time) const {
    std::vector<std::uint32_t> order(buffers_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return buffers_[a].*time < buffers_[b].*time;
    });
    return order;
  }

  const TracePosition& at_;
  std::size_t id_, lower_, upper_, size_;
  Bytes allocated_ = 0;
  std::vector<Buffer> buffers_;
  std::unordered_set<std::string> ids_;
};

}  // namespace

std::unique_ptr<TraceFormat> make_buffer_list_format(TraceFields header, const TracePosition& at) {
  const int lower = find_column(header, "lower", at);
  const int upper = find_column(header, "upper", at);
  if (lower < 0 && upper < 0) return nullptr;
  for (const std::string_view name : {"id", "lower", "upper", "size"}) {
    if (find_column(header, name, at) < 0) {
      at.fail(
          fmt::format("the column {} is missing; a buffer list's header is "
                      "id,lower,upper,size",
                      quoted(name)));
    }
  }
  return std::make_unique<BufferListFormat>(at, find_column(header, "id", at), lower, upper,
                                            find_column(header, "size", at));
}

}  // namespace plimsoll
