#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/train/safetensors.h>

#include "train/atomic_file.h"
#include "train/safetensors_dtype.h"

namespace plimsoll::train {
namespace {

constexpr Bytes kWriteChunk = Bytes{1} << 20;

std::string header_text(std::span<const NamedTensor> tensors,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::unordered_set<std::string> names = {"__metadata__"};
  std::uint64_t at = 0;
  for (const NamedTensor& named : tensors) {
    if (!names.insert(named.name).second) {
      throw InvalidArgument(
          fmt::format("[save_safetensors] the name '{}' cannot be used (twice)", named.name));
    }
    const TensorType type = named.tensor.type();
    const std::string_view dtype = dtype_to_safetensors(type.dtype);
    if (dtype.empty()) {
      throw InvalidArgument(
          fmt::format("[save_safetensors] '{}' is {}, which such a file cannot "
                      "hold",
                      named.name, type.to_string()));
    }
    const std::uint64_t end = at + type.bytes();
    header[named.name] = {
        {"dtype", dtype},
        {"shape", std::vector<std::int64_t>(type.shape.begin(), type.shape.end())},
        {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw InvalidArgument("[save_safetensors] a name is not UTF-8");
  }
  // Spaces up to a multiple of 8, so that data in the file is aligned.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kSafetensorsHeaderLimit) {
    throw InvalidArgument(
        fmt::format("[save_safetensors] the header would have {} bytes; at most "
                    "{} are allowed",
                    text.size(), kSafetensorsHeaderLimit));
  }
  return text;
}

void write_data(AtomicFile& file, const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  const Bytes bytes = dense.type().bytes();
  if (bytes == 0) return;
  const auto* from = static_cast<const std::uint8_t*>(dense.raw_data());
  if (dense.device().capabilities().host_memory) {
    file.write(from, bytes);
    return;
  }
  std::vector<std::uint8_t> chunk(static_cast<std::size_t>(std::min(bytes, kWriteChunk)));
  for (Bytes done = 0; done < bytes; done += chunk.size()) {
    const Bytes length = std::min<Bytes>(chunk.size(), bytes - done);
    dense.device().copy(chunk.data(), from + done, length);
    file.write(chunk.data(), length);
  }
}

}  // namespace

void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  for (const NamedTensor& named : tensors) {
    if (named.tensor.is_symbolic()) {
      throw InvalidArgument(fmt::format("[save_safetensors] {} has no data; materialize it first",
                                        named.tensor.symbol()->describe()));
    }
  }
  const std::string header = header_text(tensors, metadata);
  std::array<std::uint8_t, 8> length{};
  Bytes all = length.size() + header.size();
  for (const NamedTensor& named : tensors) all += named.tensor.type().bytes();
  AtomicFile file(path, all);
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::uint8_t>(header.size() >> (8 * i));
  }
  file.write(length.data(), length.size());
  file.write(header.data(), header.size());
  for (const NamedTensor& named : tensors) write_data(file, named.tensor);
  file.commit();
}

}  // namespace plimsoll::train
