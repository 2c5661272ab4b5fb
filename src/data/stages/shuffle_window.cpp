#include "data/stages/shuffle_window.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::data {
namespace {

constexpr std::size_t kMostAtATime = 1024;
constexpr Bytes kBytesAtATime = KiB(256);

bool may_have_tensors(const ElementSpec& spec) {
  return !spec.known || std::any_of(spec.components.begin(), spec.components.end(),
                                    [](const TensorSpec& component) {
                                      return component.dtype == DType::bytes || !component.dims ||
                                             !component.dims->empty();
                                    });
}

}  // namespace

ShuffleWindow::ShuffleWindow(Engine& engine, const std::string& title, const ElementSpec& spec,
                             const ShuffleOptions& options)
    : engine_(engine),
      has_tensors_(may_have_tensors(spec)),
      options_(engine.tensor_options(Tag::input, title)),
      kept_(engine.budget().account(Tag::shuffle, title)),
      file_(options.spill_folder, options.spill_limit),
      last_(spec.nbytes().value_or(kBytesAtATime)) {}

Bytes ShuffleWindow::slot_bytes(const ElementSpec& spec, const ShuffleOptions& options) {
  const bool spills = options.spill_limit > 0 && may_have_tensors(spec);
  return sizeof(Element) + sizeof(std::uint64_t) + (spills ? sizeof(SpilledElement) : 0);
}

void ShuffleWindow::reserve(std::size_t slots) {
  elements_.reserve(slots);
  if (!spilled_.empty()) spilled_.reserve(slots);
}

void ShuffleWindow::resize(std::size_t slots) {
  clear();
  elements_.resize(slots);
}

void ShuffleWindow::clear() {
  elements_.clear();
  spilled_.clear();
  file_.clear();
  resident_ = 0;
  refusal_ = nullptr;
}

void ShuffleWindow::push_back(Element&& element) {
  elements_.emplace_back();
  if (!spilled_.empty()) spilled_.emplace_back();
  put(elements_.size() - 1, std::move(element));
}

void ShuffleWindow::put(std::size_t slot, Element&& element) {
  elements_[slot] = std::move(element);
  if (!has_tensors_) return;
  last_ = elements_[slot].nbytes();
  resident_ += last_;
  if (!ours(elements_[slot])) return;
  const bool short_of_memory = engine_.last_resort() || engine_.spare() < engine_.reserve();
  if (short_of_memory && try_spill(slot)) return;
  charge_to(kept_, elements_[slot]);
}

Element ShuffleWindow::take(std::size_t slot) {
  if (!spilled_.empty() && spilled_[slot].length > 0) {
    Element element = unspill(file_, spilled_[slot], engine_, options_);
    file_.give(spilled_[slot].offset, spilled_[slot].length);
    spilled_[slot] = {};
    return element;
  }
  Element element = std::move(elements_[slot]);
  if (has_tensors_) {
    resident_ -= element.nbytes();
    if (ours(element)) charge_to(options_.account, element);
  }
  return element;
}

void ShuffleWindow::remove(std::size_t slot) {
  if (slot + 1 != elements_.size()) {
    elements_[slot] = std::move(elements_.back());
    if (!spilled_.empty()) spilled_[slot] = spilled_.back();
  }
  elements_.pop_back();
  if (!spilled_.empty()) spilled_.pop_back();
}

Bytes ShuffleWindow::nbytes(std::size_t slot) const {
  if (!spilled_.empty() && spilled_[slot].length > 0) return spilled_[slot].contents;
  return elements_[slot].nbytes();
}

std::size_t ShuffleWindow::block() const {
  if (!has_tensors_) return kMostAtATime;
  const Bytes fit = kBytesAtATime / std::max<Bytes>(last_, 1);
  return std::clamp<std::size_t>(fit, 1, kMostAtATime);
}

/// True if the budget gets bytes back when `element` goes. What a cache keeps, or its maker, stays.
bool ShuffleWindow::ours(const Element& element) const {
  bool any = false;
  for (const Value& value : element) {
    if (value.is_scalar()) continue;
    const Storage& storage = *value.tensor().storage();
    if (storage.size() == 0) continue;
    if (!engine_.owns(storage) || storage.tag() == Tag::cache) return false;
    any = true;
  }
  return any;
}

void ShuffleWindow::charge_to(const Account& account, const Element& element) const {
  try {
    for (const Value& value : element) {
      if (value.is_scalar() || value.tensor().storage()->size() == 0) continue;
      value.tensor().storage()->block().recharge(account);
    }
  } catch (const OutOfMemory&) {
    return;  // then it stays under the name it had
  }
}

/// What cannot be written stays.
bool ShuffleWindow::try_spill(std::size_t slot) {
  if (file_.limit() == 0) return false;
  try {
    const SpilledElement spilled = spill(file_, elements_[slot]);
    spilled_.resize(elements_.size());
    spilled_[slot] = spilled;
  } catch (const OutOfMemory&) {
    return false;  // a view with gaps needs a copy first
  } catch (const Error&) {
    refusal_ = std::current_exception();
    return false;
  }
  resident_ -= spilled_[slot].contents;
  elements_[slot].clear();
  return true;
}

Bytes ShuffleWindow::spill_all() {
  const Bytes before = resident_;
  refusal_ = nullptr;
  for (std::size_t slot = 0; slot < elements_.size() && !refusal_; ++slot) {
    if (!elements_[slot].empty() && ours(elements_[slot])) try_spill(slot);
  }
  if (resident_ == before && refusal_) std::rethrow_exception(refusal_);
  return before - resident_;
}

std::string ShuffleWindow::setting() const {
  return file_.used() == 0 ? "" : fmt::format("{} spilled", format_bytes(file_.used()));
}

}  // namespace plimsoll::data
