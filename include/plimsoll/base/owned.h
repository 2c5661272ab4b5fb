#pragma once

#include <memory>
#include <utility>

namespace plimsoll {

/// Throws InvalidArgument: "[Trainer] this Trainer is empty: it was moved from".
[[noreturn]] void throw_moved_from(const char* type);

/// The inside of a movable object of the type named `type`: a std::unique_ptr that, once the object
/// was moved from, throws InvalidArgument where that would crash.
template <typename T>
class Owned {
 public:
  explicit Owned(const char* type) noexcept : type_(type) {}
  Owned(const char* type, std::unique_ptr<T> inside) noexcept : Owned(type) {
    *this = std::move(inside);
  }

  Owned& operator=(std::unique_ptr<T> inside) noexcept {
    inside_ = {inside.release(), [](T* last) { std::default_delete<T>()(last); }};
    return *this;
  }
  explicit operator bool() const { return inside_ != nullptr; }
  T& operator*() const {
    if (inside_ == nullptr) throw_moved_from(type_);
    return *inside_;
  }
  T* operator->() const { return &**this; }

 private:
  const char* type_;
  // The deleter is known from where T is complete, so that headers need not have it.
  std::unique_ptr<T, void (*)(T*)> inside_{nullptr, nullptr};
};

}  // namespace plimsoll
