#pragma once

#include <array>
#include <cstdint>

#include <plimsoll/data/image/decode.h>

#include "data/image/jpeg_huffman.h"
#include "data/image/jpeg_idct.h"
#include "data/image/jpeg_session.h"
#include "data/image/jpeg_window.h"

namespace plimsoll::image {

/// Reads the scan of a sequential Huffman-coded JPEG of three components or one, in place of
/// libjpeg: its samples have libjpeg's bits and come faster, as look-ups are wider, blocks that
/// nobody wants are only stepped over, and several blocks are transformed at a time.
///
/// It knows regular data only. At the first sign of anything else it gives up, and the caller
/// begins again with libjpeg: so what damaged files become is libjpeg's decision alone.
class JpegScan {
 public:
  static constexpr int kComponents = 3;

  /// What of a strip to produce and where. Blocks are counted in the picture's own order.
  struct Target {
    std::uint8_t* samples = nullptr;  ///< of the strip's first row
    std::ptrdiff_t stride = 0;
    /// Per row of blocks in the strip, whether any of it is wanted.
    std::array<bool, 4> rows{};
    /// Per block of such a row, padded_columns() of them: not 0 if wanted.
    const std::uint8_t* columns = nullptr;
  };

  static Bytes cost();

  /// Takes over where `session`, which has read the header and calculated dimensions, stands. The
  /// session stays as it is, to be started if this fails. All must outlive the scan.
  JpegScan(JpegSession& session, Dct dct, Workspace& workspace,
           const JpegTransforms* transforms = jpeg_transforms());

  /// Whether the file is one of those this class reads. If not, nothing else may be called.
  bool ready() const { return ready_; }

  /// Blocks in a row of whole MCUs.
  int padded_columns(int component) const;

  /// Reads the next strip, a row of MCUs. False: the data are not regular.
  bool read(const std::array<Target, kComponents>& targets);

  /// Instead of reading the strips that are left, of which nobody wants anything: whether the file
  /// ends after this scan, with nothing but restarts before. If so, libjpeg would find no error in
  /// it, whatever the data, and no difference in the strips above.
  bool skip_rest();

  /// After the last strip: whether the file ends after this scan, as it should. What stands between
  /// is stepped over, as libjpeg does.
  bool finish();

 private:
  // What is stored outside a block ends behind the group.
  static constexpr int kGroupValues = (8 + 1) * 8 * kMostBlocks;

  struct Component {
    int horizontal = 0;
    int vertical = 0;
    int size = 0;  // of a block's edge, in samples
    const JpegHuffman* dc_table = nullptr;
    const JpegHuffman* ac_table = nullptr;
    InverseDct transform = nullptr;
    const BlockGroup* factors = nullptr;
    bool fast = false;
    int quantization = 0;  // of the DC coefficient
    int dc = 0;
    // Blocks wait for one another, to be transformed together.
    BlockGroup* group = nullptr;
    int waiting = 0;
    std::array<std::uint8_t*, kMostBlocks> out{};
  };
  struct Block {
    std::uint8_t component;
    std::uint8_t x, y;  // within the MCU
  };
  /// Where a block of the next MCU goes.
  struct Place {
    Component* component;
    std::uint8_t* samples;
    std::ptrdiff_t step;  // from MCU to MCU
    std::ptrdiff_t stride;
    const std::uint8_t* wanted;
    std::ptrdiff_t next;  // the same for `wanted`
  };
  struct Bits {
    std::uint64_t value = 0;  // the next bit is the highest
    int count = 0;
    const std::uint8_t* next = nullptr;
  };

  bool prepare(Dct dct, Workspace& workspace);
  bool prepare_component(const jpeg_component_info& info, Dct dct, Workspace& workspace);
  const JpegHuffman* table(const JHUFF_TBL* source, bool dc, Workspace& workspace);
  Place first_place(const Block& block, const Target& target);
  bool next_segment();
  std::ptrdiff_t bits_left() const;
  void finish_block(Component& c, std::uint8_t* out, std::ptrdiff_t stride);
  void flush(const std::array<Target, kComponents>& targets);

  jpeg_decompress_struct& cinfo_;
  const JpegTransforms* transforms_;
  JpegWindow window_;
  Bits bits_;
  std::array<Component, kComponents> components_;
  std::array<Block, D_MAX_BLOCKS_IN_MCU> blocks_;
  std::size_t block_count_ = 0;
  int mcus_ = 0;  // in a row
  int restart_interval_ = 0;
  int to_restart_ = 0;
  int next_restart_ = 0;
  bool ready_ = false;

  struct Made {
    const JHUFF_TBL* source;
    const JpegHuffman* table;
  };
  std::array<Made, 2 * kComponents> made_{};
  int made_count_ = 0;
};

}  // namespace plimsoll::image
