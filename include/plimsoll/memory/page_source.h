#pragma once

#include <cstdint>
#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>

namespace plimsoll {

/// A range of addresses, host or device. Never dereferenced by the memory layer.
struct AddressRange {
  std::uintptr_t begin = 0;
  Bytes size = 0;

  std::uintptr_t end() const { return begin + size; }
  bool empty() const { return size == 0; }
  bool operator==(const AddressRange&) const = default;
};

/// The system or the driver has no pages (or no addresses) to give. An arena turns it into
/// OutOfMemory after it has tried everything else.
class OutOfPages : public Error {
 public:
  using Error::Error;
  int exit_code() const noexcept override { return 3; }
};

/// Where memory comes from: address space and physical pages, apart.
///
/// A source reserves ranges of addresses, which cost nothing, and maps physical pages into them.
/// All addresses and sizes given to it are multiples of page_size(). Everything else of the memory
/// layer sees only this interface, so all of it is tested on machines without a GPU; one contract
/// suite (tests/memory/page_source_contract.h) passes on every implementation.
///
/// Physical memory comes in chunks of one or more pages. Only whole chunks can be unmapped or
/// moved; whole_chunks() tells which part of a range that is.
///
/// Every call either does all it says or throws and changes nothing. Thread-safe for calls on
/// disjoint ranges.
class PageSource {
 public:
  virtual ~PageSource() = default;

  /// What this source gives, for messages: "host", "pinned", "cuda:0".
  virtual std::string name() const = 0;

  /// Granularity of everything below, in bytes; a power of two.
  virtual Bytes page_size() const = 0;

  /// Reserves `bytes` of address space. No memory is taken. Throws OutOfPages.
  virtual AddressRange reserve(Bytes bytes) = 0;

  /// Gives a reserved range back, whole. Nothing may be mapped in it.
  virtual void release(AddressRange range) = 0;

  /// Puts new physical pages under `range`, which is reserved and not mapped. `chunk` is the
  /// largest chunk the caller wants; 0 and anything below page_size() mean single pages. The
  /// contents are unspecified. Throws OutOfPages.
  virtual void map(AddressRange range, Bytes chunk) = 0;

  /// Returns the pages under `range` to the system at once. `range` must cover whole chunks.
  virtual void unmap(AddressRange range) = 0;

  /// Moves the physical pages under `from` (whole chunks) to `to`, which has the same size, is
  /// reserved and not mapped; `from` is then not mapped. Takes no memory. Contents are not kept.
  virtual void move(AddressRange from, AddressRange to) = 0;

  /// The largest part of `range`, all of it mapped, that consists of whole chunks; empty when none
  /// does.
  virtual AddressRange whole_chunks(AddressRange range) const = 0;

  /// Size of the chunk that lies under the mapped address `at`.
  virtual Bytes chunk_size(std::uintptr_t at) const = 0;

  /// True if the host can read and write mapped memory directly.
  virtual bool host_accessible() const = 0;
};

}  // namespace plimsoll
