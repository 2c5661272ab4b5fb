#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "data/engine/engine.h"
#include "data/engine/inbox.h"
#include "data/stages/collate.h"

namespace plimsoll::data {

/// Which elements of the input go together.
struct Gathering {
  std::int64_t size = 1;    ///< in one element of the result
  std::int64_t shift = 1;   ///< from the first of one to the first of the next
  std::int64_t stride = 1;  ///< from one to the next within
  bool drop_remainder = false;

  /// From the first to the last within, both counted.
  std::int64_t span() const { return (size - 1) * stride + 1; }
};

/// The most elements that may be kept at a time.
inline constexpr std::int64_t kMostGathered = 0xFFFFFFFF;

/// Windows over the input, each put together as one element. What goes together several times is
/// kept in between.
class GatherStage final : public Stage {
 public:
  /// Bytes charged for each element that is kept, besides its tensors.
  static constexpr Bytes kSlotBytes = sizeof(Element) + sizeof(std::uint64_t);
  /// The same with the tensors of an element of `row`, as far as that says.
  static Bytes slot_bytes(const ElementSpec& row);

  /// `charge` covers the kept elements.
  GatherStage(StagePtr input, Engine& engine, const std::string& title, const Gathering& gathering,
              Collator collator, Charge charge);

  void start(std::uint64_t epoch) override;
  StatePtr save() const override;
  void restore(const State& state) override;
  std::size_t state_words() const override { return 2 + inbox_.state_words(); }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override;

 private:
  struct Kept {
    Element element;
    std::uint64_t unit = 0;  ///< of the input, counted from 1
  };

  void reset();
  Pull replay();
  Pull gather();
  void take();
  bool deliver(ElementBlock& out);
  std::uint64_t first_unit() const;

  Inbox inbox_;
  Engine& engine_;
  const TensorOptions options_;
  const Gathering gathering_;
  const Collator collator_;
  Charge charge_;
  std::deque<Kept> kept_;
  std::uint64_t to_skip_ = 0;  ///< elements between two windows
  std::uint64_t replay_until_ = 0;
  bool ended_ = false;
};

}  // namespace plimsoll::data
