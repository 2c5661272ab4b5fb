#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <plimsoll/memory/page_source.h>

namespace plimsoll {

/// A source that fails on purpose, for tests: it counts the calls it passes on to another source
/// and throws OutOfPages, before doing anything, at the one that was chosen.
class FaultyPages : public PageSource {
 public:
  explicit FaultyPages(std::shared_ptr<PageSource> upstream) : upstream_(std::move(upstream)) {}

  /// The n-th call from now (1 is the next) fails, and so do the `count - 1` after it. 0 disarms.
  void fail_at(std::uint64_t n, std::uint64_t count = 1);

  /// Calls made so far that can fail: reserve, release, map, unmap, move.
  std::uint64_t calls() const { return calls_; }
  /// Calls that were made to fail.
  std::uint64_t faults() const { return faults_; }

  std::string name() const override { return "faulty " + upstream_->name(); }
  Bytes page_size() const override { return upstream_->page_size(); }
  AddressRange reserve(Bytes bytes) override;
  void release(AddressRange range) override;
  void map(AddressRange range, Bytes chunk) override;
  void unmap(AddressRange range) override;
  void move(AddressRange from, AddressRange to) override;
  AddressRange whole_chunks(AddressRange range) const override {
    return upstream_->whole_chunks(range);
  }
  Bytes chunk_size(std::uintptr_t at) const override { return upstream_->chunk_size(at); }
  bool host_accessible() const override { return upstream_->host_accessible(); }

 private:
  void count(const char* call);

  std::shared_ptr<PageSource> upstream_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> faults_{0};
  std::atomic<std::uint64_t> fail_from_{0};
  std::atomic<std::uint64_t> fail_to_{0};
};

}  // namespace plimsoll
