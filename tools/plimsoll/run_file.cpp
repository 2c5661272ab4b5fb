#include "run_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/storage_error.h>

#include "command_line.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kRunFile = "run.json";
/// No option is called so.
constexpr const char* kShapeKey = "model shape";

/// Options of this call alone; all others say what the run is, and with --resume those not given
/// are taken from it.
bool of_the_run(const Option& option) {
  for (const char* name : {"--help", "--json", "--resume", "--checkpoints", "--log", "--chart",
                           "--quiet", "--metrics-port", "--choices"}) {
    if (option.is(name)) return false;
  }
  return true;
}

/// A run's options are read again to the byte, so that there is no replacement for them.
std::string text_of(const Json& json) {
  try {
    return json.dump(1);
  } catch (const nlohmann::json::type_error&) {
    throw InvalidArgument(fmt::format(
        "options are kept with the checkpoints, and one is not valid UTF-8: {}; rename the file or "
        "folder",
        json.dump(-1, ' ', true, Json::error_handler_t::replace)));
  }
}

/// A disk that is full or fails is nobody's mistake; a folder that cannot be written to is one.
[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  const std::string text =
      fmt::format("--checkpoints: {} cannot be written: {}", path.string(), error.message());
  const int code = error.value();
  if (code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO) throw StorageError(text);
  throw DataError(text);
}

[[noreturn]] void fail_damaged(const std::string& folder) {
  throw DataError(
      fmt::format("{}/{} is damaged: it does not have the options of a run; restore it, or remove "
                  "it and give the options again",
                  printable(folder), kRunFile));
}

/// The options of the run in this folder; nullopt if there is none.
std::optional<Json> read_run_file(const std::string& folder) {
  std::ifstream file(fs::path(folder) / kRunFile);
  if (!file) return std::nullopt;
  Json json = Json::parse(file);
  if (!json.is_object()) fail_damaged(folder);
  return json;
}

}  // namespace

Json given_options(const Command& command) {
  Json json = Json::object();
  for (const Option& option : command.options()) {
    if (!option.given() || !of_the_run(option)) continue;
    json[option.name()] = option.values();
    // It is resumed from any folder.
    if (option.is("--data")) json["data"] = Json::array({absolute_data(option.values().back())});
  }
  return json;
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

void save_run(const Command& command, const std::string& folder, const ModelShape& shape) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, error);
  Json json = given_options(command);
  json[kShapeKey] = {{"classes", shape.classes}, {"input", shape.input}};
  if (shape.values) json[kShapeKey]["values"] = true;
  if (!shape.names.empty()) json[kShapeKey]["names"] = shape.names;
  const fs::path path = fs::path(folder) / kRunFile;
  const fs::path temporary = fs::path(folder) / fmt::format(".{}-{}", kRunFile, ::getpid());
  std::ofstream file(temporary);
  file << text_of(json) << "\n";
  file.close();
  // What was not written (a full disk) does not replace what is there.
  if (file) {
    fs::rename(temporary, path, error);
  } else {
    error = std::error_code(errno, std::generic_category());
  }
  if (!error) return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  fail(path, error);
}

void save_log_path(const std::string& folder, const std::string& log) {
  std::error_code error;
  const fs::path path = fs::absolute(log, error);
  if (!error) std::ofstream(fs::path(folder) / "log") << path.string() << "\n";
}

bool restore_run(Command& command, const std::string& folder) {
  try {
    const std::optional<Json> json = read_run_file(folder);
    if (!json) return false;
    for (const auto& [name, values] : json->items()) {
      Option* const option = command.find("--" + name);
      if (option == nullptr || option->given()) continue;
      // How long it goes on is said by either of the two.
      const char* const other = name == "steps" ? "--epochs" : name == "epochs" ? "--steps" : "";
      if (*other != 0 && command.find(other)->given()) continue;
      option->give(values.get<std::vector<std::string>>());
    }
    return true;
  } catch (const nlohmann::json::exception&) {
    fail_damaged(folder);
  }
}

std::optional<ModelShape> saved_shape(const std::string& folder) {
  try {
    const std::optional<Json> json = read_run_file(folder);
    if (!json || !json->contains(kShapeKey)) return std::nullopt;
    const Json& shape = (*json)[kShapeKey];
    return ModelShape{
        shape.at("classes").get<std::int64_t>(), shape.at("input").get<std::vector<std::int64_t>>(),
        shape.value("values", false), shape.value("names", std::vector<std::string>())};
  } catch (const nlohmann::json::exception&) {
    fail_damaged(folder);
  }
}

}  // namespace plimsoll::tools
