#pragma once

#include <plimsoll/data/image/load.h>

#include "data/program/draws.h"
#include "data/program/steps.h"

namespace plimsoll::data {

/// What the instructions of a chain ask of decoding and loading, but for what is drawn at random or
/// depends on the picture's size.
struct ChainOptions {
  image::DecodeOptions decode;
  image::LoadOptions load;
};
ChainOptions load_options(const LoadChain& chain, const Program::Parts& parts);

/// The attributes of random_resized_crop as the range that it draws from.
CropRange crop_range(const ops::Attributes& attributes);
/// The attributes of decode_image and resize as options.
image::DecodeOptions decode_options(const ops::Attributes& attributes);
image::ResizeOptions resize_options(const ops::Attributes& attributes);
/// And their names as attributes.
image::Filter filter_of(std::string_view name);
std::string_view filter_name(image::Filter filter);

}  // namespace plimsoll::data
