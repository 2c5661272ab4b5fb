#pragma once

#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "data/record_support.h"
#include "data/records/tfrecord.h"

namespace plimsoll::data::testing {

/// A format whose files are to be damaged: files to begin from, and how to read one.
struct DamagedFormat {
  const char* name;
  /// The damaged file's name, and files that must lie beside it.
  std::string file;
  std::vector<std::pair<std::string, std::string>> beside;
  std::vector<std::string> seeds;
  std::function<Dataset(const std::string& folder)> open;
  std::int64_t batch = 0;  ///< rows; 0: elements one by one
};

/// Records of which every second one is read to memory of its own.
inline std::string large_tfrecords() {
  std::string file;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string record(i % 2 == 0 ? 100 + i : 9'000 + i, static_cast<char>('a' + i));
    file +=
        tfrecord_head(record.size()) + record + tfrecord_tail(record.data(), Bytes{record.size()});
  }
  return file;
}

inline std::vector<DamagedFormat> damaged_formats() {
  const auto path = [](const std::string& folder, const char* name) { return folder + "/" + name; };
  const Features example = {{"image", DType::bytes},
                            {"label", DType::i64, {}, Value(std::int64_t{0})},
                            {"floats", DType::f32, {3}},
                            {"tokens", DType::i64, {kAnyExtent}},
                            {"texts", DType::bytes, {kAnyExtent}}};
  const Features sample = {{"__key__", DType::bytes},
                           {"jpg", DType::bytes},
                           {"cls", DType::i64},
                           {"npy", DType::f32, {kAnyExtent, 3}}};
  std::vector<std::pair<std::string, std::string>> shards;
  for (const auto& entry : std::filesystem::directory_iterator(records_folder() / "mds")) {
    shards.emplace_back(entry.path().filename().string(), bytes_of(entry.path()));
  }
  const auto csv = [](const std::string& text) { return text; };
  const auto tfrecords = [=](bool verify) {
    return [=](const std::string& folder) {
      return Dataset::tfrecords(path(folder, "a.tfrecord"), example, {.verify = verify});
    };
  };
  return {
      // Contents are reached only where their checksum is not looked at.
      {"tfrecord", "a.tfrecord", {}, {bytes_of(recorded("examples.tfrecord"))}, tfrecords(false)},
      {"tfrecord, verified",
       "a.tfrecord",
       {},
       {bytes_of(recorded("examples.tfrecord"))},
       tfrecords(true)},
      {"tfrecord rows",
       "a.tfrecord",
       {},
       {bytes_of(recorded("examples.tfrecord"))},
       [=](const std::string& folder) {
         return Dataset::tfrecords(path(folder, "a.tfrecord"),
                                   {{"image", DType::bytes},
                                    {"label", DType::i64, {}, Value(std::int64_t{0})},
                                    {"floats", DType::f32, {3}}},
                                   {.verify = false});
       },
       3},
      {"tfrecord large",
       "a.tfrecord",
       {},
       {large_tfrecords()},
       [=](const std::string& folder) {
         return Dataset::tfrecords(path(folder, "a.tfrecord"), {}, {.verify = false});
       }},
      {"tfrecord gzip",
       "a.tfrecord",
       {},
       {bytes_of(recorded("examples.gzip.tfrecord"))},
       tfrecords(false)},
      {"tfrecord zlib",
       "a.tfrecord",
       {},
       {bytes_of(recorded("examples.zlib.tfrecord"))},
       tfrecords(false)},
      {"webdataset",
       "a.tar",
       {},
       {bytes_of(recorded("webdataset.tar")).substr(0, 16'384), bytes_of(recorded("gnu.tar")),
        bytes_of(recorded("pax.tar"))},
       [=](const std::string& folder) {
         return Dataset::webdataset(path(folder, "a.tar"), sample);
       }},
      {"mds",
       "shard.00000.mds",
       shards,
       {bytes_of(records_folder() / "mds/shard.00000.mds")},
       [](const std::string& folder) { return Dataset::mds(folder); }},
      {"mds index",
       "index.json",
       shards,
       {bytes_of(records_folder() / "mds/index.json")},
       [](const std::string& folder) { return Dataset::mds(folder); }},
      {"csv",
       "a.csv",
       {},
       {csv("a,b,c\n1,2.5,\"x\"\"y\"\n3,-4e3,\n\n5,6,\"two\nlines\"\n"),
        csv("\xEF\xBB\xBF\"a\",b,c\r\n1,2,3\r\n")},
       [=](const std::string& folder) { return Dataset::csv(path(folder, "a.csv")); }},
      {"fixed",
       "a.bin",
       {},
       {std::string(100, 'x')},
       [=](const std::string& folder) {
         return Dataset::fixed_records(path(folder, "a.bin"),
                                       {{"a", DType::i32}, {"b", DType::boolean, {3}}},
                                       {.header_bytes = 3, .footer_bytes = 2});
       }},
      {"text",
       "a.txt",
       {},
       {"one line\nanother\r\n\nthe last without an end", std::string(300, 'x') + "\n"},
       [=](const std::string& folder) { return Dataset::text_lines({path(folder, "a.txt")}); }},
  };
}

/// The one of that name.
inline DamagedFormat damaged_format(const std::string& name) {
  for (const DamagedFormat& format : damaged_formats()) {
    if (format.name == name) return format;
  }
  throw InvalidArgument("there is no format " + name);
}

/// A few random changes: bits, bytes, numbers, pieces cut out, doubled or moved, the end cut off or
/// lengthened.
inline std::string mutate(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t i = 0, count = 1 + below(4); i < count && !text.empty(); ++i) {
    const std::size_t at = below(text.size());
    const std::size_t length = std::min<std::size_t>(1 + below(40), text.size() - at);
    switch (random() % 9) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
      case 2:
        text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      case 3: {
        const auto digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + random() % 10);
        break;
      }
      case 4:
        text.erase(at, length);
        break;
      case 5:
        text.insert(below(text.size()), text.substr(at, length));
        break;
      case 6:
        for (std::size_t k = at; k < at + std::min<std::size_t>(length, 8); ++k) {
          text[k] = static_cast<char>(random() % 3 == 0 ? 0xFF : random() % 2 == 0 ? 0x80 : 0);
        }
        break;
      case 7:
        text += text.substr(at, length);
        break;
      default:
        if (random() % 3 == 0) text.resize(at);
    }
  }
  return text;
}

/// Reads a damaged file to its end. Empty if it ended in elements and DataErrors that name a file
/// and an offset, within the budget; else what is wrong.
class RecordCheck {
 public:
  std::string operator()(const DamagedFormat& format, const std::string& text,
                         std::uint32_t choice) {
    for (const auto& [name, bytes] : format.beside) folder_.write(name, bytes);
    folder_.write(format.file, text);
    std::string wrong;
    try {
      wrong = read(format, choice);
    } catch (const DataError& error) {
      wrong = names_file(error.what()) ? "" : std::string("the file is not named: ") + error.what();
    } catch (const std::exception& error) {
      wrong = std::string("not a DataError: ") + error.what();
    }
    if (wrong.empty() && device_.budget().ledger().live() != 0) wrong = "memory was kept";
    return wrong.empty() ? "" : std::string(format.name) + ": " + wrong;
  }

 private:
  bool names_file(const std::string& text) const {
    return text.find(folder_.path().string()) != std::string::npos;
  }
  std::string read(const DamagedFormat& format, std::uint32_t choice) {
    Dataset dataset = format.open(folder_.path());
    // Where nobody has counted them, there is one for each byte at most.
    const std::int64_t most =
        dataset.cardinality() >= 0
            ? dataset.cardinality()
            : static_cast<std::int64_t>(std::filesystem::file_size(folder_.path() / format.file));
    if (choice % 3 == 0) dataset = dataset.shuffle(5);
    if (choice % 3 == 1) dataset = dataset.ignore_errors();
    if (format.batch > 0) dataset = dataset.batch(format.batch);
    Pipeline pipeline(dataset, device_, {.limit = MiB(2), .name = "records"});
    std::int64_t units = 0;
    for (; units <= most; ++units) {
      try {
        const auto element = pipeline.next();
        if (!element) break;
        text_of(*element);  // reads all of it
      } catch (const DataError& error) {
        const std::string what = error.what();
        if (!names_file(what) || what.find("offset") == std::string::npos) {
          return "no file or offset: " + what;
        }
      }
    }
    if (units > most) return "more elements than there are records";
    return pipeline.budget().peak() > MiB(2) ? "took more than the budget" : "";
  }

  TemporaryFolder folder_;
  Device device_ = host(MiB(16));
};

/// Runs `count` mutations of each format; returns a description of the first that fails.
inline std::string fuzz_records(int count, unsigned seed) {
  RecordCheck check;
  for (const DamagedFormat& format : damaged_formats()) {
    std::mt19937 random(seed);
    for (int i = 0; i < count; ++i) {
      const auto round = static_cast<unsigned>(random());
      std::mt19937 own(round);
      const std::string text =
          mutate(format.seeds[static_cast<std::size_t>(i) % format.seeds.size()], own);
      const std::string wrong = check(format, text, round);
      if (!wrong.empty()) {
        return "input " + std::to_string(i) + " of seed " + std::to_string(seed) + ": " + wrong;
      }
    }
  }
  return {};
}

}  // namespace plimsoll::data::testing
