#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/image/info.h>
#include <plimsoll/data/map_function.h>

#include "data/sources/probe_file.h"

namespace plimsoll::data {
namespace {

/// The file of a small photograph, and rows of it.
constexpr Bytes kScratch = KiB(320);

/// The contents and the decoder's memory are a block each.
constexpr Bytes kBlock = KiB(4);

ElementSpec image_spec(const image::LoadOptions& options, bool with_label) {
  const std::int64_t height = options.height;
  const std::int64_t width = options.width;
  const std::int64_t channels = options.channels;
  const bool planes = options.layout == Layout::channels_first;
  ElementSpec spec;
  spec.components.push_back(TensorSpec::of(
      DType::f32, planes ? Shape{channels, height, width} : Shape{height, width, channels}));
  spec.names.emplace_back("image");
  if (with_label) {
    spec.components.push_back(TensorSpec::scalar(DType::i64));
    spec.names.emplace_back("label");
  }
  return spec;
}

/// Everything that decides the result.
std::string options_text(const image::LoadOptions& options) {
  std::string name =
      fmt::format("{}x{}x{} layout={} dct={} filter={} antialias={} turn={} scaled={}",
                  options.height, options.width, options.channels, static_cast<int>(options.layout),
                  static_cast<int>(options.dct), static_cast<int>(options.resize.filter),
                  options.resize.antialias, options.apply_orientation, options.allow_scaled);
  if (options.flip) name += " flip";
  if (!options.crop.whole()) {
    name += fmt::format(" crop={}x{}+{}+{}", options.crop.width, options.crop.height,
                        options.crop.x, options.crop.y);
  }
  if (!options.normalise) return name + " 0..255";
  return name + fmt::format(" mean={} deviation={}", fmt::join(options.mean, ","),
                            fmt::join(options.deviation, ","));
}

Element loaded(std::span<const std::byte> file, const image::LoadOptions& options,
               const Element& element, bool with_label, MapContext& context) {
  const image::ImageInfo info = image::probe(file);
  Tensor pixels = context.output(0);
  image::load(file, info, options, context.scratch(), pixels.mutable_data<float>());
  Element result;
  result.push_back(std::move(pixels));
  if (with_label) result.push_back(element.at(1));
  return result;
}

}  // namespace

MapFunction load_images(const image::LoadOptions& options, bool with_label) {
  MapFunction function;
  function.output = image_spec(options, with_label);
  function.scratch = kScratch;
  function.needs = [options](const std::string& path) {
    const PictureFile file = probe_file(path);
    return align_up(file.size, kBlock) +
           align_up(image::plan_load(file.image, options).scratch, kBlock);
  };
  function.takes_paths = true;
  function.random = false;
  function.name = "load_images 2: " + options_text(options);
  function.run = [options, with_label](const Element& element, MapContext& context) {
    const FileBytes file = context.read_file(element.at(0).text());
    return loaded(file.bytes(), options, element, with_label, context);
  };
  return function;
}

MapFunction decode_images(const image::LoadOptions& options, bool with_label) {
  MapFunction function;
  function.output = image_spec(options, with_label);
  function.scratch = kScratch;
  function.random = false;
  function.name = "decode_images 1: " + options_text(options);
  function.run = [options, with_label](const Element& element, MapContext& context) {
    const std::string_view file = element.at(0).text();
    return loaded({reinterpret_cast<const std::byte*>(file.data()), file.size()}, options, element,
                  with_label, context);
  };
  return function;
}

}  // namespace plimsoll::data
