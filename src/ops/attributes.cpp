#include <plimsoll/ops/attributes.h>

#include <functional>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

namespace plimsoll::ops {
namespace {

std::string text_of(const Attribute& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, DType>) {
          return std::string(dtype_name(v));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return fmt::format("[{}]", fmt::join(v, ","));
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

std::size_t mixed(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

std::size_t hash_of(const Attribute& value) {
  return std::visit(
      [](const auto& v) -> std::size_t {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          std::size_t h = v.size();
          for (const std::int64_t x : v) h = mixed(h, std::hash<std::int64_t>()(x));
          return h;
        } else {
          return std::hash<T>()(v);
        }
      },
      value);
}

}  // namespace

const Attribute* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (key == name) return &value;
  }
  return nullptr;
}

template <typename T>
const T& Attributes::get(std::string_view name) const {
  const Attribute* value = find(name);
  if (value == nullptr) throw InternalError(fmt::format("[Attributes] there is no '{}'", name));
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) {
    throw InternalError(
        fmt::format("[Attributes] '{}' is {}, of another kind", name, text_of(*value)));
  }
  return *typed;
}

bool Attributes::flag(std::string_view name) const { return get<bool>(name); }
std::int64_t Attributes::integer(std::string_view name) const { return get<std::int64_t>(name); }
double Attributes::number(std::string_view name) const { return get<double>(name); }
DType Attributes::dtype(std::string_view name) const { return get<DType>(name); }
const std::string& Attributes::text(std::string_view name) const { return get<std::string>(name); }
const std::vector<std::int64_t>& Attributes::integers(std::string_view name) const {
  return get<std::vector<std::int64_t>>(name);
}
Shape Attributes::shape(std::string_view name) const {
  return Shape(std::span<const std::int64_t>(integers(name)));
}

void Attributes::set(std::string_view name, Attribute value) {
  for (auto& [key, old] : entries_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  entries_.emplace_back(name, std::move(value));
}

std::string Attributes::to_string() const {
  std::string text;
  for (const auto& [key, value] : entries_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, text_of(value));
  }
  return text;
}

std::size_t Attributes::hash() const {
  std::size_t h = entries_.size();
  for (const auto& [key, value] : entries_) {
    h = mixed(mixed(h, std::hash<std::string_view>()(key)), hash_of(value));
  }
  return h;
}

std::vector<std::int64_t> to_integers(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace plimsoll::ops
