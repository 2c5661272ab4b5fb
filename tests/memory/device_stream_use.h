#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/device/backend.h>

#include "memory/arena_stream_use.h"

namespace plimsoll::testing {

/// Streams of a device that write the memory they are given: each block's own pattern first; at
/// the end of its use the pattern is noted, on its stream, and every user writes rubbish. A block
/// that was given away, moved or unmapped too early has another's bytes in it, or faults.
class DeviceStreamUse : public StreamUse {
 public:
  struct Options {
    Bytes busy = 0;                ///< copied before rubbish is written, so that work piles up
    std::uint32_t operations = 0;  ///< at most so many blocks are made
  };

  DeviceStreamUse(std::shared_ptr<DeviceBackend> device, const Options& options)
      : device_(std::move(device)),
        options_(options),
        patterns_(*device_, longest() + kPatterns * kPiece),
        rubbish_(*device_, longest()),
        busy_(*device_, 2 * std::max<Bytes>(options.busy, kPiece)),
        notes_(*device_, options.operations * kNote) {
    std::vector<std::uint32_t> words(patterns_.range.size / 4);
    std::mt19937 random(1);  // NOLINT: the same patterns every time
    for (std::uint32_t& word : words) word = random();
    expected_.assign(reinterpret_cast<const std::uint8_t*>(words.data()),
                     reinterpret_cast<const std::uint8_t*>(words.data() + words.size()));
    const std::vector<std::uint8_t> rubbish(rubbish_.range.size, 0xEE);
    device_->copy(patterns_.at(), expected_.data(), expected_.size(), kHostStream);
    device_->copy(rubbish_.at(), rubbish.data(), rubbish.size(), kHostStream);
    for (StreamId& stream : streams_) stream = device_->make_stream();
  }
  ~DeviceStreamUse() override {
    device_->synchronize();
    for (const StreamId stream : streams_) device_->release_stream(stream);
  }
  DeviceStreamUse(const DeviceStreamUse&) = delete;
  DeviceStreamUse& operator=(const DeviceStreamUse&) = delete;

  std::shared_ptr<PageSource> pages() override { return device_->pages(); }
  std::shared_ptr<FenceSource> fences() override { return device_->fences(); }
  StreamId stream(std::uint32_t i) const override { return i == 0 ? kHostStream : streams_[i - 1]; }

  void taken(AddressRange range, StreamId stream, std::uint32_t id) override {
    device_->copy(pointer(range.begin), patterns_.at(pattern_of(id)), range.size, stream);
  }

  void last_use(AddressRange range, StreamId owner, const std::set<StreamId>& users,
                std::uint32_t id) override {
    const Bytes note = noted_.size() * kNote;
    device_->copy(notes_.at(note), pointer(range.begin), kPiece, owner);
    device_->copy(notes_.at(note + kPiece), pointer(range.end() - kPiece), kPiece, owner);
    noted_.push_back({pattern_of(id), range.size, owner});
    const auto read = device_->fence(owner);
    for (const StreamId user : users) {
      if (owner != kHostStream && user != owner) device_->wait(user, *read);
      if (options_.busy != 0) {
        device_->copy(busy_.at(options_.busy), busy_.at(), options_.busy, user);
      }
      device_->copy(pointer(range.begin), rubbish_.at(), range.size, user);
    }
  }

  void finish() override {
    device_->synchronize();
    std::vector<std::uint8_t> notes(noted_.size() * kNote);
    device_->copy(notes.data(), notes_.at(), notes.size(), kHostStream);
    for (std::size_t i = 0; i < noted_.size(); ++i) {
      const Noted& noted = noted_[i];
      const auto first = notes.begin() + static_cast<std::ptrdiff_t>(i * kNote);
      const auto pattern = expected_.begin() + static_cast<std::ptrdiff_t>(noted.pattern);
      const bool begins = std::equal(first, first + kPiece, pattern);
      const auto end = pattern + static_cast<std::ptrdiff_t>(noted.size) - kPiece;
      const bool ends = std::equal(first + kPiece, first + kNote, end);
      ASSERT_TRUE(begins && ends) << "block " << i << " of " << noted.size << " bytes on stream "
                                  << noted.owner << " had another's bytes";
    }
    noted_.clear();
  }

 private:
  static constexpr Bytes kPiece = 256;
  static constexpr Bytes kNote = 2 * kPiece;
  static constexpr Bytes kPatterns = 4096;

  /// Memory of the device's beside the arena.
  struct Mapped {
    Mapped(DeviceBackend& device, Bytes bytes)
        : source(device.pages()), range(source->reserve(align_up(bytes, source->page_size()))) {
      source->map(range, range.size);
    }
    ~Mapped() {
      source->unmap(range);
      source->release(range);
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    void* at(Bytes offset = 0) const { return pointer(range.begin + offset); }
    std::shared_ptr<PageSource> source;
    AddressRange range;
  };
  struct Noted {
    Bytes pattern = 0;
    Bytes size = 0;
    StreamId owner = kHostStream;
  };

  static void* pointer(std::uintptr_t at) { return reinterpret_cast<void*>(at); }
  static Bytes pattern_of(std::uint32_t id) { return id * 7 % kPatterns * kPiece; }
  Bytes longest() const { return 7 * device_->pages()->page_size(); }

  std::shared_ptr<DeviceBackend> device_;
  const Options options_;
  const Mapped patterns_;
  const Mapped rubbish_;
  const Mapped busy_;
  const Mapped notes_;
  std::vector<std::uint8_t> expected_;
  StreamId streams_[3] = {};
  std::vector<Noted> noted_;
};

}  // namespace plimsoll::testing
