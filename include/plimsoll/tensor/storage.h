#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/tag.h>

namespace plimsoll {

/// The memory under a tensor and all its views: a block of a device's arena, which keeps the
/// device open, or memory of someone else's that is handed back at the end.
///
/// Shared by std::shared_ptr, so that counting is thread-safe. What the object says never changes,
/// but for the closing of its session; the bytes it holds are the user's to synchronize.
class Storage {
  struct Key {};

 public:
  /// `bytes` from the arena of `device`, charged to `account` where that is valid, else to
  /// `tag` and `label` of the device's budget. Throws OutOfMemory.
  static std::shared_ptr<Storage> allocate(const Device& device, Bytes bytes, Tag tag,
                                           std::string_view label, StreamId stream = kHostStream,
                                           const Account& account = {});

  /// Foreign memory on `device`: not charged to any budget. `release` is called once, by whichever
  /// thread drops the last reference, and must not throw.
  static std::shared_ptr<Storage> adopt(const Device& device, void* data, Bytes bytes,
                                        std::function<void()> release, bool read_only = false,
                                        std::string_view label = "foreign");

  /// The memory of `of` for reading only: keeps `of` alive and says of itself what `of` says.
  static std::shared_ptr<Storage> read_only_view(std::shared_ptr<Storage> of);

  /// For those above.
  Storage(Key, const Device& device, std::string_view label, Tag tag, Bytes size)
      : device_(device), label_(label), tag_(tag), size_(size) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  /// The first byte; null if there are none. Waits for contents that are on their way. Throws Error
  /// naming the label and the session if that was closed.
  void* data() const;
  /// The same for work that is submitted to `stream` of the device from now on. Contents that are
  /// on their way are waited for there, not here; and the memory is not given to others before that
  /// work is done, though this object may go earlier (foreign memory the caller keeps).
  void* data_on(StreamId stream) const;
  /// The contents come with `fence`, of this storage's device. Said once, by who makes it and
  /// before others have it.
  void set_arrival(std::shared_ptr<Fence> fence) { arrival_ = std::move(fence); }
  /// In bytes, as asked for.
  Bytes size() const { return size_; }
  const Device& device() const { return device_; }
  const std::string& label() const { return label_; }
  Tag tag() const { return tag_; }
  /// False once the session that held the memory was closed.
  bool alive() const;
  /// True if the host can read and write data() directly.
  bool host_accessible() const { return device_.capabilities().host_memory; }
  bool read_only() const { return read_only_; }
  bool foreign() const { return foreign_; }
  /// The arena's block, for record_use() and recharge(); empty for foreign memory.
  const Block& block() const { return viewed_ ? viewed_->block() : block_; }

 private:
  Device device_;
  std::string label_;
  Tag tag_;
  Bytes size_;
  bool read_only_ = false;
  bool foreign_ = false;
  Block block_;
  void* address_ = nullptr;  ///< of foreign memory
  std::function<void()> release_;
  std::shared_ptr<Storage> viewed_;
  std::shared_ptr<Fence> arrival_;  ///< null: the contents are there

  void* address() const;
};

}  // namespace plimsoll
