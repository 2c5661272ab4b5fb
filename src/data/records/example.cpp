#include "data/records/example.h"

#include <array>
#include <cstring>
#include <vector>

#include "data/records/example_wire.h"

namespace plimsoll::data {

std::int64_t StoredFeature::count() const {
  std::int64_t total = 0;
  if (kind == Kind::bytes) wire::for_each_text(list, [&](std::string_view) { ++total; });
  if (kind == Kind::ints) wire::for_each_int(list, [&](std::int64_t) { ++total; });
  if (kind == Kind::floats) {
    wire::for_each_float_run(list, [&](std::string_view run) {
      total += static_cast<std::int64_t>(run.size() / sizeof(float));
    });
  }
  return total;
}

void StoredFeature::copy_to(std::int64_t* to) const {
  wire::for_each_int(list, [&](std::int64_t value) { *to++ = value; });
}

void StoredFeature::copy_to(float* to) const {
  wire::for_each_float_run(list, [&](std::string_view run) {
    if (run.empty()) return;
    std::memcpy(to, run.data(), run.size());
    to += run.size() / sizeof(float);
  });
}

std::vector<std::string_view> StoredFeature::texts() const {
  std::vector<std::string_view> all;
  wire::for_each_text(list, [&](std::string_view text) { all.push_back(text); });
  return all;
}

StoredFeature find_feature(std::string_view example, std::string_view name) {
  StoredFeature found;
  wire::for_each_entry(example, [&](std::string_view called, std::string_view value) {
    if (called == name) found = wire::stored(value);
  });
  return found;
}

StoredFeature::Kind stored_kind(DType dtype) {
  return dtype == DType::bytes ? StoredFeature::Kind::bytes
         : dtype == DType::f32 ? StoredFeature::Kind::floats
                               : StoredFeature::Kind::ints;
}

const char* kind_name(StoredFeature::Kind kind) {
  constexpr std::array<const char*, 4> kNames = {"nothing", "bytes", "floats", "integers"};
  return kNames[static_cast<std::size_t>(kind)];
}

void read_example(std::string_view bytes,
                  const std::function<void(std::string_view, const StoredFeature&)>& each) {
  wire::for_each_entry(bytes, [&](std::string_view name, std::string_view value) {
    each(name, wire::stored(value));
  });
}

}  // namespace plimsoll::data
