#include <plimsoll/train/choices_file.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/printable.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/device/choice_table.h>

#include "train/atomic_file.h"

namespace plimsoll::train {
namespace {

using ChoicesJson = nlohmann::ordered_json;

/// Escapes and spaces may make a file longer than what it holds.
constexpr Bytes kLongestFile = 4 * ChoiceTable::kMost;

/// nlohmann keeps one of two equal names without a word.
ChoicesJson parse_once_named(std::string_view text) {
  std::vector<std::set<std::string>> names;
  std::string twice;
  const auto watch = [&](int, ChoicesJson::parse_event_t event, ChoicesJson& parsed) {
    if (event == ChoicesJson::parse_event_t::object_start) names.emplace_back();
    if (event == ChoicesJson::parse_event_t::object_end) names.pop_back();
    if (event == ChoicesJson::parse_event_t::key &&
        !names.back().insert(parsed.get<std::string>()).second && twice.empty()) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  ChoicesJson json = ChoicesJson::parse(text, watch);
  if (!twice.empty()) throw DataError(fmt::format("'{}' is there twice", printable(twice)));
  return json;
}

bool is_text(const std::string& text) {
  return std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
}

std::string text_at(const ChoicesJson& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  auto text = found->get<std::string>();
  if (!is_text(text)) throw DataError(fmt::format("'{}' is not printable text", name));
  return text;
}

}  // namespace

ChoicesFile choices_file(const Device& device, Choices choices) {
  return {.backend = device.backend().name,
          .device = device.info().description,
          .libraries = choosing_libraries(device),
          .choices = std::move(choices)};
}

std::string to_json(const ChoicesFile& file) {
  return ChoicesJson{{"backend", file.backend},
                     {"device", file.device},
                     {"libraries", file.libraries},
                     {"choices", file.choices}}
             .dump(1, ' ', false, ChoicesJson::error_handler_t::replace) +
         "\n";
}

ChoicesFile parse_choices(std::string_view text) {
  if (text.size() > kLongestFile) {
    throw DataError(fmt::format("it has {}, and choices take at most {}", format_bytes(text.size()),
                                format_bytes(kLongestFile)));
  }
  try {
    const ChoicesJson json = parse_once_named(text);
    ChoicesFile file{.backend = json.at("backend").get<std::string>(),
                     .device = text_at(json, "device"),
                     .libraries = text_at(json, "libraries"),
                     .choices = json.at("choices").get<Choices>()};
    Bytes bytes = 0;
    for (const auto& [key, choice] : file.choices) {
      if (key.empty() || !is_text(key) || !is_text(choice)) {
        throw DataError(fmt::format("'{}' or its choice is not printable text", printable(key)));
      }
      bytes += key.size() + choice.size();
    }
    if (bytes > ChoiceTable::kMost) {
      throw DataError(fmt::format("it has {} of choices, and a device keeps {}",
                                  format_bytes(bytes), format_bytes(ChoiceTable::kMost)));
    }
    return file;
  } catch (const ChoicesJson::exception&) {
    throw DataError("it is not the choices of a device's libraries");
  }
}

ChoicesFile read_choices(const std::string& path) {
  const auto fail = [&](const std::string& what) {
    throw DataError(fmt::format("[choices] {}: {}; write it with `plimsoll tune`, or train without",
                                printable(path), what));
  };
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) fail("there is no such file");
  if (kind != std::filesystem::file_type::regular) fail("it is not an ordinary file");
  std::ifstream in(path, std::ios::binary);
  // One byte more than may be there is enough to refuse it.
  std::string text(kLongestFile + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (!in.eof() && in.fail()) fail("it cannot be read");
  try {
    return parse_choices(text);
  } catch (const DataError& damage) {
    fail(fmt::format("it is damaged: {}", damage.what()));
    throw;
  }
}

void write_choices(const std::string& path, const ChoicesFile& file) {
  const std::string text = to_json(file);
  AtomicFile to(path, text.size());
  to.write(text.data(), text.size());
  to.commit();
}

std::string why_not_for(const ChoicesFile& file, const Device& device) {
  const std::string& backend = device.backend().name;
  if (file.backend != backend) {
    return fmt::format("it was measured on '{}', and {} is of '{}'", printable(file.backend),
                       device.name(), backend);
  }
  const auto differs = [](const std::string& there, const std::string& here) {
    return !there.empty() && there != here;
  };
  if (const std::string here = device.info().description; differs(file.device, here)) {
    return fmt::format("it was measured on '{}', and {} is '{}'", printable(file.device),
                       device.name(), here);
  }
  if (const std::string here = choosing_libraries(device); differs(file.libraries, here)) {
    return fmt::format("it was measured with {}, and here is {}", printable(file.libraries), here);
  }
  return {};
}

}  // namespace plimsoll::train
