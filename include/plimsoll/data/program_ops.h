#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/data/image/decode.h>
#include <plimsoll/data/image/resize.h>
#include <plimsoll/data/symbolic.h>
#include <plimsoll/ops/operators.h>
#include <plimsoll/ops/reduce.h>

// What can be done with a Symbolic. Every function adds an instruction, or a few, to the program
// and throws InvalidArgument, naming the op, where dtypes, shapes or parameters do not fit.
//
// Arithmetic is that of ops/elementwise.h: the same kernels give the same bits. Dtypes do not mix
// (use cast); numbers are weak; integers divided give f32.

namespace plimsoll::data {

Symbolic operator-(const Symbolic& x);
Symbolic operator+(const Symbolic& a, const Symbolic& b);
Symbolic operator-(const Symbolic& a, const Symbolic& b);
Symbolic operator*(const Symbolic& a, const Symbolic& b);
Symbolic operator/(const Symbolic& a, const Symbolic& b);
Symbolic operator==(const Symbolic& a, const Symbolic& b);
Symbolic operator!=(const Symbolic& a, const Symbolic& b);
Symbolic operator<(const Symbolic& a, const Symbolic& b);
Symbolic operator<=(const Symbolic& a, const Symbolic& b);
Symbolic operator>(const Symbolic& a, const Symbolic& b);
Symbolic operator>=(const Symbolic& a, const Symbolic& b);
Symbolic operator&&(const Symbolic& a, const Symbolic& b) = delete;  // use logical_and
Symbolic operator||(const Symbolic& a, const Symbolic& b) = delete;  // use logical_or

/// `number` as a constant of the dtype of `like`. InvalidArgument where that dtype has no such
/// number (1.5 for i32, 300 for u8).
Symbolic number_like(const Symbolic& like, const ops::Scalar& number);
/// The same for the right hand of a division: integers are divided as f32.
Symbolic divisor_like(const Symbolic& like, const ops::Scalar& number);

template <Number N>
Symbolic operator+(const Symbolic& a, N b) {
  return a + number_like(a, b);
}
template <Number N>
Symbolic operator+(N a, const Symbolic& b) {
  return number_like(b, a) + b;
}
template <Number N>
Symbolic operator-(const Symbolic& a, N b) {
  return a - number_like(a, b);
}
template <Number N>
Symbolic operator-(N a, const Symbolic& b) {
  return number_like(b, a) - b;
}
template <Number N>
Symbolic operator*(const Symbolic& a, N b) {
  return a * number_like(a, b);
}
template <Number N>
Symbolic operator*(N a, const Symbolic& b) {
  return number_like(b, a) * b;
}
template <Number N>
Symbolic operator/(const Symbolic& a, N b) {
  return a / divisor_like(a, b);
}
template <Number N>
Symbolic operator/(N a, const Symbolic& b) {
  return divisor_like(b, a) / b;
}
template <Number N>
Symbolic operator==(const Symbolic& a, N b) {
  return a == number_like(a, b);
}
template <Number N>
Symbolic operator!=(const Symbolic& a, N b) {
  return a != number_like(a, b);
}
template <Number N>
Symbolic operator<(const Symbolic& a, N b) {
  return a < number_like(a, b);
}
template <Number N>
Symbolic operator<=(const Symbolic& a, N b) {
  return a <= number_like(a, b);
}
template <Number N>
Symbolic operator>(const Symbolic& a, N b) {
  return a > number_like(a, b);
}
template <Number N>
Symbolic operator>=(const Symbolic& a, N b) {
  return a >= number_like(a, b);
}

/// A constant beside `like`: in its program.
Symbolic constant_like(const Symbolic& like, const Value& value);
Symbolic constant_like(const Symbolic& like, const std::vector<float>& numbers);
/// Any instruction by its name, in the program of `like`: ProgramBuilder::call().
std::vector<Symbolic> call_like(const Symbolic& like, std::string_view op,
                                std::span<const Symbolic> inputs,
                                const ops::Attributes& attributes = {});

// As the functions of the same names in ops/.

Symbolic logical_and(const Symbolic& a, const Symbolic& b);
Symbolic logical_or(const Symbolic& a, const Symbolic& b);
Symbolic logical_not(const Symbolic& x);
Symbolic where(const Symbolic& condition, const Symbolic& a, const Symbolic& b);
Symbolic maximum(const Symbolic& a, const Symbolic& b);
Symbolic minimum(const Symbolic& a, const Symbolic& b);
Symbolic pow(const Symbolic& a, const Symbolic& b);
Symbolic abs(const Symbolic& x);
Symbolic sqrt(const Symbolic& x);
Symbolic exp(const Symbolic& x);
Symbolic log(const Symbolic& x);
Symbolic floor(const Symbolic& x);
Symbolic round(const Symbolic& x);
Symbolic clip(const Symbolic& x, double low, double high);
Symbolic cast(const Symbolic& x, DType dtype);
/// One extent may be -1.
Symbolic reshape(const Symbolic& x, const std::vector<std::int64_t>& shape);
Symbolic transpose(const Symbolic& x, const std::vector<std::int64_t>& order);
Symbolic concat(const std::vector<Symbolic>& values, int axis);
Symbolic stack(const std::vector<Symbolic>& values, int axis = 0);
/// Elements begin, begin + step, ... before end of dimension `axis`. Below 0 counts from the end,
/// also where that is known only when an element arrives.
Symbolic slice(const Symbolic& x, int axis, std::int64_t begin, std::int64_t end = Tensor::kToEnd,
               std::int64_t step = 1);
Symbolic pad(const Symbolic& x, const std::vector<std::int64_t>& before,
             const std::vector<std::int64_t>& after, double value = 0);
Symbolic gather(const Symbolic& x, const Symbolic& indices, int axis = 0);
Symbolic one_hot(const Symbolic& labels, std::int64_t classes, DType dtype = DType::f32);
Symbolic matmul(const Symbolic& a, const Symbolic& b);
Symbolic sum(const Symbolic& x, const ops::ReduceOptions& options = {});
Symbolic mean(const Symbolic& x, const ops::ReduceOptions& options = {});
Symbolic max(const Symbolic& x, const ops::ReduceOptions& options = {});
Symbolic min(const Symbolic& x, const ops::ReduceOptions& options = {});
Symbolic any(const Symbolic& x, const ops::ReduceOptions& options = {});
Symbolic all(const Symbolic& x, const ops::ReduceOptions& options = {});
Symbolic argmax(const Symbolic& x, int axis = -1);

// Files and bytes.

/// The contents of the file at a path: bytes. DataError naming it when it cannot be read.
Symbolic read_file(const Symbolic& path);
/// The bytes as numbers of `dtype`, little endian, in one dimension.
Symbolic decode_raw(const Symbolic& bytes, DType dtype);

}  // namespace plimsoll::data

namespace plimsoll::image {

// Pictures are u8 or f32 [height, width, channels]; where nothing else is said, values stay on
// their scale (0 to 255 for what was decoded).

/// JPEG or PNG bytes as u8 [?,?,channels]; 0 channels: as stored.
data::Symbolic decode(const data::Symbolic& bytes, const DecodeOptions& options = {});
/// f32, see image::resize(). Of a u8 picture and `bilinear` without antialias it has the bits of
/// image::load().
data::Symbolic resize(const data::Symbolic& picture, int height, int width,
                      const ResizeOptions& options = {});
/// The part of `height` x `width` pixels whose upper left corner is (y, x).
data::Symbolic crop(const data::Symbolic& picture, int y, int x, int height, int width);
/// The part in the middle.
data::Symbolic center_crop(const data::Symbolic& picture, int height, int width);
data::Symbolic flip_left_right(const data::Symbolic& picture);
data::Symbolic flip_up_down(const data::Symbolic& picture);
/// (value / 255 - mean) / deviation, per channel, as image::load() does it: of a picture on the
/// scale 0 to 255. f32.
data::Symbolic normalize(const data::Symbolic& picture, const std::vector<float>& mean,
                         const std::vector<float>& deviation);
/// value / 255 as image::load() does it: normalize with a mean of 0 and a deviation of 1.
data::Symbolic to_unit(const data::Symbolic& picture);

// At random. What is drawn depends on the pipeline's seed, the epoch, the element's id, the stage
// and the op's place among the random ops of its program, and on nothing else.

/// Left to right, with this probability.
data::Symbolic random_flip(const data::Symbolic& picture, double probability = 0.5);
/// A part of `height` x `width` pixels. DataError for a picture that is smaller.
data::Symbolic random_crop(const data::Symbolic& picture, int height, int width);

}  // namespace plimsoll::image

namespace plimsoll::strings {

// Byte strings, element by element; characters are bytes, letters are ASCII.

data::Symbolic lower(const data::Symbolic& text);
data::Symbolic upper(const data::Symbolic& text);
data::Symbolic strip(const data::Symbolic& text);
/// i64: bytes.
data::Symbolic length(const data::Symbolic& text);
/// `count` bytes from `begin` on; below 0 counts from the end. What lies outside is left out.
data::Symbolic substr(const data::Symbolic& text, std::int64_t begin,
                      std::int64_t count = Tensor::kToEnd);
/// bool.
data::Symbolic contains(const data::Symbolic& text, const std::string& part);
data::Symbolic starts_with(const data::Symbolic& text, const std::string& part);
data::Symbolic ends_with(const data::Symbolic& text, const std::string& part);
data::Symbolic equals(const data::Symbolic& text, const std::string& other);
data::Symbolic replace(const data::Symbolic& text, const std::string& part,
                       const std::string& with);
/// One string to bytes [?]. Separators side by side have an empty string between them.
data::Symbolic split(const data::Symbolic& text, const std::string& separator);
/// bytes [?] to one string.
data::Symbolic join(const data::Symbolic& texts, const std::string& separator);
/// The strings as numbers. DataError naming a string that is not one, or does not fit.
data::Symbolic to_number(const data::Symbolic& text, DType dtype = DType::f32);

}  // namespace plimsoll::strings
