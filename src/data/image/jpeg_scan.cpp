#include "data/image/jpeg_scan.h"

#include <cstring>
#include <iterator>
#include <new>

namespace plimsoll::image {
namespace {

#if defined(__x86_64__)
#define PLIMSOLL_SCAN __attribute__((target("avx2,bmi,bmi2")))
#else
#define PLIMSOLL_SCAN
#endif

constexpr int kEoi = 0xd9;
constexpr int kRst0 = 0xd0;
constexpr int kRst7 = 0xd7;
// Nothing an encoder makes comes near; within it, no transform overflows on account of the DC
// coefficient, where libjpeg's variants differ.
constexpr int kDcLimit = 4000;

bool beyond_limit(int dc) {
  return static_cast<unsigned>(dc + kDcLimit) > static_cast<unsigned>(2 * kDcLimit);
}

/// From the order of coding, counted from 1, to a place in a group of so many blocks. What leads
/// out of the block ends at one place behind the group.
struct Order {
  std::uint16_t place[64 + JpegHuffman::kLong];
};
constexpr Order make_order(int blocks) {
  Order order{};
  for (std::uint16_t& place : order.place) place = static_cast<std::uint16_t>(64 * blocks);
  int next = 1;
  // Diagonals, in turn upwards and downwards.
  for (int sum = 0; sum < 15; ++sum) {
    for (int i = 0; i <= sum; ++i) {
      const int x = sum % 2 == 0 ? i : sum - i;
      const int y = sum - x;
      if (x < 8 && y < 8) order.place[next++] = static_cast<std::uint16_t>(8 * blocks * y + x);
    }
  }
  return order;
}
constexpr Order kOrders[] = {make_order(1), make_order(2), make_order(3), make_order(4)};
static_assert(std::size(kOrders) == kMostBlocks);

/// The next bits of a scan. Only six bits of `count` mean anything, which is what shifts look at.
struct LocalBits {
  std::uint64_t value;  // the next bit is the highest
  std::uint64_t count;
  const std::uint8_t* next;
};

/// At least 56 bits, enough for any two symbols with their values.
PLIMSOLL_SCAN inline void refill(LocalBits& bits) {
  std::uint64_t word = 0;
  std::memcpy(&word, bits.next, 8);
  bits.value |= __builtin_bswap64(word) >> (bits.count & 63);
  bits.next += ~bits.count >> 3 & 7;
  bits.count |= 56;
}

PLIMSOLL_SCAN inline void skip(LocalBits& bits, JpegHuffman::Entry entry) {
  bits.value <<= entry & 63;
  bits.count -= entry;
}

/// The value behind the code at the top of `bits`.
PLIMSOLL_SCAN inline int value_of(std::uint64_t bits, JpegHuffman::Entry entry) {
  const std::uint32_t where = entry >> 8;
#if defined(__x86_64__)
  const auto value = static_cast<int>(__builtin_ia32_bextr_u64(bits, where));
#else
  const std::uint64_t last = bits >> 1 >> ((where - 1) & 63);
  const auto value = static_cast<int>(last & ((1U << (where >> 8 & 63)) - 1));
#endif
  // One that begins with 0 is negative.
  const int negative = value + 1 + static_cast<int>(~0U << (where >> 8 & 31));
  return value + negative <= 0 ? negative : value;
}

/// Where a block ended that ended as it should.
bool regular_end(int k) { return k == 64 || (k > 80 && k < JpegHuffman::kIrregular); }
constexpr int kNoAc = 1 + JpegHuffman::kEndOfBlock;

/// Reads the AC coefficients of a block, to `block` if Store, in that order. Returns where it
/// ended.
template <bool Store>
PLIMSOLL_SCAN inline int read_ac(LocalBits& bits, const JpegHuffman& table, const Order& order,
                                 std::int16_t* block) {
  int k = 1;
  const auto take = [&](JpegHuffman::Entry entry) PLIMSOLL_SCAN __attribute__((always_inline)) {
    k += static_cast<int>(entry >> 24);
    if constexpr (Store) {
      block[order.place[k]] = static_cast<std::int16_t>(value_of(bits.value, entry));
    }
    skip(bits, entry);
    return k >= 64;
  };
  // Whether the block has ended.
  const auto step = [&](JpegHuffman::Entry entry) PLIMSOLL_SCAN __attribute__((always_inline)) {
    if (!take(entry)) return false;
    if (__builtin_expect(k < JpegHuffman::kLong, 1)) return true;
    k -= JpegHuffman::kLong;
    return take(table.look_up_long(bits.value));
  };
  refill(bits);
  JpegHuffman::Entry entry = table.look_up(bits.value);
  for (;;) {
    if (step(entry) || step(table.look_up(bits.value))) return k;
    // All 64 bits were filled and two symbols take 52 of them, so enough are left for this.
    entry = table.look_up(bits.value);
    refill(bits);
  }
}

void fill_block(std::uint8_t* out, std::ptrdiff_t stride, int size, std::uint8_t sample) {
  if (size == 8) {
    for (int y = 0; y < 8; ++y) std::memset(out + y * stride, sample, 8);
    return;
  }
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) out[y * stride + x] = sample;
  }
}

}  // namespace

Bytes JpegScan::cost() {
  return JpegWindow::cost() + 2 * kComponents * Workspace::cost(sizeof(JpegHuffman)) +
         kComponents * (Workspace::cost(sizeof(BlockGroup)) +
                        Workspace::cost(kGroupValues * sizeof(std::int16_t)));
}

JpegScan::JpegScan(JpegSession& session, Dct dct, Workspace& workspace,
                   const JpegTransforms* transforms)
    : cinfo_(session.info()),
      transforms_(transforms),
      window_(cinfo_.src->next_input_byte,
              cinfo_.src->next_input_byte + cinfo_.src->bytes_in_buffer, workspace) {
  ready_ = prepare(dct, workspace);
}

bool JpegScan::prepare(Dct dct, Workspace& workspace) {
  if (transforms_ == nullptr || cinfo_.progressive_mode || cinfo_.arith_code ||
      cinfo_.data_precision != 8 || cinfo_.comps_in_scan != cinfo_.num_components ||
      (cinfo_.num_components != kComponents && cinfo_.num_components != 1) || cinfo_.Ss != 0 ||
      cinfo_.Se != 63 || cinfo_.Ah != 0 || cinfo_.Al != 0) {
    return false;
  }
  for (int i = 0; i < cinfo_.comps_in_scan; ++i) {
    const jpeg_component_info& info = *cinfo_.cur_comp_info[i];
    if (components_[static_cast<std::size_t>(info.component_index)].group != nullptr) return false;
    if (!prepare_component(info, dct, workspace)) return false;
    const int count = info.h_samp_factor * info.v_samp_factor;
    // Of one component, blocks come row by row, whatever it says of itself.
    if (cinfo_.comps_in_scan == 1 && count != 1) return false;
    if (block_count_ + static_cast<std::size_t>(count) > D_MAX_BLOCKS_IN_MCU) return false;
    for (int y = 0; y < info.v_samp_factor; ++y) {
      for (int x = 0; x < info.h_samp_factor; ++x) {
        blocks_[block_count_++] = {static_cast<std::uint8_t>(info.component_index),
                                   static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y)};
      }
    }
  }
  const int mcu = 8 * cinfo_.max_h_samp_factor;
  mcus_ = (static_cast<int>(cinfo_.image_width) + mcu - 1) / mcu;
  restart_interval_ = to_restart_ = static_cast<int>(cinfo_.restart_interval);
  bits_.next = window_.fill(nullptr);
  return true;
}

bool JpegScan::prepare_component(const jpeg_component_info& info, Dct dct, Workspace& workspace) {
  const JQUANT_TBL* quantization =
      info.quant_tbl_no < NUM_QUANT_TBLS ? cinfo_.quant_tbl_ptrs[info.quant_tbl_no] : nullptr;
  if (quantization == nullptr || info.dc_tbl_no >= NUM_HUFF_TBLS ||
      info.ac_tbl_no >= NUM_HUFF_TBLS) {
    return false;
  }
  Component& c = components_[static_cast<std::size_t>(info.component_index)];
  c.dc_table = table(cinfo_.dc_huff_tbl_ptrs[info.dc_tbl_no], true, workspace);
  c.ac_table = table(cinfo_.ac_huff_tbl_ptrs[info.ac_tbl_no], false, workspace);
  if (c.dc_table == nullptr || c.ac_table == nullptr) return false;
  c.horizontal = info.h_samp_factor;
  c.vertical = info.v_samp_factor;
  c.size = block_size(info);
  c.fast = c.size == 8 && dct == Dct::fast;
  switch (c.size) {
    case 8:
      c.transform = c.fast ? transforms_->fast8 : transforms_->accurate8;
      break;
    case 4:
      c.transform = transforms_->reduced4;
      break;
    case 2:
      c.transform = transforms_->reduced2;
      break;
    case 1:
      break;
    default:
      return false;
  }
  c.quantization = static_cast<std::int16_t>(quantization->quantval[0]);
  auto* factors = workspace.take_array<BlockGroup>(1);
  make_factors(*factors, quantization->quantval, c.fast, transforms_->blocks);
  c.factors = factors;
  auto* values = workspace.take_array<std::int16_t>(kGroupValues);
  c.group = new (values) BlockGroup{};
  return true;
}

const JpegHuffman* JpegScan::table(const JHUFF_TBL* source, bool dc, Workspace& workspace) {
  if (source == nullptr) return nullptr;
  for (int i = 0; i < made_count_; ++i) {
    const Made& made = made_[static_cast<std::size_t>(i)];
    if (made.source == source) return made.table;
  }
  auto* result = workspace.take_array<JpegHuffman>(1);
  if (!result->make(*source, dc)) return nullptr;
  made_[static_cast<std::size_t>(made_count_++)] = {source, result};
  return result;
}

int JpegScan::padded_columns(int component) const {
  return mcus_ * components_[static_cast<std::size_t>(component)].horizontal;
}

std::ptrdiff_t JpegScan::bits_left() const {
  return 8 * (window_.filled() - bits_.next) + bits_.count;
}

bool JpegScan::next_segment() {
  const std::ptrdiff_t left = bits_left();
  if (!window_.ended() || left < 0 || left > 7 || window_.marker() != kRst0 + next_restart_) {
    return false;
  }
  next_restart_ = (next_restart_ + 1) % 8;
  to_restart_ = restart_interval_;
  for (Component& c : components_) c.dc = 0;
  window_.next_segment();
  bits_ = {};
  bits_.next = window_.fill(nullptr);
  return true;
}

bool JpegScan::finish() {
  if (bits_left() < 0) return false;
  while (!window_.ended()) bits_.next = window_.fill(window_.filled());
  return window_.marker() == kEoi;
}

bool JpegScan::skip_rest() {
  window_.skip_segment();
  while (restart_interval_ != 0 && window_.marker() >= kRst0 && window_.marker() <= kRst7) {
    window_.next_segment();
    window_.skip_segment();
  }
  return window_.marker() == kEoi;
}

JpegScan::Place JpegScan::first_place(const Block& block, const Target& target) {
  static constexpr std::uint8_t kUnwanted = 0;
  Component& c = components_[block.component];
  const std::ptrdiff_t row = std::ptrdiff_t{block.y} * c.size;
  return {.component = &c,
          .samples = target.samples + row * target.stride + block.x * c.size,
          .step = c.horizontal * c.size,
          .stride = target.stride,
          .wanted = target.rows[block.y] ? target.columns + block.x : &kUnwanted,
          .next = target.rows[block.y] ? c.horizontal : 0};
}

// One function, so that the bits stay in registers.
PLIMSOLL_SCAN bool JpegScan::read(const std::array<Target, kComponents>& targets) {
  std::array<Place, D_MAX_BLOCKS_IN_MCU> places;
  for (std::size_t b = 0; b < block_count_; ++b) {
    places[b] = first_place(blocks_[b], targets[blocks_[b].component]);
  }
  const Place* const end = places.data() + block_count_;
  const Order& order = kOrders[transforms_->blocks - 1];
  for (int mcu = 0; mcu < mcus_; ++mcu) {
    if (restart_interval_ != 0) {
      if (to_restart_ == 0 && !next_segment()) return false;
      --to_restart_;
    }
    LocalBits bits{bits_.value, static_cast<std::uint64_t>(bits_.count), window_.fill(bits_.next)};
    for (Place* place = places.data(); place != end; ++place) {
      Component& c = *place->component;
      refill(bits);
      JpegHuffman::Entry entry = c.dc_table->look_up(bits.value);
      if (entry >> 24 == JpegHuffman::kLong) entry = c.dc_table->look_up_long(bits.value);
      c.dc += value_of(bits.value, entry);
      skip(bits, entry);
      const int dc = c.dc * c.quantization;
      if (entry >> 24 != 1 || beyond_limit(c.dc) || beyond_limit(dc)) return false;

      std::uint8_t* const out = place->samples;
      place->samples += place->step;
      const bool wanted = *place->wanted != 0;
      place->wanted += place->next;
      if (!wanted || c.size == 1) {
        if (!regular_end(read_ac<false>(bits, *c.ac_table, order, nullptr))) return false;
        if (wanted) *out = flat_sample(dc, false);
        continue;
      }
      std::int16_t* values = c.group->values + 8 * c.waiting;
      const int ended = read_ac<true>(bits, *c.ac_table, order, values);
      if (!regular_end(ended)) return false;
      if (ended == kNoAc) {
        fill_block(out, place->stride, c.size, flat_sample(dc, c.fast));
        continue;
      }
      values[0] = static_cast<std::int16_t>(c.dc);
      finish_block(c, out, place->stride);
    }
    bits_ = {bits.value, static_cast<int>(bits.count & 63), bits.next};
    if (window_.ended() && bits_left() < 0) return false;
  }
  flush(targets);
  return true;
}

void JpegScan::finish_block(Component& c, std::uint8_t* out, std::ptrdiff_t stride) {
  c.out[c.waiting] = out;
  if (++c.waiting < transforms_->blocks) return;
  c.transform(c.out.data(), stride, *c.group, *c.factors);
  c.waiting = 0;
}

void JpegScan::flush(const std::array<Target, kComponents>& targets) {
  const int blocks = transforms_->blocks;
  for (std::size_t i = 0; i < kComponents; ++i) {
    Component& c = components_[i];
    if (c.waiting == 0) continue;
    // The others of the group become the first one, too.
    for (; c.waiting < blocks; ++c.waiting) {
      c.out[c.waiting] = c.out[0];
      for (int y = 0; y < 8; ++y) {
        std::int16_t* const row = c.group->values + std::ptrdiff_t{8} * blocks * y;
        std::memcpy(row + 8 * c.waiting, row, 8 * sizeof(std::int16_t));
      }
    }
    c.transform(c.out.data(), targets[i].stride, *c.group, *c.factors);
    c.waiting = 0;
  }
}

}  // namespace plimsoll::image
