// A picture as a JPEG file.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <jpeglib.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> encode_jpeg_specs(const SpecInputs& inputs) {
  const auto& dims = inputs.require_picture(0);
  if (inputs[0].dtype != DType::u8) inputs.fail("takes u8");
  if (dims[2] != 1 && dims[2] != 3 && dims[2] != kAnyExtent) inputs.fail("takes 1 or 3 channels");
  const std::int64_t quality = inputs.attributes().integer("quality");
  if (quality < 0 || quality > 100) inputs.fail(fmt::format("quality is {}", quality));
  return {TensorSpec::scalar(DType::bytes)};
}

/// libjpeg's state, which lives outside of the function that setjmp is in.
struct Encoder {
  jpeg_compress_struct cinfo{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX]{};
  unsigned char* data = nullptr;
  unsigned long bytes = 0;

  Encoder() {
    cinfo.err = jpeg_std_error(&errors);
    cinfo.client_data = this;
    errors.error_exit = [](j_common_ptr failed) {
      Encoder& self = *static_cast<Encoder*>(failed->client_data);
      failed->err->format_message(failed, self.message);
      std::longjmp(self.jump, 1);
    };
    errors.output_message = [](j_common_ptr) {};
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder() {
    jpeg_destroy_compress(&cinfo);
    std::free(data);  // NOLINT: jpeg_mem_dest takes it from malloc
  }
};

/// Only C frames lie between here and what jumps back.
bool encode(Encoder& encoder, const ProgramInput& from, const ops::Attributes& attributes) {
  const auto width = static_cast<JDIMENSION>(from.shape()[1]);
  const auto height = static_cast<JDIMENSION>(from.shape()[0]);
  const auto channels = static_cast<int>(from.shape()[2]);
  if (setjmp(encoder.jump) != 0) return false;
  jpeg_compress_struct& cinfo = encoder.cinfo;
  jpeg_create_compress(&cinfo);
  jpeg_mem_dest(&cinfo, &encoder.data, &encoder.bytes);
  cinfo.image_width = width;
  cinfo.image_height = height;
  cinfo.input_components = channels;
  cinfo.in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, static_cast<int>(attributes.integer("quality")), TRUE);
  if (attributes.flag("progressive")) jpeg_simple_progression(&cinfo);
  cinfo.optimize_coding = attributes.flag("optimize_size") ? TRUE : FALSE;
  if (channels == 3 && !attributes.flag("chroma_downsampling")) {
    for (int i = 0; i < 3; ++i) {
      cinfo.comp_info[i].h_samp_factor = 1;
      cinfo.comp_info[i].v_samp_factor = 1;
    }
  }
  jpeg_start_compress(&cinfo, TRUE);
  const std::size_t stride = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  while (cinfo.next_scanline < height) {
    auto* row = const_cast<JSAMPLE*>(from.as<JSAMPLE>() + cinfo.next_scanline * stride);
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  return true;
}

void run_encode_jpeg(ProgramCall& call) {
  const ProgramInput& from = call.input(0);
  if (from.elements() == 0) throw DataError("[encode_jpeg] the image has no pixels");
  const auto encoder = std::make_unique<Encoder>();
  if (!encode(*encoder, from, call.attributes())) {
    throw DataError(fmt::format("[encode_jpeg] {}", encoder->message));
  }
  call.give(call.context().text(
      {reinterpret_cast<const char*>(encoder->data), static_cast<std::size_t>(encoder->bytes)}));
}

}  // namespace

std::span<const ProgramOp> encode_jpeg() {
  static constexpr ProgramOp kOps[] = {
      {.name = "encode_jpeg",
       .summary = "a u8 image as a JPEG file",
       .specs = encode_jpeg_specs,
       .run = run_encode_jpeg},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
