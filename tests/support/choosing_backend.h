#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <plimsoll/device/backend.h>
#include <plimsoll/device/choice_table.h>

namespace plimsoll::test {

/// The CPU under the name "chooser:0", whose library of products has several algorithms: each
/// computes a product as the CPU does, so many times, and rounds the result in a way of its own.
/// What it lacks of a GPU is only the speed.
class ChoosingDevice final : public DeviceBackend {
 public:
  ChoosingDevice();

  DeviceInfo info() const override { return device; }
  std::shared_ptr<PageSource> pages() override { return cpu_->pages(); }
  std::shared_ptr<PageSource> pages_for(Bytes limit) override { return cpu_->pages_for(limit); }
  std::shared_ptr<PageSource> pinned_pages() override { return cpu_->pinned_pages(); }
  std::shared_ptr<FenceSource> fences() override { return nullptr; }
  Bytes runtime() const override { return 0; }
  std::optional<Bytes> process_used() const override { return cpu_->process_used(); }
  StreamId make_stream() override { return kHostStream; }
  void synchronize(StreamId stream) override { cpu_->synchronize(stream); }
  void synchronize() override {}
  void copy(void* to, const void* from, Bytes bytes, StreamId stream) override {
    cpu_->copy(to, from, bytes, stream);
  }
  ChoiceTable* choice_table() override { return &table; }
  std::unique_ptr<StreamTimer> make_timer(StreamId stream) override;
  void enter() override;
  void leave() noexcept override;

  /// "Products 1.0 number=2"
  std::string algorithm(std::size_t number) const;
  /// The number of that text; nullopt if this version has no such algorithm.
  std::optional<std::size_t> number_of(const std::string& text) const;
  /// Which algorithm a product of this key takes if none is preferred, and how often it computes.
  std::size_t rule(const std::string& key) const;
  int times(const std::string& key, std::size_t number) const;

  DeviceInfo device;
  std::string library = "Products 1.0";
  /// How often each algorithm computes a product; 0: there is no such algorithm on this device,
  /// though the library proposes it.
  std::vector<int> work = {6, 2, 4, 0};
  /// Every second key, by its length, has them in the opposite order.
  bool alternates = false;
  /// A product is two halves, "top" and "bottom", for each of which an algorithm is chosen.
  bool halves = false;
  /// Its timers go by a clock of its own, which others on this machine do not disturb: a product
  /// takes as long as it has work, give or take `noise`. Else by the machine's.
  bool own_clock = false;
  double noise = 0;
  /// Of that clock: so many operations were computed.
  void computed(double operations);
  ChoiceTable table{"Products 1.0"};

 private:
  const std::shared_ptr<DeviceBackend> cpu_;
  double now_ = 0;
  std::minstd_rand random_{7};
};

/// A device on it, as Device::open would make one.
Device open_choosing(const std::shared_ptr<ChoosingDevice>& backend, Bytes limit);

}  // namespace plimsoll::test
