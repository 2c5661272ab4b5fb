// The thread-local settings of ops/dispatcher.h.
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/seed.h>
#include <plimsoll/ops/tf32.h>

#include <plimsoll/ops/backward.h>

namespace plimsoll::ops {
namespace {

thread_local Dispatcher* current_dispatcher = nullptr;
thread_local std::optional<DType> compute_dtype;
thread_local RandomKey random_key;
thread_local int random_scopes = 0;
std::atomic<std::uint64_t> process_seed = 0;
thread_local std::int64_t next_random_id = 0;
thread_local bool tf32_products = false;
thread_local bool finite_checks = false;
thread_local bool in_backward = false;

std::string& scope_name() {
  thread_local std::string name;
  return name;
}

}  // namespace

Dispatcher& Dispatcher::current() {
  return current_dispatcher != nullptr ? *current_dispatcher : eager();
}

bool Dispatcher::follows(const Tensor&) const { return false; }

void set_seed(std::uint64_t seed) {
  process_seed = seed;
  if (random_scopes == 0) next_random_id = 0;
}
std::uint64_t default_seed() { return process_seed; }

DispatchScope::DispatchScope(Dispatcher& dispatcher)
    : before_(std::exchange(current_dispatcher, &dispatcher)),
      listener_before_(ViewListener::set_current(dynamic_cast<ViewListener*>(&dispatcher))) {}
DispatchScope::~DispatchScope() {
  current_dispatcher = before_;
  ViewListener::set_current(listener_before_);
}

PrecisionScope::PrecisionScope(DType compute) : before_(compute_dtype) {
  if (!is_floating(compute)) {
    throw InvalidArgument(
        fmt::format("[PrecisionScope] {} is not a floating dtype", dtype_name(compute)));
  }
  compute_dtype = compute == DType::f32 ? std::nullopt : std::optional(compute);
}
PrecisionScope::~PrecisionScope() { compute_dtype = before_; }
std::optional<DType> PrecisionScope::current() { return compute_dtype; }

Tf32Scope::Tf32Scope(bool on) : before_(std::exchange(tf32_products, on)) {}
Tf32Scope::~Tf32Scope() { tf32_products = before_; }
bool Tf32Scope::current() { return tf32_products; }

RandomScope::RandomScope(const RandomKey& key)
    : key_before_(std::exchange(random_key, key)), next_before_(std::exchange(next_random_id, 0)) {
  ++random_scopes;
}
RandomScope::~RandomScope() {
  --random_scopes;
  random_key = key_before_;
  next_random_id = next_before_;
}
RandomKey RandomScope::key() {
  return random_scopes > 0 ? random_key : RandomKey{.seed = default_seed()};
}
std::int64_t RandomScope::next_id() { return next_random_id++; }

NameScope::NameScope(std::string_view name) : length_before_(scope_name().size()) {
  if (length_before_ != 0) scope_name() += '/';
  scope_name() += name;
}
NameScope::~NameScope() { scope_name().resize(length_before_); }
const std::string& NameScope::current() { return scope_name(); }

CheckFiniteScope::CheckFiniteScope() : before_(std::exchange(finite_checks, true)) {}
CheckFiniteScope::~CheckFiniteScope() { finite_checks = before_; }
bool CheckFiniteScope::current() { return finite_checks; }

BackwardScope::BackwardScope() : before_(std::exchange(in_backward, true)) {}
BackwardScope::~BackwardScope() { in_backward = before_; }
bool BackwardScope::current() { return in_backward; }

}  // namespace plimsoll::ops
