// TensorBoard's event files: records of a length, the event as protobuf, and checksums of both.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/report/exports.h>

#include "report/crc32c.h"
#include "report/export_names.h"
#include "report/json_fields.h"
#include "report/proto_writer.h"
#include "report/write_file.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;

class EventFile {
 public:
  explicit EventFile(double began) : began_(began) {
    add(ProtoWriter().real(1, began_).text(3, "brain.Event:2"));
  }

  void scalar(double time, std::int64_t step, const std::string& tag, double value) {
    if (std::isnan(value)) return;
    const ProtoWriter each = ProtoWriter().text(1, tag).real(2, static_cast<float>(value));
    add(ProtoWriter()
            .real(1, began_ + time)
            .number(2, static_cast<std::uint64_t>(step))
            .message(5, ProtoWriter().message(1, each)));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void add(const ProtoWriter& event) {
    const std::uint64_t length = event.bytes().size();
    std::string head(sizeof length, '\0');
    std::memcpy(head.data(), &length, sizeof length);
    bytes_ += head;
    add_checksum(head);
    bytes_ += event.bytes();
    add_checksum(event.bytes());
  }
  void add_checksum(std::string_view of) {
    const std::uint32_t crc = crc32c(of);
    // Rotated and moved, so that a checksum of checksums is of use.
    const std::uint32_t masked = ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U;
    bytes_.append(reinterpret_cast<const char*>(&masked), sizeof masked);
  }

  double began_;
  std::string bytes_;
};

constexpr double kMiB = 1024.0 * 1024.0;

void add_step_scalars(EventFile& file, const Run& run) {
  double before = 0;
  for (const RunStep& step : run.steps) {
    const auto put = [&](const char* tag, double value) {
      file.scalar(step.time, step.step, tag, value);
    };
    put("train/loss", step.loss);
    put("train/accuracy", step.accuracy);
    put("train/learning_rate", step.lr);
    put("time/step_seconds", step.seconds);
    put("time/waited_seconds", step.waited);
    if (step.time > before && step.elements > 0) {
      put("time/elements_per_second", static_cast<double>(step.elements) / (step.time - before));
    }
    before = step.time;
  }
}

void add_metrics(EventFile& file, const Run& run) {
  std::map<std::int64_t, std::int64_t> ends;  // steps by epoch
  for (const RunEvent& event : run.events) {
    if (event.kind != "epoch") continue;
    const Json json = parsed(event.json);
    ends[count(json, "epoch")] = count(json, "step");
  }
  for (const RunMetric& each : run.metrics) {
    const auto end = ends.find(each.epoch);
    file.scalar(each.time, end == ends.end() ? each.epoch : end->second,
                "epoch/" + valid_text(each.name), each.value);
  }
}

void add_memory_scalars(EventFile& file, const Run& run) {
  for (const RunDevice& device : run.devices) {
    const std::string prefix = "memory_MiB/" + valid_text(device.name) + "/";
    std::size_t at = 0;
    for (const RunMemory& memory : device.memory) {
      while (at < run.steps.size() && run.steps[at].time <= memory.time) ++at;
      const std::int64_t step = at == 0 ? 0 : run.steps[at - 1].step;
      const auto put = [&](const std::string& tag, Bytes bytes) {
        file.scalar(memory.time, step, prefix + tag, static_cast<double>(bytes) / kMiB);
      };
      put("used", memory.used);
      if (memory.limit != kUnlimited) put("budget", memory.limit);
      if (memory.system != 0) put("system", memory.system);
      std::map<std::string, Bytes> tags;
      for (const RunHeld& held : memory.held) tags[run.holders[held.holder].tag] += held.bytes;
      for (const auto& [tag, bytes] : tags) put("tag/" + valid_text(tag), bytes);
    }
  }
}

}  // namespace

void write_tensorboard(std::span<const Run> runs, const std::string& folder) {
  std::set<std::string> taken;
  for (const Run& run : runs) {
    EventFile file(run.began);
    add_step_scalars(file, run);
    add_metrics(file, run);
    add_memory_scalars(file, run);
    const fs::path place = fs::path(folder) / folder_name(run.name, taken);
    std::error_code error;
    fs::create_directories(place, error);
    if (error) {
      throw DataError(fmt::format("[report] the folder {} cannot be created: {}", place.string(),
                                  error.message()));
    }
    const std::string name = fmt::format("events.out.tfevents.{:010}.plimsoll",
                                         static_cast<std::int64_t>(std::max(run.began, 0.0)));
    write_file((place / name).string(), file.bytes());
  }
}

}  // namespace plimsoll::report
