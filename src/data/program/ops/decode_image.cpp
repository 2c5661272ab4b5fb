// JPEG or PNG bytes to a picture.
#include <plimsoll/data/image/decode.h>

#include <fmt/format.h>

#include "data/program/load_options.h"
#include "data/program/op.h"

namespace plimsoll::data::program_ops {

std::span<const ProgramOp> decode_image() {
  static constexpr ProgramOp kOps[] = {
      {.name = "decode_image",
       .summary = "a JPEG or PNG file's bytes as u8 [height,width,channels]",
       .specs =
           [](const SpecInputs& inputs) {
             inputs.require_one_text(0);
             const std::int64_t channels = inputs.attributes().integer("channels");
             if (channels < 0 || channels > 4) {
               inputs.fail(
                   fmt::format("channels is {}; give 1 to 4, or 0 for what is stored", channels));
             }
             const std::string& dct = inputs.attributes().text("dct");
             if (dct != "fast" && dct != "accurate") {
               inputs.fail(fmt::format("dct is \"{}\"; give fast or accurate", dct));
             }
             return std::vector<TensorSpec>{
                 {DType::u8, std::vector<std::int64_t>{kAnyExtent, kAnyExtent,
                                                       channels == 0 ? kAnyExtent : channels}}};
           },
       .run =
           [](ProgramCall& call) {
             const std::string_view text = call.input(0).text();
             const std::span bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
             const image::ImageInfo info = image::probe(bytes);
             const image::DecodeOptions options = decode_options(call.attributes());
             const image::Extent extent = image::decoded_extent(info, options);
             Tensor pixels = call.output({extent.height, extent.width, extent.channels}, DType::u8);
             image::decode(bytes, info, options, call.context().scratch(),
                           image::packed(pixels.mutable_data<std::uint8_t>(), extent.height,
                                         extent.width, extent.channels));
           }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
