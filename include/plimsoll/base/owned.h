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
  explicit Owned(const char* type, std::unique_ptr<T> inside = nullptr)
      : type_(type), inside_(std::move(inside)) {}

  Owned& operator=(std::unique_ptr<T> inside) noexcept {
    inside_ = std::move(inside);
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
  std::unique_ptr<T> inside_;
};

}  // namespace plimsoll
