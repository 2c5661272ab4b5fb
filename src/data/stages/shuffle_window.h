#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <plimsoll/data/dataset.h>

#include "data/engine/engine.h"
#include "data/engine/spilled_element.h"

namespace plimsoll::data {

/// The slots of a shuffle. What is in them counts as Tag::shuffle while memory lasts, and lies in a
/// file where keeping it would leave too little to the other stages. On the strand.
class ShuffleWindow {
 public:
  /// `spec` says whether elements have tensors at all.
  ShuffleWindow(Engine& engine, const std::string& title, const ElementSpec& spec,
                const ShuffleOptions& options);

  /// Bytes charged for each slot.
  static Bytes slot_bytes(const ElementSpec& spec, const ShuffleOptions& options);

  std::size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  std::size_t capacity() const { return elements_.capacity(); }
  void reserve(std::size_t slots);
  /// Empty slots, for put().
  void resize(std::size_t slots);
  void clear();

  /// False: all elements are scalars, which no budget counts; at() will do.
  bool has_tensors() const { return has_tensors_; }
  Element& at(std::size_t slot) { return elements_[slot]; }

  void push_back(Element&& element);
  /// Into a slot that is empty.
  void put(std::size_t slot, Element&& element);
  /// Leaves the slot empty. Throws OutOfMemory where it has to be read back, and leaves it there.
  Element take(std::size_t slot);
  /// Takes out an empty slot; the last one comes in its place.
  void remove(std::size_t slot);

  Bytes nbytes(std::size_t slot) const;
  /// Contents in memory.
  Bytes resident() const { return resident_; }
  /// Elements to have on the way at a time: so many that they do not count beside the window.
  std::size_t block() const;

  /// Writes all that can be; bytes that came free. Throws what kept it from doing so if none did.
  Bytes spill_all();
  /// "12 MiB spilled", or nothing.
  std::string setting() const;

 private:
  bool ours(const Element& element) const;
  void charge_to(const Account& account, const Element& element) const;
  bool try_spill(std::size_t slot);

  Engine& engine_;
  const bool has_tensors_;
  const TensorOptions options_;
  const Account kept_;
  RemedyHandle remedy_ = Budget::remedy("a smaller shuffle window", kept_, 0.5);
  SpillFile file_;
  ElementBlock elements_;
  std::vector<SpilledElement> spilled_;  ///< of the slots; empty where nothing ever was
  Bytes resident_ = 0;
  Bytes last_ = 0;  ///< contents of the last element that came
  std::exception_ptr refusal_;
};

}  // namespace plimsoll::data
