#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>

#include "data/image/jpeg_rows.h"
#include "data/image/jpeg_scan.h"
#include "data/image_mutation.h"

namespace plimsoll::image::testing {
namespace {

struct Planes {
  std::array<std::vector<std::uint8_t>, 3> samples;
  std::array<int, 3> widths{};
};

/// A session for planes at eighths/8, with all the memory it could want.
class PlaneSession {
 public:
  PlaneSession(const File& file, int eighths, Dct dct)
      : info_(probe(file)), workspace_(scratch_, MiB(8)), session_(file, info_, workspace_) {
    jpeg_decompress_struct& cinfo = session_.info();
    cinfo.raw_data_out = TRUE;
    cinfo.dct_method = dct_method(dct);
    cinfo.scale_num = static_cast<unsigned>(eighths);
    cinfo.scale_denom = 8;
    session_.calculate_dimensions();
  }
  JpegSession& session() { return session_; }
  Workspace& workspace() { return workspace_; }
  int components() { return session_.info().num_components; }
  const jpeg_component_info& component(int i) { return session_.info().comp_info[i]; }
  int strips() {
    const jpeg_decompress_struct& cinfo = session_.info();
    const int high = cinfo.max_v_samp_factor * 8;
    return (static_cast<int>(cinfo.image_height) + high - 1) / high;
  }
  int strip_rows(int i) { return component(i).v_samp_factor * block_size(component(i)); }
  int stride(int i) {
    return static_cast<int>(component(i).width_in_blocks) * block_size(component(i));
  }
  /// Rows of blocks that the picture has in a strip; libjpeg leaves others as they were.
  int block_rows(int i, int strip) {
    const int factor = component(i).v_samp_factor;
    return std::min(factor, static_cast<int>(component(i).height_in_blocks) - strip * factor);
  }

 private:
  CountingScratch scratch_;
  ImageInfo info_;
  Workspace workspace_;
  JpegSession session_;
};

Planes empty_planes(PlaneSession& s) {
  Planes planes;
  for (int i = 0; i < s.components(); ++i) {
    planes.widths[static_cast<std::size_t>(i)] = s.stride(i);
    planes.samples[static_cast<std::size_t>(i)].resize(
        static_cast<std::size_t>(s.stride(i)) * static_cast<std::size_t>(s.strip_rows(i)) *
            static_cast<std::size_t>(s.strips()),
        77);
  }
  return planes;
}

Planes planes_of_libjpeg(const File& file, int eighths, Dct dct) {
  PlaneSession s(file, eighths, dct);
  Planes planes = empty_planes(s);
  s.session().start();
  for (int strip = 0; strip < s.strips(); ++strip) {
    std::array<std::vector<JSAMPROW>, 3> rows;
    std::array<JSAMPARRAY, 3> arrays{};
    // libjpeg may write past the picture's width; only the part inside counts.
    std::array<std::vector<JSAMPLE>, 3> wide;
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.components()); ++i) {
      const int n = static_cast<int>(i);
      const auto stride = static_cast<std::size_t>(s.stride(n)) + 64;
      wide[i].resize(stride * static_cast<std::size_t>(s.strip_rows(n)));
      for (int r = 0; r < s.strip_rows(n); ++r) {
        rows[i].push_back(wide[i].data() + static_cast<std::size_t>(r) * stride);
      }
      arrays[i] = rows[i].data();
    }
    s.session().read_planes(arrays.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.components()); ++i) {
      const int n = static_cast<int>(i);
      const int count = s.block_rows(n, strip) * block_size(s.component(n));
      for (int r = 0; r < count; ++r) {
        std::copy_n(rows[i][static_cast<std::size_t>(r)], s.stride(n),
                    planes.samples[i].begin() +
                        static_cast<std::ptrdiff_t>(strip * s.strip_rows(n) + r) * s.stride(n));
      }
    }
  }
  s.session().finish();
  return planes;
}

/// Nothing if the scan gave up.
std::optional<Planes> planes_of_scan(const File& file, int eighths, Dct dct,
                                     const JpegTransforms* transforms = jpeg_transforms()) {
  PlaneSession s(file, eighths, dct);
  JpegScan scan(s.session(), dct, s.workspace(), transforms);
  if (!scan.ready()) return std::nullopt;
  Planes planes = empty_planes(s);
  std::array<std::vector<std::uint8_t>, 3> marks;
  for (int i = 0; i < s.components(); ++i) {
    auto& mark = marks[static_cast<std::size_t>(i)];
    mark.resize(static_cast<std::size_t>(scan.padded_columns(i)));
    std::fill_n(mark.begin(), s.component(i).width_in_blocks, std::uint8_t{1});
  }
  for (int strip = 0; strip < s.strips(); ++strip) {
    std::array<JpegScan::Target, 3> targets;
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.components()); ++i) {
      const int n = static_cast<int>(i);
      targets[i].samples = planes.samples[i].data() +
                           static_cast<std::ptrdiff_t>(strip * s.strip_rows(n)) * s.stride(n);
      targets[i].stride = s.stride(n);
      targets[i].columns = marks[i].data();
      for (int r = 0; r < s.block_rows(n, strip); ++r) {
        targets[i].rows[static_cast<std::size_t>(r)] = true;
      }
    }
    if (!scan.read(targets)) return std::nullopt;
  }
  if (!scan.finish()) return std::nullopt;
  return planes;
}

void expect_same_planes(const File& file) {
  for (const int eighths : {8, 4, 2, 1}) {
    for (const Dct dct : {Dct::fast, Dct::accurate}) {
      SCOPED_TRACE(std::to_string(eighths) + (dct == Dct::fast ? "/8 fast" : "/8 accurate"));
      const Planes expected = planes_of_libjpeg(file, eighths, dct);
      for (const JpegTransforms* each : {avx2_jpeg_transforms(), avx512_jpeg_transforms()}) {
        if (each == nullptr) continue;
        SCOPED_TRACE(std::to_string(each->blocks) + " blocks at a time");
        const auto own = planes_of_scan(file, eighths, dct, each);
        ASSERT_TRUE(own.has_value());
        for (std::size_t i = 0; i < 3; ++i) {
          ASSERT_EQ(own->widths[i], expected.widths[i]);
          ASSERT_TRUE(own->samples[i] == expected.samples[i]) << "component " << i;
        }
      }
    }
  }
}

bool scans_supported() { return jpeg_transforms() != nullptr; }

const std::vector<std::vector<std::array<int, 2>>> kSamplings{
    {{1, 1}, {1, 1}, {1, 1}}, {{2, 1}, {1, 1}, {1, 1}}, {{2, 2}, {1, 1}, {1, 1}},
    {{1, 2}, {1, 1}, {1, 1}}, {{4, 1}, {1, 1}, {1, 1}}, {{4, 2}, {1, 1}, {1, 1}},
    {{2, 2}, {2, 1}, {1, 2}}, {{1, 1}, {2, 2}, {1, 2}}, {{3, 1}, {1, 1}, {1, 1}},
    {{4, 1}, {2, 1}, {2, 1}}, {{2, 4}, {1, 1}, {1, 1}}, {{1, 1}}};

TEST(ImageScan, HasTheBitsOfLibjpegForEveryKindOfFile) {
  if (!scans_supported()) GTEST_SKIP() << "no AVX2";
  std::mt19937 random(5);
  for (int round = 0; round < 150; ++round) {
    JpegKind kind;
    kind.width = 1 + static_cast<int>(random() % 150);
    kind.height = 1 + static_cast<int>(random() % 100);
    kind.quality = 5 + static_cast<int>(random() % 96);
    kind.sampling = kSamplings[random() % kSamplings.size()];
    kind.restart = random() % 3 == 0 ? 1 + static_cast<int>(random() % 20) : 0;
    kind.optimized = random() % 2 == 0;
    kind.seed = static_cast<unsigned>(round);
    SCOPED_TRACE("round " + std::to_string(round) + ": " + std::to_string(kind.width) + "x" +
                 std::to_string(kind.height) + " q" + std::to_string(kind.quality));
    expect_same_planes(make_jpeg(kind));
  }
}

TEST(ImageScan, HasTheBitsOfLibjpegForScenes) {
  if (!scans_supported()) GTEST_SKIP() << "no AVX2";
  for (const bool textured : {false, true}) {
    const Scene scene{.width = 333, .height = 251, .textured = textured};
    const Pixels pixels = draw(scene);
    for (const int quality : {30, 75, 95, 100}) {
      JpegKind kind{.width = scene.width, .height = scene.height, .quality = quality};
      expect_same_planes(encode_jpeg(kind, pixels));
    }
  }
}

/// A file whose coefficients are random up to `largest`, and so are its quantization factors.
File random_coefficients(int largest, int largest_factor, double density, unsigned seed) {
  std::mt19937 random(seed);
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &buffer, &size);
  cinfo.image_width = 96;
  cinfo.image_height = 64;
#if JPEG_LIB_VERSION >= 70
  cinfo.jpeg_width = cinfo.image_width;
  cinfo.jpeg_height = cinfo.image_height;
#endif
  cinfo.input_components = 3;
  cinfo.in_color_space = JCS_YCbCr;
  jpeg_set_defaults(&cinfo);
  for (int t = 0; t < 2; ++t) {
    for (auto& factor : cinfo.quant_tbl_ptrs[t]->quantval) {
      factor = static_cast<UINT16>(1 + random() % static_cast<unsigned>(largest_factor));
    }
    cinfo.quant_tbl_ptrs[t]->quantval[0] = 1;
  }
  std::array<jvirt_barray_ptr, 3> arrays{};
  for (std::size_t i = 0; i < 3; ++i) {
    const unsigned across = i == 0 ? 12 : 6;
    const unsigned down = i == 0 ? 8 : 4;
    arrays[i] = cinfo.mem->request_virt_barray(reinterpret_cast<j_common_ptr>(&cinfo), JPOOL_IMAGE,
                                               TRUE, across, down, 2);
  }
  jpeg_write_coefficients(&cinfo, arrays.data());
  std::bernoulli_distribution present(density);
  for (std::size_t i = 0; i < 3; ++i) {
    const unsigned across = i == 0 ? 12 : 6;
    const unsigned down = i == 0 ? 8 : 4;
    for (unsigned y = 0; y < down; ++y) {
      JBLOCKARRAY row = cinfo.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&cinfo),
                                                      arrays[i], y, 1, TRUE);
      for (unsigned x = 0; x < across; ++x) {
        for (int k = 0; k < 64; ++k) {
          const int span = 2 * (k == 0 ? 900 : largest) + 1;
          const int value = static_cast<int>(random() % static_cast<unsigned>(span)) - span / 2;
          row[0][x][k] = static_cast<JCOEF>(present(random) ? value : 0);
        }
      }
    }
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
  File file(bytes, bytes + size);
  std::free(buffer);
  return file;
}

TEST(ImageScan, HasTheBitsOfLibjpegForCoefficientsThatNoPictureHas) {
  if (!scans_supported()) GTEST_SKIP() << "no AVX2";
  unsigned seed = 0;
  for (const int largest : {1, 30, 300, 1023}) {
    for (const int factor : {1, 16, 255}) {
      for (const double density : {0.03, 0.3, 1.0}) {
        SCOPED_TRACE(std::to_string(largest) + " x " + std::to_string(factor) + " at " +
                     std::to_string(density));
        expect_same_planes(random_coefficients(largest, factor, density, ++seed));
      }
    }
  }
}

TEST(ImageScan, LeavesOddFilesToLibjpeg) {
  EXPECT_FALSE(planes_of_scan(make_jpeg({.sampling = {{2, 2}}}), 8, Dct::fast).has_value());
  EXPECT_FALSE(planes_of_scan(make_jpeg({.progressive = true}), 8, Dct::fast).has_value());
  EXPECT_FALSE(planes_of_scan(make_jpeg({.arithmetic = true}), 8, Dct::fast).has_value());
  EXPECT_FALSE(planes_of_scan(make_jpeg({.separate_scans = true}), 8, Dct::fast).has_value());
  const File file = make_jpeg({});
  EXPECT_FALSE(planes_of_scan(File(file.begin(), file.end() - 20), 8, Dct::fast).has_value());
  EXPECT_FALSE(planes_of_scan(File(file.begin(), file.end() - 2), 8, Dct::fast).has_value());
}

TEST(ImageScan, StepsOverWhatStandsBeforeTheEnd) {
  if (!scans_supported()) GTEST_SKIP() << "no AVX2";
  const File file = make_jpeg({});
  for (const std::size_t count : {1U, 3U, 5'000U, 50'000U}) {
    File padded = file;
    padded.insert(padded.end() - 2, count, std::byte{0x55});
    expect_same_planes(padded);
  }
}

TEST(ImageScan, GivesUpWhereverARestartMarkerIsWrong) {
  const File file = make_jpeg({.width = 200, .height = 150, .restart = 5});
  int markers = 0;
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    const int code = std::to_integer<int>(file[i + 1]);
    if (file[i] != std::byte{0xff} || code < 0xd0 || code > 0xd7) continue;
    if (++markers % 5 != 0) continue;
    File broken = file;
    broken[i + 1] = static_cast<std::byte>(0xd0 + (code - 0xd0 + 1) % 8);
    EXPECT_FALSE(planes_of_scan(broken, 8, Dct::fast).has_value());
  }
  EXPECT_GT(markers, 10);
}

/// Whether what follows the first strip is stepped over.
bool skips_the_rest(const File& file) {
  PlaneSession s(file, 8, Dct::fast);
  JpegScan scan(s.session(), Dct::fast, s.workspace());
  const std::vector<std::uint8_t> none(static_cast<std::size_t>(scan.padded_columns(0)));
  std::array<JpegScan::Target, 3> targets;
  for (JpegScan::Target& each : targets) each.columns = none.data();
  return scan.ready() && scan.read(targets) && scan.skip_rest();
}

TEST(ImageScan, StepsOverWhatNobodyWants) {
  if (!scans_supported()) GTEST_SKIP() << "no AVX2";
  for (const int restart : {0, 7}) {
    const File file = make_jpeg({.width = 300, .height = 200, .quality = 95, .restart = restart});
    EXPECT_TRUE(skips_the_rest(file));
    File coded = file;
    for (std::size_t i = file.size() / 2; i + 100 < file.size(); ++i) {
      const bool marker = coded[i] == std::byte{0xff} || coded[i - 1] == std::byte{0xff};
      if (!marker) coded[i] = std::byte{0x12};
    }
    EXPECT_TRUE(skips_the_rest(coded)) << "whatever the data are";
    File marked = file;
    marked[file.size() - 50] = std::byte{0xff};
    marked[file.size() - 49] = std::byte{0xda};
    EXPECT_FALSE(skips_the_rest(marked)) << "another scan";
    for (const std::ptrdiff_t missing : {1, 2, 100}) {
      EXPECT_FALSE(skips_the_rest(File(file.begin(), file.end() - missing))) << missing;
    }
  }
  File restarted = make_jpeg({.width = 300, .height = 200});
  restarted[restarted.size() - 50] = std::byte{0xff};
  restarted[restarted.size() - 49] = std::byte{0xd0};
  EXPECT_FALSE(skips_the_rest(restarted)) << "no restarts were announced";
}

TEST(ImageScan, ASegmentThatIsSteppedOverLeavesOtherMemoryAlone) {
  // Where a full window ends depends on the distances of bytes that are stuffed.
  for (std::size_t distance = 1; distance < 40; ++distance) {
    std::vector<std::uint8_t> coded(30'000, 0x12);
    for (std::size_t i = distance; i + 1 < coded.size(); i += distance + 2) {
      coded[i] = 0xff;
      coded[i + 1] = 0;
    }
    coded.push_back(0xff);
    coded.push_back(0xd9);
    CountingScratch scratch;
    Workspace workspace(scratch, MiB(1));
    JpegWindow window(coded.data(), coded.data() + coded.size(), workspace);
    auto* const behind = workspace.take_array<std::uint8_t>(64);
    std::fill_n(behind, 64, std::uint8_t{7});
    window.fill(nullptr);
    window.skip_segment();
    EXPECT_EQ(window.marker(), 0xd9);
    EXPECT_EQ(std::count(behind, behind + 64, 7), 64) << "distance " << distance;
  }
}

TEST(ImageScan, DecodesEveryBlockThatTheResultNeeds) {
  std::mt19937 random(31);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 1'500; ++round) {
    const File file = make_jpeg({.width = pick(20, 160),
                                 .height = pick(20, 120),
                                 .quality = 95,
                                 .sampling = kSamplings[random() % kSamplings.size()],
                                 .seed = static_cast<unsigned>(round)});
    const ImageInfo info = probe(file);
    LoadOptions options{.height = pick(1, 9), .width = pick(1, 9)};
    options.allow_scaled = random() % 2 == 0;
    if (random() % 2 == 0) {
      options.crop.width = pick(1, info.width);
      options.crop.height = pick(1, info.height);
      options.crop.x = pick(0, info.width - options.crop.width);
      options.crop.y = pick(0, info.height - options.crop.height);
    }
    const std::vector<float> out = loaded(file, options);
    ASSERT_EQ(compare_with_libjpeg(file, info, options, &out), "")
        << "round " << round << " at " << plan_load(info, options).eighths << "/8";
  }
}

TEST(ImageScan, WhatDamagedFilesBecomeIsLibjpegsDecision) {
  std::vector<File> seeds;
  for (std::size_t i = 0; i < kSamplings.size(); ++i) {
    seeds.push_back(make_jpeg({.width = 70,
                               .height = 50,
                               .quality = 90,
                               .sampling = kSamplings[i],
                               .restart = i % 3 == 0 ? 4 : 0,
                               .optimized = i % 2 == 0}));
  }
  std::mt19937 random(77);
  int read = 0;
  for (int round = 0; round < 3'000; ++round) {
    File file = seeds[static_cast<std::size_t>(round) % seeds.size()];
    for (unsigned i = 0, count = 1 + random() % 3; i < count; ++i) {
      // Mostly the coded data, behind the tables.
      const std::size_t from = random() % 4 == 0 ? 20 : 600;
      file[from + random() % (file.size() - from)] = static_cast<std::byte>(random());
    }
    LoadOptions options{.height = 1 + static_cast<int>(random() % 30),
                        .width = 1 + static_cast<int>(random() % 30),
                        .dct = random() % 2 == 0 ? Dct::fast : Dct::accurate,
                        .allow_scaled = random() % 2 == 0};
    if (random() % 2 == 0) options.crop = {8, 5, 40, 31};
    try {
      const ImageInfo info = probe(file, {.max_pixels = 1 << 20});
      if (info.width < 48 || info.height < 36) continue;
      std::vector<float> out(static_cast<std::size_t>(options.height * options.width * 3));
      CountingScratch scratch;
      bool failed = false;
      try {
        load(file, info, options, scratch, out.data());
        ++read;
      } catch (const DataError&) {
        failed = true;
      }
      ASSERT_EQ(compare_with_libjpeg(file, info, options, failed ? nullptr : &out), "")
          << "round " << round;
    } catch (const DataError&) {
      // The header is broken.
    }
  }
  EXPECT_GT(read, 1'000);
}

}  // namespace
}  // namespace plimsoll::image::testing
