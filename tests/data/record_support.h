#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/pipeline_support.h"
#include "support/source_dir.h"

namespace plimsoll::data::testing {

inline std::filesystem::path records_folder() {
  return test_source_dir() / "data/recorded/records";
}
inline std::string recorded(const char* name) { return (records_folder() / name).string(); }

inline nlohmann::json recorded_json(const char* name) {
  std::ifstream file(records_folder() / name);
  return nlohmann::json::parse(file);
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

/// A component as tests/data/record/record_records.py writes it: byte strings in hex, lists nested.
inline nlohmann::json json_of(const Value& value);

inline nlohmann::json json_number(const Value& value) {
  switch (value.dtype()) {
    case DType::i64:
      return value.as<std::int64_t>();
    case DType::i32:
      return value.as<std::int32_t>();
    case DType::u8:
      return value.as<std::uint8_t>();
    case DType::f32:
      return value.as<float>();
    case DType::f64:
      return value.as<double>();
    case DType::boolean:
      return value.as<bool>();
    default:
      return "?";
  }
}

inline nlohmann::json json_of(const Value& value) {
  if (value.is_scalar()) return json_number(value);
  const Tensor& tensor = value.tensor();
  if (tensor.rank() == 0) {
    return tensor.dtype() == DType::bytes ? nlohmann::json(hex(tensor.string_at(0)))
                                          : json_number(value);
  }
  nlohmann::json list = nlohmann::json::array();
  for (std::int64_t i = 0; i < tensor.dim(0); ++i) list.push_back(json_of(tensor.select(0, i)));
  return list;
}

/// The elements as objects with the spec's names.
inline nlohmann::json json_rows(const Dataset& dataset, const PipelineOptions& options = {}) {
  const Device device = host();
  Pipeline pipeline(dataset, device, options);
  nlohmann::json rows = nlohmann::json::array();
  while (const auto element = pipeline.next()) {
    nlohmann::json row;
    for (std::size_t i = 0; i < element->size(); ++i) {
      row[dataset.element_spec().names.at(i)] = json_of(element->at(i));
    }
    rows.push_back(row);
  }
  return rows;
}

/// Those of the recorded rows with these names only.
inline nlohmann::json only(const nlohmann::json& rows, const std::vector<std::string>& names) {
  nlohmann::json result = nlohmann::json::array();
  for (const auto& row : rows) {
    nlohmann::json some;
    for (const std::string& name : names) some[name] = row.at(name);
    result.push_back(some);
  }
  return result;
}

inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace plimsoll::data::testing
