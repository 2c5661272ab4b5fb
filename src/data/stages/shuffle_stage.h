#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <plimsoll/base/philox.h>

#include "data/engine/inbox.h"
#include "data/stages/shuffle_window.h"

namespace plimsoll::data {

/// Random words, one after the other, from a place that can be named.
class Draws {
 public:
  void start(std::uint64_t key, std::uint64_t at) {
    key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
    at_ = at;
    if (at_ % 4 != 0) refill();
  }
  std::uint32_t below(std::uint32_t count) {
    if (at_ % 4 == 0) refill();
    return Philox::below(words_[at_++ % 4], count);
  }
  /// The last draw was not made.
  void back() { --at_; }
  std::uint64_t at() const { return at_; }

 private:
  void refill() {
    const std::uint64_t block = at_ / 4;
    words_ = Philox::draw(
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}, key_);
  }
  Philox::Key key_{};
  Philox::Counter words_{};
  std::uint64_t at_ = 0;
};

/// Shuffles through a window: one goes out at random, the next of the input takes its place.
class ShuffleStage final : public Stage {
 public:
  /// `charge` covers the slots, where their number is known beforehand.
  ShuffleStage(StagePtr input, Engine& engine, std::string title, const ElementSpec& spec,
               const ShuffleOptions& options, std::uint64_t seed, Charge charge);

  void start(std::uint64_t epoch) override;
  StatePtr save() const override;
  void restore(const State& state) override;
  std::size_t state_words() const override { return 4 + units_.size() + inbox_.state_words(); }
  Bytes relieve() override { return window_.spill_all(); }
  bool can_relieve() const override { return window_.has_tensors(); }
  Bytes held() const override { return window_.resident(); }
  std::string setting() const override { return window_.setting(); }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override;

 private:
  void begin(std::uint64_t draws);
  Pull fill_window();
  void take_in();
  bool is_full() const;
  void pay_for_slots();
  Pull give(ElementBlock& out, std::size_t before, std::size_t max);
  void swap_in(ElementBlock& out, std::size_t count);
  void swap_in_numbers(ElementBlock& out, std::size_t count);
  Element draw(std::uint32_t& slot);
  void take_one(ElementBlock& out);
  Pull replay();
  void finish_replay();
  std::uint64_t oldest() const;
  void forget();

  Engine& engine_;
  const std::string title_;
  const std::size_t size_;
  const Bytes most_bytes_;  ///< 0: a window in elements alone
  const std::uint64_t seed_;
  const bool reshuffle_;
  const Bytes slot_bytes_;
  Inbox inbox_;
  Charge charge_;
  std::uint64_t epoch_ = 0;
  Draws draws_;
  ShuffleWindow window_;
  std::vector<std::uint64_t> units_;  ///< of the window's slots, counted from 1
  Bytes bytes_ = 0;                   ///< in the window
  bool ended_ = false;
  std::uint64_t look_again_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> replay_;  ///< unit -> slot
  std::uint64_t replay_until_ = 0;
  bool replay_ended_ = false;
  StatePtr unreplayed_;
};

}  // namespace plimsoll::data
