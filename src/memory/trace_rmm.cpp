// RAPIDS RMM's log: a line for each allocation and release, in the order they happened.

#include <charconv>

#include <fmt/format.h>

#include "memory/pointer_map.h"
#include "memory/trace_builder.h"
#include "memory/trace_format.h"

namespace plimsoll {
namespace {

class RmmFormat : public TraceFormat {
 public:
  RmmFormat(const TracePosition& at, std::size_t columns, std::size_t action, std::size_t pointer,
            std::size_t size)
      : at_(at), last_(columns - 1), action_(action), pointer_(pointer), size_(size) {}

  void line(TraceFields fields) override {
    const std::string_view action = fields[action_];
    if (action == "allocate failure") return;
    if (action != "allocate" && action != "free") {
      at_.fail(fmt::format("Action {} is neither 'allocate' nor 'free'", quoted(action)));
    }
    const std::uint64_t pointer = read_pointer(fields[pointer_]);
    const Bytes bytes = read_number(fields[size_], "Size", kTraceMaxBytes, at_);
    if (pointer == 0) return null_pointer(action, bytes);
    if (action == "allocate") {
      allocate(pointer, bytes);
    } else {
      release(pointer, bytes);
    }
  }

  bool can_spare_last_field() const override {
    return last_ != action_ && last_ != pointer_ && last_ != size_;
  }

  Trace finish() override { return builder_.finish(); }

 private:
  void allocate(std::uint64_t pointer, Bytes bytes) {
    if (const std::uint32_t* const slot = slots_.find(pointer)) {
      at_.fail(fmt::format("allocation of {:#x}, which is already allocated with {} bytes", pointer,
                           builder_.bytes(*slot)));
    }
    check_total(builder_.bytes_allocated(), bytes, at_);
    slots_.insert(pointer, builder_.allocate(bytes));
  }

  void release(std::uint64_t pointer, Bytes bytes) {
    const std::uint32_t* const slot = slots_.find(pointer);
    if (slot == nullptr) {
      at_.fail(fmt::format("free of {:#x}, which is not allocated", pointer));
    }
    if (bytes != 0 && builder_.bytes(*slot) != bytes) {  // some writers do not say it again
      at_.fail(fmt::format("free of {:#x} with {} bytes, but it was allocated with {}", pointer,
                           bytes, builder_.bytes(*slot)));
    }
    builder_.release(*slot);
    slots_.erase(slot);
  }

  /// RMM's resources answer a request of no bytes with the null pointer, any number of times.
  void null_pointer(std::string_view action, Bytes bytes) const {
    if (bytes != 0) {
      at_.fail(fmt::format("{} of {} bytes at the null pointer", action, bytes));
    }
  }

  std::uint64_t read_pointer(std::string_view field) const {
    if (field == "(nil)" || field == "nullptr") return 0;
    std::string_view digits = field;
    if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
    if (error == std::errc::result_out_of_range && stop == end) {
      at_.fail(fmt::format("Pointer {} does not fit in 64 bits", quoted(field)));
    }
    if (error != std::errc() || stop != end) {
      at_.fail(fmt::format("Pointer {} is not a hexadecimal address", quoted(field)));
    }
    return value;
  }

  const TracePosition& at_;
  std::size_t last_, action_, pointer_, size_;
  PointerMap slots_;
  TraceBuilder builder_;
};

}  // namespace

std::unique_ptr<TraceFormat> make_rmm_format(TraceFields header, const TracePosition& at) {
  const int action = find_column(header, "Action", at);
  const int pointer = find_column(header, "Pointer", at);
  const int size = find_column(header, "Size", at);
  if (action < 0 && pointer < 0) return nullptr;
  for (const std::string_view name : {"Thread", "Time", "Action", "Pointer", "Size", "Stream"}) {
    if (find_column(header, name, at) < 0) {
      at.fail(
          fmt::format("the column {} is missing; RMM's header is "
                      "Thread,Time,Action,Pointer,Size,Stream",
                      quoted(name)));
    }
  }
  return std::make_unique<RmmFormat>(at, header.size(), action, pointer, size);
}

}  // namespace plimsoll
