#include <plimsoll/device/backend.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

constexpr std::string_view kFirst = "cpu";

struct Registry {
  std::mutex mutex;
  std::deque<Backend> all;  ///< never shrinks, so that references last
};

/// Never destroyed: devices may close after everything static is gone.
Registry& registry() {
  static auto* const the = new Registry;  // NOLINT(cppcoreguidelines-owning-memory)
  return *the;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

const Backend& register_backend(Backend backend) {
  if (!is_name(backend.name)) {
    throw InvalidArgument(fmt::format(
        "[register_backend] the name \"{}\" is not one; use lower-case letters, digits and _",
        backend.name));
  }
  if (!backend.count || !backend.describe || !backend.open) {
    throw InvalidArgument(fmt::format(
        "[register_backend] {} lacks count, describe or open; give all three", backend.name));
  }
  Registry& of = registry();
  const std::lock_guard lock(of.mutex);
  if (std::ranges::find(of.all, backend.name, &Backend::name) != of.all.end()) {
    throw InvalidArgument(
        fmt::format("[register_backend] there already is a backend {}", backend.name));
  }
  return of.all.emplace_back(std::move(backend));
}

std::vector<const Backend*> backends() {
  Registry& of = registry();
  std::vector<const Backend*> all;
  {
    const std::lock_guard lock(of.mutex);
    for (const Backend& backend : of.all) all.push_back(&backend);
  }
  std::ranges::sort(all, {}, [](const Backend* backend) {
    return std::pair(backend->name != kFirst, std::string_view(backend->name));
  });
  return all;
}

const Backend* find_backend(std::string_view name) {
  Registry& of = registry();
  const std::lock_guard lock(of.mutex);
  const auto found = std::ranges::find(of.all, name, &Backend::name);
  return found == of.all.end() ? nullptr : &*found;
}

const Backend* backend_of(std::string_view device_name) {
  return find_backend(device_name.substr(0, device_name.find(':')));
}

}  // namespace plimsoll
