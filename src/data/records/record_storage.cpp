#include <array>
#include <cstdint>
#include <functional>

#include <plimsoll/base/error.h>

#include "data/records/record_format.h"

namespace plimsoll::data {
namespace {

/// Begin and end of the view, in front of the record: the table of a tensor of byte strings.
using Table = std::array<std::uint64_t, 2>;
/// Whole lines are copied to whole lines where the record lies in memory as it does in the file.
constexpr Bytes kLine = 64;

}  // namespace

RecordStorage::RecordStorage(const Device& device, Bytes bytes, std::uint64_t offset,
                             const TensorOptions& options)
    : storage_(Storage::allocate(device, sizeof(Table) + kLine + bytes, options.tag, options.label,
                                 options.stream, options.account)) {
  auto* const base = static_cast<std::byte*>(storage_->data());
  *reinterpret_cast<Table*>(base) = {};
  data_ = base + sizeof(Table);
  data_ += (offset - reinterpret_cast<std::uintptr_t>(data_)) % kLine;
}

Tensor RecordStorage::view(std::string_view text) const {
  if (text.size() <= storage_->size() / 2) return {};
  const auto* const base = static_cast<const std::byte*>(storage_->data());
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  const std::less<const std::byte*> before;
  if (before(begin, base) || !before(begin, base + storage_->size())) return {};
  const auto at = static_cast<std::uint64_t>(begin - base);
  // There is one table: a second view must be the first one's.
  Table& table = *reinterpret_cast<Table*>(storage_->data());
  const Table wanted = {at, at + text.size()};
  if (table != Table{} && table != wanted) return {};
  table = wanted;
  return Tensor::from_storage(storage_, DType::bytes, {});
}

Value RecordMemory::text(std::string_view text) const {
  if (record != nullptr) {
    Tensor view = record->view(text);
    if (view.defined()) return view;
  }
  return Tensor::from_strings({text}, {}, device, options);
}

void RecordFormat::parse_row(std::span<const std::byte> /*bytes*/, const RecordMemory& /*memory*/,
                             RowSink& /*row*/) const {
  throw InternalError("[records] this format writes no rows");
}

}  // namespace plimsoll::data
