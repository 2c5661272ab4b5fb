#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "data/pipeline_support.h"
#include "support/source_dir.h"

namespace plimsoll::data::testing {

inline std::filesystem::path npy_folder() { return test_source_dir() / "data/recorded/npy"; }

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The header of version 1 that has `dictionary` in it, then `data`.
inline std::string npy_text(const std::string& dictionary, const std::string& data) {
  const auto length = static_cast<unsigned>(dictionary.size());
  std::string text = "\x93NUMPY";
  text += {'\x01', '\0', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  return text + dictionary + data;
}

/// Files of every kind to start from, in the order of their names.
inline std::vector<std::string> npy_seeds() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(npy_folder())) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) seeds.push_back(file_text(path));
  return seeds;
}

/// A few random changes, mostly to the header: bytes, digits, words of the format, pieces cut out,
/// doubled or moved, the end cut off.
inline std::string mutate_npy(std::string text, std::mt19937& random) {
  static const std::vector<std::string> kWords = {"(",
                                                  ")",
                                                  ",",
                                                  "'",
                                                  "{",
                                                  "}",
                                                  ":",
                                                  "True",
                                                  "False",
                                                  "descr",
                                                  "shape",
                                                  "fortran_order",
                                                  "'<f4'",
                                                  "'>i8'",
                                                  "'|O'",
                                                  "'S0'",
                                                  "'S9'",
                                                  "'|b1'",
                                                  "0",
                                                  "-1",
                                                  "4294967296",
                                                  "9223372036854775807",
                                                  "99999999999999999999",
                                                  "(0, 1000000000000)",
                                                  "L",
                                                  "\\",
                                                  "[('a', 1)]",
                                                  "\"",
                                                  "1e9",
                                                  std::string(70, '(')};
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t i = 0, count = 1 + below(4); i < count && !text.empty(); ++i) {
    const std::size_t at =
        below(random() % 4 == 0 ? text.size() : std::min<std::size_t>(text.size(), 90));
    const std::size_t length = std::min<std::size_t>(1 + below(12), text.size() - at);
    switch (random() % 9) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      case 2: {
        const auto digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + random() % 10);
        break;
      }
      case 3:
        text.replace(at, length, kWords[below(kWords.size())]);
        break;
      case 4:
        text.insert(at, kWords[below(kWords.size())]);
        break;
      case 5:
        text.erase(at, length);
        break;
      case 6:
        text.insert(below(text.size()), text.substr(at, length));
        break;
      case 7:
        text[std::min<std::size_t>(text.size() - 1, 6 + below(6))] =
            static_cast<char>(random() % 4);
        break;
      default:
        if (random() % 4 == 0) text.resize(at);
    }
  }
  return text;
}

/// Reads any bytes at all in a way that `choice` decides. Empty if it ended in DataError or in
/// elements that are what the spec says, within the budget; else what is wrong.
class NpyCheck {
 public:
  std::string operator()(const std::string& text, std::uint32_t choice) {
    folder_.write("a.npy", text);
    const std::string path = folder_.path() / "a.npy";
    std::string wrong;
    try {
      wrong = read(path, choice);
    } catch (const DataError& error) {
      if (std::string(error.what()).find("a.npy") == std::string::npos) {
        wrong = std::string("the file is not named: ") + error.what();
      }
    } catch (const std::exception& error) {
      wrong = std::string("not a DataError: ") + error.what();
    }
    if (wrong.empty() && device_.budget().ledger().live() != 0) wrong = "memory was kept";
    return wrong;
  }

 private:
  std::string read(const std::string& path, std::uint32_t choice) {
    Dataset dataset = choice % 3 == 0 ? Dataset::from_npy({path, path}) : Dataset::from_npy(path);
    if (choice % 2 == 0) dataset = dataset.shuffle({});
    Pipeline pipeline(dataset, device_, {.limit = MiB(1), .name = "npy"});
    std::int64_t count = 0;
    while (const auto element = pipeline.next()) {
      if (!dataset.element_spec().components.at(0).admits(TensorSpec::of(element->at(0)))) {
        return element->to_string() + " is not " + dataset.element_spec().to_string();
      }
      text_of(*element);  // reads all of it
      if (++count == 50) return {};
    }
    if (pipeline.budget().peak() > MiB(1)) return "took more than the budget";
    return count == dataset.cardinality() ? "" : "the count is wrong";
  }

  TemporaryFolder folder_;
  Device device_ = host(MiB(8));
};

/// Runs `count` mutations of the seeds; returns a description of the first that fails.
inline std::string fuzz_npy(int count, unsigned seed) {
  const std::vector<std::string> seeds = npy_seeds();
  NpyCheck check;
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    const auto round = static_cast<unsigned>(random());
    std::mt19937 own(round);
    const std::string text = mutate_npy(seeds[static_cast<std::size_t>(i) % seeds.size()], own);
    const std::string wrong = check(text, round);
    if (!wrong.empty()) {
      return "input " + std::to_string(i) + " of seed " + std::to_string(seed) + ": " + wrong;
    }
  }
  return {};
}

}  // namespace plimsoll::data::testing
