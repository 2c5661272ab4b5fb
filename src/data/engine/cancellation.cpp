#include "data/engine/cancellation.h"

#include <utility>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"

namespace plimsoll::data {
namespace {

thread_local std::shared_ptr<CancelScope::State> current;

}  // namespace

CancelScope::CancelScope()
    : state_(std::make_shared<State>()), outer_(std::exchange(current, state_)) {}

CancelScope::~CancelScope() { current = std::move(outer_); }

void CancelScope::cancel() {
  const std::lock_guard lock(state_->mutex);
  state_->cancelled = true;
  for (Engine* const engine : state_->engines) engine->cancel();
}

Cancellation::Cancellation(Engine& engine) : scope_(current), engine_(&engine) {
  if (!scope_) return;
  const std::lock_guard lock(scope_->mutex);
  scope_->engines.insert(engine_);
}

Cancellation::~Cancellation() {
  if (!scope_) return;
  const std::lock_guard lock(scope_->mutex);
  scope_->engines.erase(engine_);
}

void Cancellation::check() const {
  if (scope_ && scope_->cancelled) throw Error("[Pipeline::next] the pipeline was cancelled");
}

}  // namespace plimsoll::data
