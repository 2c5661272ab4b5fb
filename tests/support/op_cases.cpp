#include "support/op_cases.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/kernel.h>

#include "backend/cpu/dtype_switch.h"
#include "support/own_device.h"
#include "support/poisoned.h"
#include "support/source_dir.h"

namespace plimsoll::test {
namespace {

/// Names of attributes must outlive them.
std::string_view interned(const std::string& name) {
  static std::deque<std::string> names;
  const auto it = std::find(names.begin(), names.end(), name);
  return it != names.end() ? *it : names.emplace_back(name);
}

ops::Attribute attribute_from(const nlohmann::json& json) {
  const auto entry = json.begin();
  const std::string kind = entry.key();
  const auto& value = *entry;
  if (kind == "flag") return value.get<bool>();
  if (kind == "integer") return value.get<std::int64_t>();
  if (kind == "number") return value.get<double>();
  if (kind == "text") return value.get<std::string>();
  if (kind == "dtype") return parse_dtype(value.get<std::string>());
  return value.get<std::vector<std::int64_t>>();
}

Tensor tensor_from(const nlohmann::json& json, const std::string& data) {
  const auto dims = json.at("shape").get<std::vector<std::int64_t>>();
  Tensor tensor =
      Tensor::empty(Shape(std::span<const std::int64_t>(dims)),
                    parse_dtype(json.at("dtype").get<std::string>()), op_cases_device());
  const auto offset = json.at("offset").get<std::size_t>();
  if (offset + tensor.nbytes() > data.size()) throw DataError("recorded cases are truncated");
  std::copy_n(data.data() + offset, tensor.nbytes(), static_cast<char*>(tensor.raw_mutable_data()));
  return tensor;
}

void read_family(const std::filesystem::path& path, std::vector<OpCase>& cases) {
  std::ifstream binary(std::filesystem::path(path).replace_extension(".bin"), std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(binary)), {});
  std::ifstream text(path);
  int number = 0;
  for (const nlohmann::json& json : nlohmann::json::parse(text)) {
    OpCase c;
    c.op = json.at("op").get<std::string>();
    const auto attributes = json.value("attributes", nlohmann::json::object());
    for (const auto& [name, value] : attributes.items()) {
      c.attributes.set(interned(name), attribute_from(value));
    }
    std::string types;
    for (const auto& input : json.at("inputs")) {
      c.inputs.push_back(tensor_from(input, data));
      types += " " + c.inputs.back().type().to_string();
    }
    for (const auto& output : json.at("outputs")) c.outputs.push_back(tensor_from(output, data));
    if (const auto gradient = json.find("gradient"); gradient != json.end()) {
      if (gradient->is_array()) {
        c.gradient_outputs = gradient->get<std::vector<std::size_t>>();
      } else {
        c.gradient = gradient->get<bool>();
      }
    }
    c.dtypes = json.value("dtypes", true);
    c.tolerance = json.value("tolerance", 1.0);
    c.wide = json.value("wide", std::vector<std::size_t>());
    c.description = fmt::format("{} case {}: {}({} )", path.stem().string(), number++,
                                c.attributes.to_string(), types);
    cases.push_back(std::move(c));
  }
}

template <typename T>
std::vector<double> widened(const Tensor& tensor) {
  std::vector<double> result;
  if constexpr (std::is_same_v<T, bool>) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      result.push_back(tensor.contiguous().data<bool>()[i] ? 1 : 0);
    }
  } else {
    for (const T value : tensor.to_vector<T>()) {
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
        result.push_back(static_cast<float>(value));
      } else {
        result.push_back(static_cast<double>(value));
      }
    }
  }
  return result;
}

template <typename T>
void narrow(const std::vector<double>& values, Tensor& tensor) {
  T* to = tensor.mutable_data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      to[i] = T(static_cast<float>(values[i]));
    } else {
      to[i] = static_cast<T>(values[i]);
    }
  }
}

std::vector<std::vector<OpCase> (*)()>& registered() {
  static std::vector<std::vector<OpCase> (*)()> all;
  return all;
}

}  // namespace

const Device& op_cases_device() {
  static const Device device = test::own_cpu({.limit = GiB(2)});
  return device;
}

RegisterOpCases::RegisterOpCases(std::vector<OpCase> (*make)()) { registered().push_back(make); }

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<std::filesystem::path> files;
    const std::filesystem::path folder = test_source_dir() / "ops" / "recorded";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<OpCase> all;
    for (const auto& file : files) read_family(file, all);
    for (const auto make : registered()) {
      int number = 0;
      for (OpCase& c : make()) {
        c.description = fmt::format("{} case {}", c.op, number++);
        all.push_back(std::move(c));
      }
    }
    return all;
  }();
  return cases;
}

std::vector<double> as_doubles(const Tensor& tensor) {
  std::vector<double> values;
  cpu::with_any(tensor.dtype(), [&]<typename T>() { values = widened<T>(tensor); });
  return values;
}

Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, dtype, op_cases_device());
  cpu::with_any(dtype, [&]<typename T>() { narrow<T>(values, tensor); });
  return tensor;
}

std::vector<DType> other_dtypes(const ops::OpDef& def, const OpCase& c) {
  std::vector<DType> all;
  if (!c.dtypes || c.inputs.empty()) return all;
  const DType recorded = c.inputs.front().dtype();
  for (const DType dtype : kDTypes) {
    if (!def.dtypes.has(dtype) || dtype == recorded) continue;
    if (is_floating(dtype) != is_floating(recorded) || dtype == DType::boolean) continue;
    all.push_back(dtype);
  }
  return all;
}

NarrowInputs in_dtype(const OpCase& c, DType dtype) {
  const DType recorded = c.inputs.front().dtype();
  NarrowInputs all;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& input = c.inputs[i];
    const bool follows = input.dtype() == recorded;
    const bool stays_wide = std::find(c.wide.begin(), c.wide.end(), i) != c.wide.end();
    const DType own = stays_wide ? std::min(dtype, DType::f32) : dtype;
    all.narrow.push_back(follows ? from_doubles(as_doubles(input), input.shape(), own)
                                 : input.clone(op_cases_device(), {}));
    all.wide.push_back(from_doubles(as_doubles(all.narrow.back()), input.shape(), input.dtype()));
  }
  return all;
}

void run_kernel(const ops::OpDef& def, const ops::Attributes& attributes,
                std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, const Device& device,
                const KernelRun& how) {
  const ops::Kernel& kernel = *ops::kernels_of(device).find(def);
  std::vector<TensorType> in_types;
  std::vector<TensorType> out_types;
  std::vector<ops::TensorView> in;
  std::vector<ops::TensorView> out;
  for (Tensor& input : inputs) {
    in_types.push_back(input.type());
    in.push_back({input.raw_mutable_data(), input.type()});
  }
  for (Tensor& output : outputs) {
    out_types.push_back(output.type());
    out.push_back({output.raw_mutable_data(), output.type()});
  }
  const DeviceScope current(device);
  const bool prepares = how.state == nullptr && kernel.prepare != nullptr;
  const auto own = prepares ? kernel.prepare({def, in_types, attributes}, out_types) : nullptr;
  const ops::KernelState* state = prepares ? own.get() : how.state;
  const Poisoned workspace(device, state == nullptr ? 0 : state->workspace);
  kernel.run({.outputs = out,
              .inputs = in,
              .attributes = attributes,
              .state = state,
              .workspace = workspace.data(),
              .queue = device.queue(kHostStream),
              .random = how.random});
  device.synchronize(kHostStream);
  workspace.expect_intact("the workspace");
}

std::vector<Tensor> run_poisoned(const ops::OpDef& def, const ops::Attributes& attributes,
                                 const std::vector<Tensor>& inputs, const Device& device,
                                 const KernelRun& how) {
  std::vector<Tensor> in;
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) {
    in.push_back(input.clone(device, {}));
    types.push_back(input.type());
  }
  std::vector<Poisoned> memory;
  std::vector<Tensor> out;
  bool work = false;
  for (const TensorType& type : def.types({def, types, attributes})) {
    memory.emplace_back(device, type.bytes());
    out.push_back(memory.back().tensor(type));
    work = work || type.elements() != 0;
  }
  if (work) run_kernel(def, attributes, in, out, device, how);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i].expect_intact("output " + std::to_string(i));
  }
  return out;
}

}  // namespace plimsoll::test
