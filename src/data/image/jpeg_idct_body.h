// The inverse transforms, for whoever includes this with a namespace of its own open around it,
// after saying in which vectors:
//   PLIMSOLL_TARGET        attributes of functions
//   PLIMSOLL_WIDE(op)      an intrinsic
//   Vector, kBlocks        as many blocks as it has parts of 128 bits
//   load, store, zero      of aligned vectors
//   both                   bitwise or
//   Which, which_are_zero, choose(which, a, b): b in the blocks that are chosen, a in the others
//   store_rows(out, at, stride, v): of each block 8 bytes at out[block] + at, 8 at + stride
// It is no header of declarations: each includes it once.

/// Values in a row of all blocks.
constexpr int kRow = 8 * kBlocks;

// The loops below stand for straight code on registers, which -O2 makes of them only if told.
/// Eight rows of eight 16-bit values, of each block in a part of 128 bits of its own.
struct Rows {
  Vector r[8];
};

PLIMSOLL_TARGET inline Rows dequantise(BlockGroup& blocks, const BlockGroup& factors) {
  Rows x;
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    std::int16_t* const row = blocks.values + kRow * i;
    x.r[i] = PLIMSOLL_WIDE(mullo_epi16)(load(row), load(factors.values + kRow * i));
    store(row, zero());
  }
  return x;
}

PLIMSOLL_TARGET inline void transpose(Rows& x) {
  Vector a[8];
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = PLIMSOLL_WIDE(unpacklo_epi16)(x.r[2 * i], x.r[2 * i + 1]);
    a[2 * i + 1] = PLIMSOLL_WIDE(unpackhi_epi16)(x.r[2 * i], x.r[2 * i + 1]);
  }
  Vector b[8];
#pragma GCC unroll 8
  for (int i = 0; i < 2; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < 2; ++j) {
      b[4 * i + 2 * j] = PLIMSOLL_WIDE(unpacklo_epi32)(a[4 * i + j], a[4 * i + 2 + j]);
      b[4 * i + 2 * j + 1] = PLIMSOLL_WIDE(unpackhi_epi32)(a[4 * i + j], a[4 * i + 2 + j]);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < 4; ++j) {
    x.r[2 * j] = PLIMSOLL_WIDE(unpacklo_epi64)(b[j], b[4 + j]);
    x.r[2 * j + 1] = PLIMSOLL_WIDE(unpackhi_epi64)(b[j], b[4 + j]);
  }
}

/// Takes columns, that is, rows of the transposed block, as signed values around 0.
PLIMSOLL_TARGET inline void store_columns(std::uint8_t* const* out, std::ptrdiff_t stride,
                                          Rows& x) {
  transpose(x);
  const Vector centre = PLIMSOLL_WIDE(set1_epi8)(-128);
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2) {
    store_rows(out, i * stride, stride,
               PLIMSOLL_WIDE(add_epi8)(PLIMSOLL_WIDE(packs_epi16)(x.r[i], x.r[i + 1]), centre));
  }
}

PLIMSOLL_TARGET inline Vector add(Vector a, Vector b) { return PLIMSOLL_WIDE(add_epi16)(a, b); }
PLIMSOLL_TARGET inline Vector sub(Vector a, Vector b) { return PLIMSOLL_WIDE(sub_epi16)(a, b); }

/// x * factor / 2^8, rounded down; the factor comes shifted up by 6.
PLIMSOLL_TARGET inline Vector scaled(Vector x, int factor) {
  return PLIMSOLL_WIDE(mulhi_epi16)(PLIMSOLL_WIDE(slli_epi16)(x, 2),
                                    PLIMSOLL_WIDE(set1_epi16)(static_cast<short>(factor)));
}

PLIMSOLL_TARGET inline void fast_pass(Rows& x) {
  constexpr int k1082 = 277 << 6;
  constexpr int k1414 = 362 << 6;
  constexpr int k1847 = 473 << 6;
  constexpr int k1613 = (669 - 256) * 64;

  const Vector sum04 = add(x.r[0], x.r[4]);
  const Vector difference04 = sub(x.r[0], x.r[4]);
  const Vector sum26 = add(x.r[2], x.r[6]);
  const Vector turned26 = sub(scaled(sub(x.r[2], x.r[6]), k1414), sum26);
  const Vector even0 = add(sum04, sum26);
  const Vector even3 = sub(sum04, sum26);
  const Vector even1 = add(difference04, turned26);
  const Vector even2 = sub(difference04, turned26);

  const Vector z13 = add(x.r[5], x.r[3]);
  const Vector z10 = sub(x.r[5], x.r[3]);
  const Vector z11 = add(x.r[1], x.r[7]);
  const Vector z12 = sub(x.r[1], x.r[7]);
  const Vector odd0 = add(z11, z13);
  const Vector z5 = scaled(add(z10, z12), k1847);
  const Vector odd1 = sub(add(sub(scaled(z10, -k1613), z10), z5), odd0);
  const Vector odd2 = sub(scaled(sub(z11, z13), k1414), odd1);
  const Vector odd3 = add(sub(scaled(z12, k1082), z5), odd2);

  x.r[0] = add(even0, odd0);
  x.r[7] = sub(even0, odd0);
  x.r[1] = add(even1, odd1);
  x.r[6] = sub(even1, odd1);
  x.r[2] = add(even2, odd2);
  x.r[5] = sub(even2, odd2);
  x.r[4] = add(even3, odd3);
  x.r[3] = sub(even3, odd3);
}

PLIMSOLL_TARGET void fast8(std::uint8_t* const* out, std::ptrdiff_t stride, BlockGroup& blocks,
                           const BlockGroup& factors) {
  Rows x = dequantise(blocks, factors);
  fast_pass(x);
  transpose(x);
  fast_pass(x);
#pragma GCC unroll 8
  for (Vector& row : x.r) row = PLIMSOLL_WIDE(srai_epi16)(row, 5);
  store_columns(out, stride, x);
}

// 32-bit values of eight columns: of columns 0 to 3 and 4 to 7 of each block.
struct Wide {
  Vector low, high;
};
PLIMSOLL_TARGET inline Wide operator+(const Wide& a, const Wide& b) {
  return {PLIMSOLL_WIDE(add_epi32)(a.low, b.low), PLIMSOLL_WIDE(add_epi32)(a.high, b.high)};
}
PLIMSOLL_TARGET inline Wide operator-(const Wide& a, const Wide& b) {
  return {PLIMSOLL_WIDE(sub_epi32)(a.low, b.low), PLIMSOLL_WIDE(sub_epi32)(a.high, b.high)};
}

/// a * factor_a + b * factor_b
PLIMSOLL_TARGET inline Wide weigh(Vector a, int factor_a, Vector b, int factor_b) {
  const Vector factors = PLIMSOLL_WIDE(set1_epi32)((factor_b << 16) | (factor_a & 0xffff));
  return {PLIMSOLL_WIDE(madd_epi16)(PLIMSOLL_WIDE(unpacklo_epi16)(a, b), factors),
          PLIMSOLL_WIDE(madd_epi16)(PLIMSOLL_WIDE(unpackhi_epi16)(a, b), factors)};
}

/// a * 2^(16 - down)
PLIMSOLL_TARGET inline Wide widen(Vector a, int down) {
  return {PLIMSOLL_WIDE(srai_epi32)(PLIMSOLL_WIDE(unpacklo_epi16)(zero(), a), down),
          PLIMSOLL_WIDE(srai_epi32)(PLIMSOLL_WIDE(unpackhi_epi16)(zero(), a), down)};
}

/// a / 2^shift, rounded to nearest.
PLIMSOLL_TARGET inline Wide descale(const Wide& a, int shift) {
  const Vector half = PLIMSOLL_WIDE(set1_epi32)(1 << (shift - 1));
  return {PLIMSOLL_WIDE(srai_epi32)(PLIMSOLL_WIDE(add_epi32)(a.low, half), shift),
          PLIMSOLL_WIDE(srai_epi32)(PLIMSOLL_WIDE(add_epi32)(a.high, half), shift)};
}

/// The same in 16 bits, with saturation.
PLIMSOLL_TARGET inline Vector narrow(const Wide& a, int shift) {
  const Wide b = descale(a, shift);
  return PLIMSOLL_WIDE(packs_epi32)(b.low, b.high);
}

// The factors of Loeffler, Ligtenberg and Moschytz, in 13 bits.
constexpr int k0298 = 2446;
constexpr int k0390 = 3196;
constexpr int k0541 = 4433;
constexpr int k0765 = 6270;
constexpr int k0899 = 7373;
constexpr int k1175 = 9633;
constexpr int k1501 = 12299;
constexpr int k1847 = 15137;
constexpr int k1961 = 16069;
constexpr int k2053 = 16819;
constexpr int k2562 = 20995;
constexpr int k3072 = 25172;

PLIMSOLL_TARGET inline void accurate_pass(Rows& x, int shift) {
  const Wide turned2 = weigh(x.r[2], k0541, x.r[6], k0541 - k1847);
  const Wide turned3 = weigh(x.r[2], k0541 + k0765, x.r[6], k0541);
  const Wide sum04 = widen(PLIMSOLL_WIDE(add_epi16)(x.r[0], x.r[4]), 3);
  const Wide difference04 = widen(PLIMSOLL_WIDE(sub_epi16)(x.r[0], x.r[4]), 3);
  const Wide even0 = sum04 + turned3;
  const Wide even3 = sum04 - turned3;
  const Wide even1 = difference04 + turned2;
  const Wide even2 = difference04 - turned2;

  const Vector sum37 = PLIMSOLL_WIDE(add_epi16)(x.r[7], x.r[3]);
  const Vector sum15 = PLIMSOLL_WIDE(add_epi16)(x.r[5], x.r[1]);
  const Wide z3 = weigh(sum37, k1175 - k1961, sum15, k1175);
  const Wide z4 = weigh(sum37, k1175, sum15, k1175 - k0390);
  const Wide odd3 = weigh(x.r[7], k0298 - k0899, x.r[1], -k0899) + z3;
  const Wide odd0 = weigh(x.r[7], -k0899, x.r[1], k1501 - k0899) + z4;
  const Wide odd2 = weigh(x.r[5], k2053 - k2562, x.r[3], -k2562) + z4;
  const Wide odd1 = weigh(x.r[5], -k2562, x.r[3], k3072 - k2562) + z3;

  x.r[0] = narrow(even0 + odd0, shift);
  x.r[7] = narrow(even0 - odd0, shift);
  x.r[1] = narrow(even1 + odd1, shift);
  x.r[6] = narrow(even1 - odd1, shift);
  x.r[2] = narrow(even2 + odd2, shift);
  x.r[5] = narrow(even2 - odd2, shift);
  x.r[3] = narrow(even3 + odd3, shift);
  x.r[4] = narrow(even3 - odd3, shift);
}

/// The blocks that have coefficients in their first row only, but for one row that does not count
/// (0: all do).
PLIMSOLL_TARGET inline Which first_row_only(const BlockGroup& blocks, int unused) {
  Vector rest = zero();
#pragma GCC unroll 8
  for (int i = 1; i < 8; ++i) {
    if (i != unused) rest = both(rest, load(blocks.values + kRow * i));
  }
  return which_are_zero(rest);
}

/// What libjpeg's vector code does with such blocks in the first pass: the same as otherwise, but
/// what does not fit 16 bits wraps instead of saturating.
PLIMSOLL_TARGET inline void wrap(Rows& x, Vector first_row, Which which) {
  const Vector scaled_row = PLIMSOLL_WIDE(slli_epi16)(first_row, 2);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) x.r[i] = choose(which, x.r[i], scaled_row);
}

PLIMSOLL_TARGET void accurate8(std::uint8_t* const* out, std::ptrdiff_t stride, BlockGroup& blocks,
                               const BlockGroup& factors) {
  const Which flat = first_row_only(blocks, 0);
  Rows x = dequantise(blocks, factors);
  const Vector first_row = x.r[0];
  accurate_pass(x, 11);
  wrap(x, first_row, flat);
  transpose(x);
  accurate_pass(x, 18);
  store_columns(out, stride, x);
}

/// Of each block, a square with edges of Size bytes: its rows, one after the other.
template <int Size>
PLIMSOLL_TARGET inline void store_squares(std::uint8_t* const* out, std::ptrdiff_t stride,
                                          Vector bytes) {
  alignas(64) std::uint8_t rows[16 * kBlocks];
  store(rows, bytes);
#pragma GCC unroll 8
  for (int b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 8
    for (int i = 0; i < Size; ++i) {
      std::memcpy(out[b] + i * stride, rows + 16 * b + Size * i, Size);
    }
  }
}

/// From eight rows, of which the fifth does not count, to four.
PLIMSOLL_TARGET inline void reduce4_pass(Rows& x, int shift) {
  const Wide centre = widen(x.r[0], 2);
  const Wide turned = weigh(x.r[2], k1847, x.r[6], -k0765);
  const Wide even0 = centre + turned;
  const Wide even1 = centre - turned;
  // 0.211164243, 1.451774981, 2.172734803, 1.061594337
  const Wide odd1 = weigh(x.r[7], -1730, x.r[5], 11893) + weigh(x.r[3], -17799, x.r[1], 8697);
  // 0.509795579, 0.601344887, 0.899976223, 2.562915447
  const Wide odd0 = weigh(x.r[7], -4176, x.r[5], -4926) + weigh(x.r[3], k0899, x.r[1], k2562);
  x.r[0] = narrow(even0 + odd0, shift);
  x.r[3] = narrow(even0 - odd0, shift);
  x.r[1] = narrow(even1 + odd1, shift);
  x.r[2] = narrow(even1 - odd1, shift);
}

PLIMSOLL_TARGET void reduced4(std::uint8_t* const* out, std::ptrdiff_t stride, BlockGroup& blocks,
                              const BlockGroup& factors) {
  const Which flat = first_row_only(blocks, 4);
  Rows x = dequantise(blocks, factors);
  const Vector first_row = x.r[0];
  reduce4_pass(x, 12);
  wrap(x, first_row, flat);
#pragma GCC unroll 8
  for (int i = 4; i < 8; ++i) x.r[i] = x.r[0];
  transpose(x);
  reduce4_pass(x, 19);
  // Columns of four values each, then rows of four bytes.
  const Vector pairs0 = PLIMSOLL_WIDE(unpacklo_epi16)(x.r[0], x.r[1]);
  const Vector pairs1 = PLIMSOLL_WIDE(unpacklo_epi16)(x.r[2], x.r[3]);
  const Vector bytes = PLIMSOLL_WIDE(add_epi8)(
      PLIMSOLL_WIDE(packs_epi16)(PLIMSOLL_WIDE(unpacklo_epi32)(pairs0, pairs1),
                                 PLIMSOLL_WIDE(unpackhi_epi32)(pairs0, pairs1)),
      PLIMSOLL_WIDE(set1_epi8)(-128));
  store_squares<4>(out, stride, bytes);
}

/// What the odd ones of eight rows add to the first of two, and take from the second.
PLIMSOLL_TARGET inline Wide reduce2_odd(const Rows& x) {
  // 0.720959822, 0.850430095, 1.272758580, 3.624509785
  return weigh(x.r[7], -5906, x.r[5], 6967) + weigh(x.r[3], -10426, x.r[1], 29692);
}

PLIMSOLL_TARGET void reduced2(std::uint8_t* const* out, std::ptrdiff_t stride, BlockGroup& blocks,
                              const BlockGroup& factors) {
  Rows x = dequantise(blocks, factors);
  const Wide centre = widen(x.r[0], 1);
  const Wide odd = reduce2_odd(x);
  const Wide top = descale(centre + odd, 13);
  const Wide bottom = descale(centre - odd, 13);
  // The first column keeps its 32 bits.
  const Vector column =
      PLIMSOLL_WIDE(slli_epi32)(PLIMSOLL_WIDE(unpacklo_epi32)(top.low, bottom.low), 15);
  x.r[0] = PLIMSOLL_WIDE(packs_epi32)(top.low, top.high);
  x.r[1] = PLIMSOLL_WIDE(packs_epi32)(bottom.low, bottom.high);
#pragma GCC unroll 8
  for (int i = 2; i < 8; ++i) x.r[i] = x.r[0];
  transpose(x);
  const Wide across = reduce2_odd(x);
  const Wide base{column, column};
  const Vector bytes = PLIMSOLL_WIDE(add_epi8)(
      PLIMSOLL_WIDE(packs_epi16)(
          PLIMSOLL_WIDE(unpacklo_epi16)(narrow(base + across, 20), narrow(base - across, 20)),
          column),
      PLIMSOLL_WIDE(set1_epi8)(-128));
  store_squares<2>(out, stride, bytes);
}
