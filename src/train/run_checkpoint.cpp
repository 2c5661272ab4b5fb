#include "train/run_checkpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/device/choices.h>
#include <plimsoll/train/checkpoint.h>
#include <plimsoll/train/choices_file.h>
#include <plimsoll/train/safetensors.h>

#include "train/atomic_file.h"
#include "train/file_digest.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kPrefix = "step-";
constexpr int kFormat = 3;
/// state.json ends with a digest of itself, written with zeros in the digest's place.
constexpr std::string_view kDigestKey = "\"digest\": \"";
constexpr std::string_view kNoDigest = "0000000000000000";
/// What a checkpoint consists of beside state.json, which has their digests.
constexpr std::array kFiles = {"model.safetensors", "average.safetensors", "losses.f32",
                               "train.position",    "validation.position", "choices.json"};

[[noreturn]] void fail_at(const fs::path& path, const std::string& what) {
  throw DataError(fmt::format("[checkpoint] {}: {}", path.string(), what));
}

void write_file(const fs::path& path, const void* data, std::size_t bytes) {
  AtomicFile file(path.string(), bytes);
  file.write(data, bytes);
  file.commit();
}

void write_file(const fs::path& path, const std::string& text) {
  write_file(path, text.data(), text.size());
}

std::string read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    fail_at(path, error ? error.message() : "this is not an ordinary file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_at(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Takes digits from the front of `text`; false if there are fewer than `least`.
bool take_digits(std::string_view& text, std::size_t least) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits >= least;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

/// True for names that save() gives, and for no others: a folder that somebody else put beside
/// them, a copy called "step-00000045-keep" say, is not ours to remove.
bool is_checkpoint(std::string_view name) {
  return take(name, kPrefix) && take_digits(name, 8) && take(name, "-epoch-") &&
         take_digits(name, 4) && name.empty();
}

/// The same of one that is being written: ".step-00000045-epoch-0001-4711".
bool is_unfinished(std::string_view name) {
  return take(name, ".") && take(name, kPrefix) && take_digits(name, 8) && take(name, "-epoch-") &&
         take_digits(name, 4) && take(name, "-") && take_digits(name, 1) && name.empty();
}

void flush_folder(const fs::path& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_at(path, std::strerror(errno));
  const int result = ::fsync(folder);
  ::close(folder);
  if (result != 0) fail_at(path, std::strerror(errno));
}

OrderedJson number_or_null(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

std::optional<double> number_or_null(const OrderedJson& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

OrderedJson state_json(const RunState& state) {
  OrderedJson json;
  json["format"] = kFormat;
  json["step"] = state.step;
  json["epoch"] = state.epoch;
  json["in_epoch"] = state.in_epoch;
  json["loss_sum"] = state.loss_sum;  // null if it is not finite
  json["metric_sums"] = state.metric_sums;
  json["loss_count"] = state.loss_count;
  json["best"] = number_or_null(state.best);
  json["least"] = number_or_null(state.least);
  json["without"] = state.without;
  if (!state.callbacks.empty()) json["callbacks"] = state.callbacks;
  json["history"] = OrderedJson::array();
  for (const Metrics& metrics : state.history) json["history"].push_back(metrics);
  json["identity"] = state.identity;
  return json;
}

double finite_or_nan(const OrderedJson& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

std::string signed_text(OrderedJson json) {
  json["digest"] = kNoDigest;
  std::string text = json.dump(1) + "\n";
  text.replace(text.rfind(kDigestKey) + kDigestKey.size(), kNoDigest.size(), text_digest(text));
  return text;
}

/// True if the text is, to the byte, what signed_text() gave.
bool is_signed(std::string text) {
  const std::size_t key = text.rfind(kDigestKey);
  if (key == std::string::npos) return false;
  const std::size_t at = key + kDigestKey.size();
  if (at + kNoDigest.size() > text.size()) return false;
  const std::string digest = text.substr(at, kNoDigest.size());
  text.replace(at, kNoDigest.size(), kNoDigest);
  return text_digest(text) == digest;
}

RunState from_json(const fs::path& path, const std::string& text) {
  try {
    const OrderedJson json = OrderedJson::parse(text);
    if (json.at("format") != kFormat) {
      fail_at(path, fmt::format("has format {}, this version of Plimsoll reads {}; resume with the "
                                "version that wrote it, or start again from the beginning",
                                json.at("format").dump(), kFormat));
    }
    RunState state;
    state.step = json.at("step").get<std::int64_t>();
    state.epoch = json.at("epoch").get<std::int64_t>();
    state.in_epoch = json.at("in_epoch").get<std::int64_t>();
    state.loss_sum = finite_or_nan(json.at("loss_sum"));
    for (const auto& [name, sums] : json.at("metric_sums").items()) {
      for (const OrderedJson& sum : sums) state.metric_sums[name].push_back(finite_or_nan(sum));
    }
    state.loss_count = json.at("loss_count").get<std::int64_t>();
    state.best = number_or_null(json.at("best"));
    state.least = number_or_null(json.at("least"));
    state.without = json.at("without").get<std::int64_t>();
    if (json.contains("callbacks")) json.at("callbacks").get_to(state.callbacks);
    for (const OrderedJson& each : json.at("history")) {
      Metrics metrics;
      for (const auto& [name, value] : each.items()) metrics[name] = finite_or_nan(value);
      state.history.push_back(std::move(metrics));
    }
    state.identity = json.at("identity").get<std::map<std::string, std::string>>();
    json.at("digests").get_to(state.digests);
    return state;
  } catch (const nlohmann::json::exception&) {
    fail_at(path, "is damaged: it is not the state of a run");
  }
}

std::vector<NamedTensor> averages(const Trainer::Impl& trainer) {
  std::vector<NamedTensor> all;
  for (const optim::State& s : trainer.average) {
    all.push_back({s.name(), trainer.memory->find(kAveragePrefix + s.name())});
  }
  return all;
}

std::map<std::string, std::string> digests_of(const fs::path& folder) {
  std::map<std::string, std::string> digests;
  for (const char* name : kFiles) {
    if (fs::exists(folder / name)) digests[name] = file_digest((folder / name).string());
  }
  return digests;
}

/// What the libraries of a device chose, for the same kind of device. Empty if it is nothing.
std::string choices_text(const Device& device) {
  const Choices choices = library_choices(device);
  if (choices.empty()) return {};
  return to_json(choices_file(device, choices));
}

/// Empty, with a warning, where they are of another kind of device than `here`.
Choices choices_at(const fs::path& path, const Device& here) {
  const std::string text = read_file(path);
  try {
    const ChoicesFile file = parse_choices(text);
    // Other versions of libraries are told key by key, as what still can be had is taken.
    if (file.backend == here.backend().name) return file.choices;
    log_warning(
        fmt::format("[resume] {} was written by a run on '{}'; on '{}' other kernels "
                    "compute, so that bits may differ from here on",
                    path.parent_path().string(), printable(file.backend), here.backend().name));
    return {};
  } catch (const DataError& error) {
    fail_at(path, fmt::format("is damaged: {}", error.what()));
  }
}

CheckpointParts parts_of(Trainer::Impl& trainer) {
  return {.module = &trainer.model,
          .optimizer = &trainer.optimizer,
          .loss_scale = trainer.loss_scale ? &*trainer.loss_scale : nullptr};
}

}  // namespace

RunCheckpoints::RunCheckpoints(std::string folder, int kept)
    : folder_(std::move(folder)), kept_(std::max(kept, 1)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw_write_error(folder_, "create the folder", error.value(), 0);
  const fs::path path = fs::path(folder_) / ".lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw_write_error(path.string(), "create it", errno, 0);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw InvalidArgument(fmt::format(
        "[checkpoint] another run is writing to {}; wait for it, or give another folder", folder_));
  }
  remove_leftovers();
}

void RunCheckpoints::remove_leftovers() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (is_unfinished(name) || name.starts_with("latest.tmp-") || name.starts_with("best.tmp-")) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

RunCheckpoints::~RunCheckpoints() { ::close(lock_); }

void RunCheckpoints::write_pointer(const std::string& name, const std::string& to) const {
  write_file(fs::path(folder_) / name, to + "\n");
}

std::string RunCheckpoints::read_pointer(const std::string& name) const {
  std::error_code none;
  const fs::path path = fs::path(folder_) / name;
  if (!fs::exists(path, none)) return {};
  std::string to = read_file(path);
  while (!to.empty() && to.back() == '\n') to.pop_back();
  if (!is_checkpoint(to)) {
    constexpr std::size_t kShown = 60;
    fail_at(path, fmt::format("'{}' is not the name of a checkpoint; {}",
                              printable(to.substr(0, kShown)), another("")));
  }
  return to;
}

std::vector<std::string> RunCheckpoints::complete() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (is_checkpoint(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string RunCheckpoints::latest() const {
  std::string name = read_pointer("latest");
  // A run that was killed before it could write which one it is.
  if (const auto names = complete(); name.empty() && !names.empty()) name = names.back();
  return name.empty() ? name : (fs::path(folder_) / name).string();
}

std::string RunCheckpoints::another(const std::string& than) const {
  std::string remedy = "there is no other checkpoint";
  for (const std::string& other : complete()) {
    if (other == than) continue;
    remedy = fmt::format("to go on from another, write its name into {}: {}",
                         (fs::path(folder_) / "latest").string(), other);
  }
  return remedy;
}

void RunCheckpoints::fail_damaged(const fs::path& checkpoint, const std::string& name) const {
  fail_at(checkpoint / name,
          "is damaged: it is not what was written; " + another(checkpoint.filename().string()));
}

void RunCheckpoints::require_intact(const fs::path& checkpoint, const RunState& state) const {
  for (const auto& [name, digest] : state.digests) {
    std::error_code error;
    if (!fs::is_regular_file(checkpoint / name, error) ||
        digest != file_digest((checkpoint / name).string())) {
      fail_damaged(checkpoint, name);
    }
  }
}

std::string RunCheckpoints::save(Trainer::Impl& trainer, const RunState& state, bool best) {
  std::error_code error;
  const std::string name = fmt::format("{}{:08}-epoch-{:04}", kPrefix, state.step, state.epoch);
  const fs::path path = fs::path(folder_) / name;
  if (read_pointer("latest") == name) {
    if (best) write_pointer("best", name);
    return path.string();
  }
  const fs::path temporary = fs::path(folder_) / fmt::format(".{}-{}", name, ::getpid());
  fs::remove_all(temporary, error);
  if (!fs::create_directory(temporary, error)) {
    throw_write_error(temporary.string(), "create it", error.value(), 0);
  }
  try {
    save_checkpoint((temporary / "model.safetensors").string(), parts_of(trainer));
    if (!trainer.average.empty()) {
      save_safetensors((temporary / "average.safetensors").string(), averages(trainer));
    }
    write_file(temporary / "losses.f32", state.losses.data(), state.losses.size() * sizeof(float));
    write_file(temporary / "train.position", state.train_position);
    write_file(temporary / "validation.position", state.validation_position);
    if (const std::string choices = choices_text(trainer.memory->device()); !choices.empty()) {
      write_file(temporary / "choices.json", choices);
    }
    OrderedJson json = state_json(state);
    json["digests"] = digests_of(temporary);
    write_file(temporary / "state.json", signed_text(std::move(json)));
    flush_folder(temporary);
    // One that `latest` does not name is of a run that was killed before it could.
    fs::remove_all(path);
    fs::rename(temporary, path);
  } catch (const fs::filesystem_error& problem) {
    fs::remove_all(temporary, error);
    throw_write_error(path.string(), "put it in its place", problem.code().value(), 0);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
  flush_folder(folder_);
  write_pointer("latest", name);
  if (best) write_pointer("best", name);
  prune();
  return path.string();
}

void RunCheckpoints::prune() const {
  remove_leftovers();
  std::error_code error;
  const std::vector<std::string> names = complete();
  const std::string best = read_pointer("best");
  const std::string latest = read_pointer("latest");
  for (std::size_t i = 0; i + static_cast<std::size_t>(kept_) < names.size(); ++i) {
    if (names[i] != best && names[i] != latest) fs::remove_all(fs::path(folder_) / names[i], error);
  }
}

std::optional<RunState> RunCheckpoints::load(
    Trainer::Impl& trainer, const std::map<std::string, std::string>& identity) const {
  const fs::path path = latest();
  if (path.empty()) return std::nullopt;
  if (std::error_code error; !fs::is_regular_file(path / "state.json", error)) {
    fail_at(path / "state.json", "it is missing; " + another(path.filename().string()));
  }
  const std::string text = read_file(path / "state.json");
  const bool intact = is_signed(text);
  // What another version wrote has no digest where this one looks for it: say which it is.
  if (!intact && text.find(kDigestKey) != std::string::npos) fail_damaged(path, "state.json");
  RunState state = from_json(path / "state.json", text);
  if (!intact) fail_damaged(path, "state.json");
  for (const auto& [what, here] : identity) {
    const auto there = state.identity.find(what);
    const std::string was = there == state.identity.end() ? "not known" : there->second;
    if (was != here) {
      throw InvalidArgument(fmt::format(
          "[resume] {} was written by a run whose {} is {}; here it is {}: go on with what "
          "it was, or start a new run in another folder",
          path.string(), what, was, here));
    }
  }
  require_intact(path, state);
  const std::string losses = read_file(path / "losses.f32");
  if (losses.size() != static_cast<std::size_t>(state.step) * sizeof(float)) {
    fail_at(path / "losses.f32", fmt::format("has not the losses of {} steps", state.step));
  }
  state.losses.resize(static_cast<std::size_t>(state.step));
  std::memcpy(state.losses.data(), losses.data(), losses.size());
  state.train_position = read_file(path / "train.position");
  state.validation_position = read_file(path / "validation.position");
  Choices choices;
  if (state.digests.count("choices.json") != 0) {
    choices = choices_at(path / "choices.json", trainer.memory->device());
  }
  // All that may be wrong with either file is found before anything is written.
  std::optional<SafetensorsFile> means;
  const std::vector<NamedTensor> places = averages(trainer);
  if (!places.empty()) means.emplace((path / "average.safetensors").string());
  for (const NamedTensor& each : places) {
    if (const TensorType& there = means->entry(each.name).type; there != each.tensor.type()) {
      fail_at(path / "average.safetensors",
              fmt::format("tensor '{}' is {}, but {} is needed", each.name, there.to_string(),
                          each.tensor.type().to_string()));
    }
  }
  load_checkpoint((path / "model.safetensors").string(), parts_of(trainer),
                  trainer.memory->device());
  for (const NamedTensor& each : places) {
    Tensor to = each.tensor;
    means->read_into(each.name, to);
  }
  prefer_choices(trainer.memory->device(), choices);
  return state;
}

void verify_checkpoint(const std::string& folder) {
  const fs::path path = folder;
  std::error_code error;
  if (!fs::exists(path / "state.json", error)) return;
  const std::string text = read_file(path / "state.json");
  const auto fail = [&](const std::string& name) {
    fail_at(path / name, "is damaged: it is not what was written; use another checkpoint");
  };
  if (!is_signed(text)) fail("state.json");
  for (const auto& [name, digest] : from_json(path / "state.json", text).digests) {
    if (!fs::is_regular_file(path / name, error) || digest != file_digest((path / name).string())) {
      fail(name);
    }
  }
}

}  // namespace plimsoll::train
