#pragma once

#include <array>
#include <cstdint>

#include "data/program/op.h"

// Changes of colours as torchvision v2 (0.29) defines them, on floats; those that tf.image defines
// otherwise are named so.

namespace plimsoll::data {

/// Interleaved channels that are changed in place.
struct ColourPicture {
  float* data = nullptr;
  std::int64_t pixels = 0;
  int channels = 3;
  /// The values were u8: gray values are cut off to whole ones, as torchvision does.
  bool whole = false;
};

// `most` is the largest value: 255, or 1.

void change_brightness(const ColourPicture& picture, double factor, double most);
void change_contrast(const ColourPicture& picture, double factor, double most);
void change_saturation(const ColourPicture& picture, double factor, double most);
/// By a share of a full turn.
void change_hue(const ColourPicture& picture, double amount, double most);
void change_solarize(const ColourPicture& picture, double threshold, double most);
void change_posterize(const ColourPicture& picture, double bits, double most);
/// Each channel stretched so that it has 0 and `most`.
void change_autocontrast(const ColourPicture& picture, double, double most);
/// Each channel so that its values are about equally frequent.
void change_equalize(const ColourPicture& picture, double, double most);
void make_gray(const ColourPicture& picture);

/// tf.image.adjust_contrast: about the mean of each channel.
void change_tf_contrast(const ColourPicture& picture, double factor, double most);
/// tf.image.adjust_saturation: the saturation of HSV multiplied.
void change_tf_saturation(const ColourPicture& picture, double factor, double most);
/// tf.image.adjust_brightness: value + amount * most.
void change_tf_brightness(const ColourPicture& picture, double amount, double most);

/// What a change of one byte is: for the inner part of a step that is repeated.
void cut_to_whole(const ColourPicture& picture, double most, bool rounded);

/// The floats of a picture that is being changed: the result's own memory where that is f32, else
/// scratch.
class FloatPicture {
 public:
  FloatPicture(const ProgramInput& from, image::Scratch& scratch, Tensor& to);
  FloatPicture(const FloatPicture&) = delete;
  FloatPicture& operator=(const FloatPicture&) = delete;
  ~FloatPicture();
  float* data() const { return data_; }
  /// Into `to`: u8 values are kept within 0 to 255, and cut off or rounded.
  void write(Tensor& to, bool rounded = false) const;

 private:
  image::Scratch& scratch_;
  void* block_ = nullptr;
  float* data_ = nullptr;
};

}  // namespace plimsoll::data
