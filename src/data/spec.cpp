#include <plimsoll/data/spec.h>

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::data {

bool TensorSpec::is_fixed() const {
  return dims && std::none_of(dims->begin(), dims->end(), [](auto d) { return d == kAnyExtent; });
}

Shape TensorSpec::shape() const {
  if (!is_fixed()) {
    throw InvalidArgument(fmt::format("[TensorSpec::shape] {} is not fixed", to_string()));
  }
  return Shape(std::span<const std::int64_t>(*dims));
}

std::optional<Bytes> TensorSpec::nbytes() const {
  if (!is_fixed() || dtype == DType::bytes) return std::nullopt;
  return static_cast<Bytes>(shape().elements()) * dtype_size(dtype);
}

bool TensorSpec::admits(const TensorSpec& other) const {
  if (dtype != other.dtype) return false;
  if (!dims) return true;
  if (!other.dims || dims->size() != other.dims->size()) return false;
  return std::equal(dims->begin(), dims->end(), other.dims->begin(),
                    [](auto mine, auto theirs) { return mine == kAnyExtent || mine == theirs; });
}

TensorSpec TensorSpec::batched(std::int64_t extent) const {
  TensorSpec result = *this;
  if (result.dims) result.dims->insert(result.dims->begin(), extent);
  return result;
}

TensorSpec TensorSpec::unbatched() const {
  TensorSpec result = *this;
  if (!result.dims) return result;
  if (result.dims->empty()) {
    throw InvalidArgument(
        fmt::format("[unbatch] a component is {}, which has no first dimension", to_string()));
  }
  result.dims->erase(result.dims->begin());
  return result;
}

TensorSpec TensorSpec::common(const TensorSpec& a, const TensorSpec& b) {
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) return {a.dtype, std::nullopt};
  TensorSpec result = a;
  for (std::size_t i = 0; i < a.dims->size(); ++i) {
    if ((*a.dims)[i] != (*b.dims)[i]) (*result.dims)[i] = kAnyExtent;
  }
  return result;
}

std::string TensorSpec::to_string() const {
  std::string text(dtype_name(dtype));
  if (!dims) return text + " ?";
  text += " [";
  for (std::size_t i = 0; i < dims->size(); ++i) {
    if (i > 0) text += ",";
    text += (*dims)[i] == kAnyExtent ? "?" : std::to_string((*dims)[i]);
  }
  return text + "]";
}

std::size_t ElementSpec::index(const std::string& name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw InvalidArgument(
        fmt::format("there is no component \"{}\" in elements of {}", name, to_string()));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::optional<Bytes> ElementSpec::nbytes() const {
  if (!known) return std::nullopt;
  Bytes total = 0;
  for (const TensorSpec& component : components) {
    const auto bytes = component.nbytes();
    if (!bytes) return std::nullopt;
    total += *bytes;
  }
  return total;
}

std::string ElementSpec::to_string() const {
  if (!known) return "unknown";
  std::string text = "(";
  for (std::size_t i = 0; i < components.size(); ++i) {
    if (i > 0) text += ", ";
    if (!names.empty()) text += names[i] + " ";
    text += components[i].to_string();
  }
  return text + ")";
}

}  // namespace plimsoll::data
