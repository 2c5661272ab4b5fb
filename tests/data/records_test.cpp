// WebDataset, MDS, CSV and records of one size: read as their own writers wrote them, and written.

#include <gmock/gmock.h>

#include <plimsoll/data/record_writer.h>

#include "data/record_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string features_of(const Features& features) {
  std::string text;
  for (const Feature& each : features) text += each.name + " " + each.spec.to_string() + "; ";
  return text;
}

const std::vector<std::string> kSample = {"__key__", "jpg", "cls", "npy", "info.txt"};

Features sample_features() {
  return {{"__key__", DType::bytes},
          {"jpg", DType::bytes},
          {"cls", DType::i64},
          {"npy", DType::f32, {kAnyExtent, 3}},
          {"info.txt", DType::bytes}};
}

TEST(WebDataset, ReadsWhatWebdatasetWrote) {
  const Dataset set = Dataset::webdataset(recorded("webdataset.tar"), sample_features());
  EXPECT_EQ(set.cardinality(), 12);
  EXPECT_EQ(json_rows(set), only(recorded_json("webdataset.json"), kSample));
  EXPECT_EQ(features_of(webdataset_features(recorded("webdataset.tar"))),
            "jpg bytes []; cls i64 []; info.txt bytes []; json bytes []; npy f32 [?,3]; ");
  auto shuffled = json_rows(set.shuffle(), {.seed = 2});
  ASSERT_EQ(shuffled.size(), 12U);
  std::sort(shuffled.begin(), shuffled.end(), [](const auto& a, const auto& b) {
    return a.at("__key__").template get<std::string>() <
           b.at("__key__").template get<std::string>();
  });
  EXPECT_EQ(shuffled, only(recorded_json("webdataset.json"), kSample));
}

TEST(WebDataset, ReadsLongNamesOfEveryKind) {
  const auto expected = only(recorded_json("webdataset.json"), {"jpg"});
  for (const char* name : {"gnu.tar", "pax.tar", "ustar.tar"}) {
    SCOPED_TRACE(name);
    const Dataset set =
        Dataset::webdataset(recorded(name), {{"__key__", DType::bytes}, {"bin", DType::bytes}});
    const auto rows = json_rows(set);
    ASSERT_EQ(rows.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rows[i]["bin"], expected[i]["jpg"]);
  }
  const auto rows =
      json_rows(Dataset::webdataset(recorded("pax.tar"), {{"__key__", DType::bytes}}));
  EXPECT_EQ(rows[2]["__key__"],
            hex("deep/" + std::string(120, 'x') + "/" + std::string(130, 'y') + "2"));
}

TEST(WebDataset, WritesWhatItReads) {
  const TemporaryFolder folder;
  const Device device = host();
  const Dataset set = Dataset::webdataset(recorded("webdataset.tar"), sample_features());
  const auto written =
      write_records(set, folder.path(), device, {.format = RecordKind::webdataset, .shards = 3});
  EXPECT_EQ(written.files.size(), 3U);
  const Dataset again =
      Dataset::webdataset((folder.path() / "shard-{00000..00002}.tar").string(), sample_features());
  EXPECT_EQ(json_rows(again), json_rows(set));
}

TEST(WebDataset, AlternativesDefaultsAndMistakes) {
  const std::string tar = recorded("webdataset.tar");
  EXPECT_EQ(json_rows(Dataset::webdataset(tar, {{"png;jpg", DType::bytes}})).size(), 12U);
  const Dataset missing =
      Dataset::webdataset(tar, {{"none", DType::i64, {}, Value(std::int64_t{4})}});
  EXPECT_EQ(numbers(missing).front(), 4);
  EXPECT_THAT(
      run(Dataset::webdataset(tar, {{"none", DType::i64}})).at(0),
      HasSubstr("webdataset.tar: record 0 at offset 0: sample \"set/0000\": feature \"none\" "
                "is missing"));
  EXPECT_THAT(run(Dataset::webdataset(tar, {{"json", DType::i64}})).at(0),
              HasSubstr("cannot be read as i64"));
  EXPECT_THAT(message_of([&] {
                Dataset::webdataset(tar, {{"jpg", DType::u8, {3}}});
              }),
              HasSubstr("\"jpg\" is u8 [3]; a member is bytes"));
}

TEST(WebDataset, AnArchiveThatBreaksOffGivesItsWholeSamples) {
  const TemporaryFolder folder;
  const std::string tar = bytes_of(recorded("webdataset.tar"));
  folder.write("a.tar", tar.substr(0, tar.size() / 2 + 100));
  const auto out =
      run(Dataset::webdataset((folder.path() / "a.tar").string(), {{"cls", DType::i64}}));
  ASSERT_GT(out.size(), 3U);
  EXPECT_EQ(out[0], "(0)");
  EXPECT_THAT(out.back(), HasSubstr("a.tar: record"));
  EXPECT_THAT(out.back(), HasSubstr("cut off"));
  // A flipped byte in a header.
  std::string flipped = tar;
  flipped[1024] = static_cast<char>(flipped[1024] ^ 1);
  folder.write("a.tar", flipped);
  EXPECT_THAT(
      run(Dataset::webdataset((folder.path() / "a.tar").string(), {{"cls", DType::i64}})).at(0),
      HasSubstr("offset 1024: its header does not match its checksum"));
}

const std::vector<std::string> kColumns = {"data", "id", "name", "score", "small", "wide"};

TEST(Mds, ReadsWhatStreamingWrote) {
  const Dataset set = Dataset::mds(recorded("mds"));
  EXPECT_EQ(set.cardinality(), 15);
  EXPECT_EQ(set.element_spec().names, kColumns);
  EXPECT_EQ(json_rows(set), only(recorded_json("mds.json"), kColumns));
  EXPECT_EQ(json_rows(Dataset::mds(recorded("mds"), {"name", "id"})),
            only(recorded_json("mds.json"), {"name", "id"}));
  EXPECT_EQ(features_of(mds_columns(recorded("mds"))),
            "data bytes []; id i64 []; name bytes []; score f32 []; small u8 []; wide f64 []; ");
  EXPECT_THAT(message_of([] { Dataset::mds(recorded("mds"), {"nope"}); }),
              HasSubstr("has no column \"nope\"; it has data, id"));
}

TEST(Mds, WritesWhatItReads) {
  const TemporaryFolder folder;
  const Device device = host();
  const Dataset set = Dataset::mds(recorded("mds"));
  const auto written =
      write_records(set, folder.path(), device, {.format = RecordKind::mds, .shards = 2});
  EXPECT_EQ(written.files.size(), 2U);
  EXPECT_EQ(json_rows(Dataset::mds(folder.path())), json_rows(set));
}

TEST(Mds, WhatItCannotReadIsNamed) {
  const TemporaryFolder folder;
  const std::string json = bytes_of(records_folder() / "mds/index.json");
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string changed = json;
    changed.replace(changed.find(from), from.size(), to);
    folder.write("index.json", changed);
    return message_of([&] { Dataset::mds(folder.path()); });
  };
  EXPECT_THAT(refusal("\"float64\"", "\"pkl\""), HasSubstr("is encoded as pkl"));
  EXPECT_THAT(refusal("\"compression\": null", "\"compression\": \"zstd\""),
              HasSubstr("its shards are compressed (\"zstd\")"));
  EXPECT_THAT(refusal("shard.00000.mds", "../../etc/passwd"), HasSubstr("a shard is called"));
  EXPECT_THAT(refusal("\"version\": 2", "\"version\": 3"), HasSubstr("version 3"));
  EXPECT_THAT(refusal("{\"shards\"", "{"), HasSubstr("index.json"));
  EXPECT_THAT(refusal("[null, 8,", "[null, 9,"),
              HasSubstr("column \"id\" is int with a size of 9"));
}

TEST(Csv, ReadsQuotesHeadersAndTypes) {
  const TemporaryFolder folder;
  folder.write("a.csv",
               "\xEF\xBB\xBFname,age,height,\"a \"\"note\"\"\"\r\n"
               "\"Smith, J.\",31,1.75,\"two\nlines\"\r\n"
               "\r\n"
               "Ann,-4,2,\r\n"
               "\"\",0,1e3,\"say \"\"hi\"\"\"");
  const std::string path = folder.path() / "a.csv";
  EXPECT_EQ(features_of(csv_columns(path)),
            "name bytes []; age i64 []; height f32 []; a \"note\" bytes []; ");
  EXPECT_THAT(run(Dataset::csv(path)),
              ElementsAre("'Smith, J.' (31) (1.75) 'two\nlines'", "'Ann' (-4) (2) ''",
                          "'' (0) (1000) 'say \"hi\"'"));
  EXPECT_THAT(run(Dataset::csv(path, {{"height", DType::f64}, {"name", DType::bytes}})),
              ElementsAre("(1.75) 'Smith, J.'", "(2) 'Ann'", "(1000) ''"));
  EXPECT_THAT(run(Dataset::csv(path, {{"age", DType::i64}}).shuffle({.seed = 3}).shuffle(3)).size(),
              3U);
  EXPECT_THAT(message_of([&] {
                Dataset::csv(path, {{"none", DType::i64}});
              }),
              HasSubstr("a.csv: no column \"none\" in its header"));
}

TEST(Csv, WithoutAHeaderAndWithOtherDelimiters) {
  const TemporaryFolder folder;
  folder.write("a.tsv", "1\t2.5\tx\n3\t\ty\n\n\n");
  const Features columns = {
      {"a", DType::i64}, {"b", DType::f32, {}, Value(-1.0F)}, {"c", DType::bytes}};
  const CsvOptions options{.delimiter = '\t', .header = false};
  EXPECT_THAT(run(Dataset::csv((folder.path() / "a.tsv").string(), columns, options)),
              ElementsAre("(1) (2.5) 'x'", "(3) (-1) 'y'"));
  EXPECT_EQ(features_of(csv_columns((folder.path() / "a.tsv").string(), options)),
            "0 i64 []; 1 f32 []; 2 bytes []; ");
}

TEST(Csv, BadRowsAreNamedWithFileAndOffset) {
  const TemporaryFolder folder;
  folder.write("a.csv", "n,m\n1,2\n3\nx,5\n7,\"8\" 9\n10,\"open\n");
  const auto out = run(
      Dataset::csv((folder.path() / "a.csv").string(), {{"n", DType::i64}, {"m", DType::bytes}}));
  ASSERT_EQ(out.size(), 5U);
  EXPECT_EQ(out[0], "(1) '2'");
  EXPECT_THAT(out[1],
              HasSubstr("a.csv: record 1 at offset 8: it has 1 field, but there are 2 columns"));
  EXPECT_THAT(out[2],
              HasSubstr("record 2 at offset 10: \"n\" is \"x\", which cannot be read as i64"));
  EXPECT_THAT(out[3], HasSubstr("something follows the quote"));
  EXPECT_THAT(out[4], HasSubstr("a quote is not closed before the end of the file"));
}

TEST(FixedRecords, AreReadByTheirLayout) {
  const TemporaryFolder folder;
  std::string file = "head";
  for (unsigned char i = 0; i < 5; ++i) {
    file += {static_cast<char>(i), 0, static_cast<char>(i + 1), 1, 2, 3};
  }
  folder.write("a.bin", file);
  const Features layout = {{"label", DType::u8}, {"value", DType::u16}, {"pixels", DType::u8, {3}}};
  const Dataset set = Dataset::fixed_records((folder.path() / "a.bin").string(), layout,
                                             {.header_bytes = 4, .big_endian = true});
  EXPECT_EQ(set.cardinality(), 5);
  const auto out = run(set);
  ASSERT_EQ(out.size(), 5U);
  EXPECT_THAT(out[2], HasSubstr("(2) (3) [1 2 3]"));
  folder.write("a.bin", file + "x");
  const auto cut =
      run(Dataset::fixed_records((folder.path() / "a.bin").string(), layout, {.header_bytes = 4}));
  ASSERT_EQ(cut.size(), 6U);
  EXPECT_THAT(cut[5], HasSubstr("record 5 at offset 34: 1 bytes are left of records of 6"));
  EXPECT_THROW(Dataset::fixed_records((folder.path() / "a.bin").string(), {{"a", DType::bytes}}),
               InvalidArgument);
}

TEST(TextLines, TakesPatterns) {
  const TemporaryFolder folder;
  folder.write("a-1.txt", "one\ntwo\n");
  folder.write("a-2.txt", "three");
  EXPECT_THAT(run(Dataset::text_lines({(folder.path() / "a-{1..2}.txt").string()})),
              ElementsAre("'one'", "'two'", "'three'"));
}

TEST(SavedDataset, IsLoadedAsItWasAndCanBeShuffled) {
  const TemporaryFolder folder;
  const Device device = host();
  const Dataset set = Dataset::webdataset(recorded("webdataset.tar"), sample_features());
  const std::string path = folder.path() / "saved";
  EXPECT_EQ(save(set, path, device), 12);
  const Dataset loaded = Dataset::load(path);
  EXPECT_EQ(loaded.element_spec(), set.element_spec());
  EXPECT_EQ(json_rows(loaded), json_rows(set));
  EXPECT_EQ(json_rows(loaded.shuffle()).size(), 12U);
  EXPECT_EQ(save(set.take(3), path, device), 3) << "in place of what was there";
  EXPECT_EQ(Dataset::load(path).cardinality(), 3);
  std::string bytes = bytes_of(folder.path() / "saved/elements-00000");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  folder.write("saved/elements-00000", bytes);
  EXPECT_THAT(message_of([&] { json_rows(Dataset::load(path)); }), HasSubstr("elements-00000"));
  EXPECT_THAT(message_of([&] { Dataset::load(folder.path()); }), HasSubstr("save() writes it"));
}

}  // namespace
}  // namespace plimsoll::data::testing
