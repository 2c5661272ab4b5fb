#include <plimsoll/plan/device_description.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/base/system.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/ops/kernel.h>

namespace plimsoll::plan {
namespace {

struct Known {
  const char* name;
  double gib;
  double bandwidth;  ///< GB/s that kernels reach
  double f32;        ///< Tflop/s
  double tf32;
  double f16;
  double host;  ///< GB/s over the bus
  int processors;
};

// What matmuls and copies reach in practice: about 0.7 of the data sheet's rates and 0.85 of its
// bandwidth.
constexpr std::array<Known, 9> kKnown = {{
    {"h200", 139, 4100, 50, 330, 640, 50, 132},
    {"h100", 79, 2800, 50, 330, 620, 50, 132},
    {"a100", 79, 1650, 16, 105, 220, 22, 108},
    {"a100-40g", 39, 1320, 16, 105, 220, 22, 108},
    {"l4", 22, 255, 20, 42, 85, 22, 58},
    {"t4", 15, 270, 6.5, 6.5, 45, 11, 40},
    {"v100", 31, 765, 11, 11, 85, 11, 80},
    {"rtx4090", 23.5, 860, 55, 58, 115, 22, 128},
    {"rtx3090", 23.5, 800, 22, 25, 50, 22, 82},
}};

/// Throws InvalidArgument, naming `where`, if there is no such backend.
const Backend& known_backend(const std::string& name, const std::string& where) {
  if (const Backend* found = find_backend(name)) return *found;
  std::vector<std::string> names;
  for (const Backend* each : backends()) names.push_back(each->name);
  throw InvalidArgument(fmt::format("[device] {}: there is no backend '{}'; use {}", where, name,
                                    fmt::join(names, ", ")));
}

DeviceDescription cpu_description() {
  DeviceDescription cpu;
  const Backend& backend = known_backend("cpu", "cpu");
  const int threads = compute_threads();
  cpu.name = "cpu";
  cpu.usage = UsageSource::process;
  cpu.capabilities = backend.capabilities;
  cpu.memory = backend.describe(0).total;
  cpu.bytes_per_second = 8e9 * std::min(threads, 16);
  cpu.flops_f32 = 50e9 * threads;
  cpu.flops_16 = 50e9 * threads;
  cpu.flops_tf32 = cpu.flops_f32;
  cpu.launch_seconds = 2e-6;
  cpu.host_bytes_per_second = 8e9;
  return cpu;
}

DeviceDescription gpu_description(const Known& known) {
  DeviceDescription gpu;
  gpu.name = known.name;
  gpu.backend = "cuda";
  gpu.capabilities = known_backend(gpu.backend, gpu.name).capabilities;
  gpu.memory = static_cast<Bytes>(known.gib * static_cast<double>(GiB(1)));
  gpu.bytes_per_second = known.bandwidth * 1e9;
  gpu.flops_f32 = known.f32 * 1e12;
  gpu.flops_16 = known.f16 * 1e12;
  gpu.flops_tf32 = known.tf32 * 1e12;
  gpu.processors = known.processors;
  gpu.launch_seconds = 2e-6;
  gpu.host_bytes_per_second = known.host * 1e9;
  gpu.runtime = MiB(640);
  gpu.workspace = ops::kWorkspaceSlot;
  return gpu;
}

DeviceDescription from_file(const std::string& path) {
  std::ifstream file(path);
  std::error_code none;
  if (!file || std::filesystem::is_directory(path, none)) {
    throw InvalidArgument(
        fmt::format("[device] '{}' is neither a known device ({}) nor a file that "
                    "can be read",
                    path, fmt::join(known_devices(), ", ")));
  }
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    static constexpr std::array<std::string_view, 13> kFields = {"name",
                                                                 "backend",
                                                                 "memory",
                                                                 "bytes_per_second",
                                                                 "flops_f32",
                                                                 "flops_16",
                                                                 "flops_tf32",
                                                                 "launch_seconds",
                                                                 "runtime",
                                                                 "workspace",
                                                                 "host_bytes_per_second",
                                                                 "page_size",
                                                                 "processors"};
    for (const auto& [field, value] : json.items()) {
      if (std::ranges::find(kFields, field) != kFields.end()) continue;
      throw InvalidArgument(fmt::format("[device] {}: there is no field '{}'; use {}", path, field,
                                        fmt::join(kFields, ", ")));
    }
    const auto size = [&](const char* field) {
      const auto& value = json.at(field);
      if (value.is_string()) return parse_bytes(value.get<std::string>(), field);
      if (!value.is_number_unsigned()) {
        throw InvalidArgument(fmt::format("[device] {}: {} is {}; give bytes, or text with a unit",
                                          path, field, value.dump()));
      }
      return value.get<Bytes>();
    };
    DeviceDescription d;
    d.name = json.value("name", path);
    d.backend = json.value("backend", "cuda");
    d.capabilities = known_backend(d.backend, path).capabilities;
    d.memory = size("memory");
    d.bytes_per_second = json.at("bytes_per_second").get<double>();
    d.flops_f32 = json.at("flops_f32").get<double>();
    d.flops_16 = json.at("flops_16").get<double>();
    d.flops_tf32 = json.value("flops_tf32", d.flops_f32);
    d.processors = json.value("processors", d.capabilities.gpu_kernels ? 80 : 1);
    d.launch_seconds = json.value("launch_seconds", 2e-6);
    d.host_bytes_per_second = json.value("host_bytes_per_second", 1e10);
    d.runtime = json.contains("runtime") ? size("runtime") : MiB(640);
    d.workspace = json.contains("workspace") ? size("workspace") : ops::kWorkspaceSlot;
    d.page_size = json.contains("page_size") ? size("page_size") : MiB(2);
    if (!std::has_single_bit(d.page_size)) {
      throw InvalidArgument(
          fmt::format("[device] {}: page_size {} is not a power of two", path, d.page_size));
    }
    if (!(d.bytes_per_second > 0 && d.flops_f32 > 0 && d.flops_16 > 0 && d.flops_tf32 > 0 &&
          d.processors > 0)) {
      throw InvalidArgument(fmt::format("[device] rates in {} must be above 0", path));
    }
    return d;
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(
        fmt::format("[device] {} does not describe a device: {}", path, error.what()));
  }
}

/// Letters and digits in a row, in small letters.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char each : text) {
    const auto c = static_cast<unsigned char>(each);
    if (std::isalnum(c) != 0) {
      words.back() += static_cast<char>(std::tolower(c));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

/// As a word, or as two: "rtx 4090" for "rtx4090". "40gb" is what "40g" means.
bool has(const std::vector<std::string>& words, const std::string& part) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == part || words[i] == part + "b") return true;
    if (i + 1 < words.size() && words[i] + words[i + 1] == part) return true;
  }
  return false;
}

}  // namespace

std::string known_device(std::string_view description) {
  const std::vector<std::string> words = words_of(description);
  std::string found;
  for (const Known& known : kKnown) {
    const std::vector<std::string> parts = words_of(known.name);
    if (std::ranges::all_of(parts, [&](const std::string& part) { return has(words, part); })) {
      found = known.name;
    }
  }
  return found;
}

std::vector<std::string> known_devices() {
  std::vector<std::string> names = {"cpu"};
  for (const Known& known : kKnown) names.emplace_back(known.name);
  return names;
}

DeviceDescription describe_device(std::string_view name) {
  if (name == "cpu" || name == "cpu:0") return cpu_description();
  for (const Known& known : kKnown) {
    if (name == known.name) return gpu_description(known);
  }
  return from_file(std::string(name));
}

DeviceDescription describe_device(const Device& device) {
  if (device.capabilities().host_memory) {
    DeviceDescription cpu = cpu_description();
    cpu.backend = device.backend().name;
    cpu.capabilities = device.capabilities();
    cpu.page_size = device.arena().source()->page_size();
    cpu.usage = device.info().usage;
    return cpu;
  }
  const DeviceInfo info = device.info();
  // The one we know by its words; else a cautious one.
  const std::string name = known_device(info.description);
  DeviceDescription gpu = name.empty() ? gpu_description(kKnown[2]) : describe_device(name);
  gpu.backend = device.backend().name;
  gpu.capabilities = device.capabilities();
  if (!gpu.capabilities.gpu_kernels) gpu.workspace = 0;
  gpu.memory = info.total;
  gpu.runtime = device.runtime();
  gpu.usage = info.usage;
  gpu.page_size = device.arena().source()->page_size();
  return gpu;
}

std::string runtime_note(const DeviceDescription& device) {
  if (device.runtime == 0 || device.usage != UsageSource::unknown) {
    return std::string(usage_note(device.usage));
  }
  return fmt::format("runtime {} is an assumed margin: {} was not opened",
                     format_bytes(device.runtime), device.name);
}

}  // namespace plimsoll::plan
