#include "data/image/jpeg_session.h"

#include <string>

#include <jerror.h>

#include <plimsoll/base/error.h>

namespace plimsoll::image {

namespace {

// Each scan costs a pass over the coefficients; no encoder makes nearly as many.
constexpr int kMaxScans = 500;

void ignore(j_decompress_ptr) {}
void ignore_message(j_common_ptr) {}

void count_warnings(j_common_ptr cinfo, int level) {
  if (level < 0) ++cinfo->err->num_warnings;
}

boolean end_of_data(j_decompress_ptr cinfo) {
  ERREXIT(cinfo, JERR_INPUT_EOF);
  return FALSE;
}

void skip_data(j_decompress_ptr cinfo, long count) {
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > cinfo->src->bytes_in_buffer) {
    ERREXIT(cinfo, JERR_INPUT_EOF);
  }
  cinfo->src->next_input_byte += count;
  cinfo->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

void limit_scans(j_common_ptr cinfo) {
  if (reinterpret_cast<j_decompress_ptr>(cinfo)->input_scan_number > kMaxScans) {
    ERREXIT(cinfo, JERR_BAD_PROGRESSION);
  }
}

}  // namespace

// libjpeg reports errors by calling error_exit, which must not return: it jumps back here. Between
// the two there are only C frames and callbacks that hold no objects to destroy.
template <class Call>
void JpegSession::guarded(Call call) {
  if (setjmp(state_.jump) != 0) throw DataError(std::string("[jpeg] ") + state_.message);
  call(state_);
}

JpegSession::JpegSession(std::span<const std::byte> data, const ImageInfo& info,
                         Workspace& workspace) {
  state_.cinfo.err = jpeg_std_error(&state_.errors);
  state_.cinfo.client_data = &state_;
  state_.errors.emit_message = count_warnings;
  state_.errors.output_message = ignore_message;
  state_.errors.error_exit = [](j_common_ptr cinfo) {
    State& failed = *static_cast<State*>(cinfo->client_data);
    cinfo->err->format_message(cinfo, failed.message);
    std::longjmp(failed.jump, 1);
  };
  guarded([](State& s) { jpeg_create_decompress(&s.cinfo); });
  state_.own_memory =
      use_workspace(reinterpret_cast<j_common_ptr>(&state_.cinfo), state_.memory, workspace);
  connect(data);
  try {
    guarded([](State& s) { jpeg_read_header(&s.cinfo, TRUE); });
    check_header(info);
  } catch (...) {
    destroy();
    throw;
  }
}

JpegSession::~JpegSession() { destroy(); }

void JpegSession::destroy() {
  state_.cinfo.mem = state_.own_memory;
  jpeg_destroy_decompress(&state_.cinfo);
}

void JpegSession::connect(std::span<const std::byte> data) {
  jpeg_source_mgr& source = state_.source;
  source.next_input_byte = reinterpret_cast<const JOCTET*>(data.data());
  source.bytes_in_buffer = data.size();
  source.init_source = ignore;
  source.fill_input_buffer = end_of_data;
  source.skip_input_data = skip_data;
  source.resync_to_restart = jpeg_resync_to_restart;
  source.term_source = ignore;
  state_.cinfo.src = &source;
  state_.progress.progress_monitor = limit_scans;
  state_.cinfo.progress = &state_.progress;
}

void JpegSession::check_header(const ImageInfo& info) {
  jpeg_decompress_struct& cinfo = state_.cinfo;
  bool same = static_cast<int>(cinfo.image_width) == info.width &&
              static_cast<int>(cinfo.image_height) == info.height &&
              cinfo.num_components == info.components &&
              (jpeg_has_multiple_scans(&cinfo) != 0) == info.several_passes;
  for (int i = 0; same && i < info.components; ++i) {
    same = cinfo.comp_info[i].h_samp_factor == info.sampling[i].horizontal &&
           cinfo.comp_info[i].v_samp_factor == info.sampling[i].vertical;
  }
  if (!same) throw DataError("[jpeg] the header contradicts itself");
}

void JpegSession::calculate_dimensions() {
  guarded([](State& s) { jpeg_calc_output_dimensions(&s.cinfo); });
}

void JpegSession::start() {
  guarded([](State& s) { jpeg_start_decompress(&s.cinfo); });
}

int JpegSession::read_rows(JSAMPARRAY rows, int count) {
  guarded([rows, count](State& s) {
    s.result =
        static_cast<int>(jpeg_read_scanlines(&s.cinfo, rows, static_cast<JDIMENSION>(count)));
  });
  if (state_.result <= 0) throw DataError("[jpeg] a row is missing");
  return state_.result;
}

void JpegSession::read_planes(JSAMPIMAGE planes) {
  guarded([planes](State& s) {
    const int lines = s.cinfo.max_v_samp_factor * block_size(s.cinfo);
    s.result =
        static_cast<int>(jpeg_read_raw_data(&s.cinfo, planes, static_cast<JDIMENSION>(lines)));
  });
  if (state_.result <= 0) throw DataError("[jpeg] a strip of rows is missing");
}

void JpegSession::finish() {
  guarded([](State& s) { jpeg_finish_decompress(&s.cinfo); });
}

}  // namespace plimsoll::image
