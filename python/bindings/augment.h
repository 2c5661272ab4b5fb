#pragma once

// What the ops of augmentation take and give.

#include "given.h"
#include "symbolic.h"

namespace plimsoll::python {

inline data::Symbolic picture_of(const Given& given) {
  return as_picture(given.value("picture"), given.where("picture"));
}

inline int whole_number(const Given& given, const char* name) {
  return static_cast<int>(given.integer(name));
}

inline nb::object traced(data::Symbolic value) { return nb::cast(Traced{std::move(value)}); }

}  // namespace plimsoll::python
