#pragma once

#include <cstdint>

#include <plimsoll/data/image/view.h>

#include "data/program/op.h"

namespace plimsoll::data {

/// Extents of a picture [height, width, channels]. DataError where they exceed what pictures have.
image::Extent extent_of(const Shape& shape);

/// An input or a result that is a picture with elements of type T.
template <class T>
image::View<const T> picture(const ProgramInput& input) {
  const image::Extent e = extent_of(input.shape());
  return image::packed(input.as<T>(), e.height, e.width, e.channels);
}
template <class T>
image::View<T> picture(Tensor& tensor) {
  const image::Extent e = extent_of(tensor.shape());
  return image::packed(tensor.mutable_data<T>(), e.height, e.width, e.channels);
}

}  // namespace plimsoll::data
