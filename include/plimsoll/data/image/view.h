#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::image {

/// A picture in memory that belongs to someone else: rows of interleaved channels (HWC).
template <class T>
struct View {
  T* data = nullptr;
  int height = 0;
  int width = 0;
  int channels = 0;
  /// Elements, not bytes, from one row to the next; at least width * channels.
  std::ptrdiff_t stride = 0;

  T* row(int y) const { return data + y * stride; }
  T* pixel(int y, int x) const { return row(y) + std::ptrdiff_t{x} * channels; }

  /// The same picture, read-only.
  operator View<const T>() const { return {data, height, width, channels, stride}; }
};

/// A view of rows that follow each other without a gap.
template <class T>
View<T> packed(T* data, int height, int width, int channels) {
  return {data, height, width, channels, std::ptrdiff_t{width} * channels};
}

/// A window in pixels. `width` 0 stands for the whole picture.
struct Window {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  bool whole() const { return width == 0; }
};

struct Extent {
  int height = 0;
  int width = 0;
  int channels = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

}  // namespace plimsoll::image
