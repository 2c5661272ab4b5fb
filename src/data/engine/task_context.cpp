#include "data/engine/task_context.h"

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/sources/read_file.h"

namespace plimsoll::data {

MapSetting::MapSetting(Engine& on, const MapFunction& applied, std::uint64_t stage_number)
    : engine(on),
      function(applied),
      title(fmt::format("map({})", applied.name)),
      results(on.tensor_options(Tag::input, title)),
      decode(on.budget().account(Tag::decode, title)),
      number(stage_number) {}

Philox::Key MapSetting::key() const {
  const std::uint64_t mixed = mix_ids(mix_ids(engine.seed(), number), epoch);
  return {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)};
}

Element MapSetting::call(const Element& element, MapContext& context) const {
  try {
    Element result = function.run(element, context);
    result.id = element.id;
    return result;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::exception& error) {
    throw DataError(failure(element, error.what()));
  } catch (...) {  // a pool's thread has nobody to catch it
    throw DataError(failure(element, "the function threw something that is not a std::exception"));
  }
}

std::string MapSetting::failure(const Element& element, std::string_view what) const {
  const std::string file = file_of(element);
  // Of names with options ("decode_images 1: 28x28x3 ...") the first word.
  const std::string_view name = function.name;
  const std::string_view word = name.substr(0, name.find_first_of(" :("));
  if (file.empty()) {
    const std::string_view rest = name.substr(word.size());
    const bool options =
        rest.find_first_not_of(" 0123456789") == rest.find(": ") && rest.starts_with(' ');
    return fmt::format("[map({})] element {}: {}", options ? word : name, element.to_string(),
                       what);
  }
  // What reads the file names it itself.
  if (what.starts_with(file + ": ")) what.remove_prefix(file.size() + 2);
  return fmt::format("{}: {} ({})", file, what, word);
}

bool MapSetting::is_final(const OutOfMemoryReport& report) const {
  if (!engine.last_resort() || engine.relief_refused()) return false;
  // The consumer may free what it holds and ask again; a window or a cache that leaves no room is
  // not the element's fault.
  Bytes kept = 0;
  for (const Holder& holder : by_tag(report.holders)) {
    if (holder.tag == Tag::user && holder.bytes > 0) return false;
    if (holder.tag == Tag::shuffle || holder.tag == Tag::cache) kept += holder.bytes;
  }
  return kept < report.requested;
}

std::string MapSetting::too_large(const OutOfMemoryReport& report, Bytes taken) const {
  const Budget& budget = engine.budget();
  const Bytes there =
      budget.limit() == kUnlimited ? budget.used() + budget.available() : budget.limit();
  return fmt::format(
      "it takes {} ({} bytes), and {} has only {} even when nothing else runs; raise the budget by "
      "{}, make it smaller, or skip it (skip_errors)",
      format_bytes(taken), taken, report.budget, format_bytes(there),
      format_bytes(std::max(taken, there) - there + report.requested / 16));
}

std::string MapSetting::file_of(const Element& element) const {
  if (!function.needs || element.empty()) return {};
  const Value& first = element[0];
  if (first.is_scalar() || first.dtype() != DType::bytes || first.tensor().elements() != 1)
    return {};
  return printable(first.text());
}

void TaskContext::count(Bytes bytes) {
  taken_ += bytes;
  setting_.engine.task_bytes() += bytes;
}

Tensor TaskContext::output(std::size_t index) {
  if (index < placed_.size() && placed_[index].defined()) return placed_[index];
  const auto& spec = setting_.function.output;
  if (!spec || index >= spec->components.size()) {
    throw InvalidArgument(
        fmt::format("output({}) of a function that declares no such component", index));
  }
  return empty(spec->components[index].shape(), spec->components[index].dtype);
}

Tensor TaskContext::empty(const Shape& shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, dtype, setting_.engine.device(), setting_.results);
  count(tensor.nbytes());
  return tensor;
}

Value TaskContext::text(std::string_view value) { return Value(texts({&value, 1}, {})); }

Tensor TaskContext::texts(std::span<const std::string_view> values, const Shape& shape) {
  Tensor tensor = Tensor::from_strings(values, shape, setting_.engine.device(), setting_.results);
  count(tensor.nbytes());
  return tensor;
}

FileBytes TaskContext::read_file(std::string_view path) {
  FileBytes file =
      data::read_file(std::string(path), setting_.engine.device().arena(), setting_.decode);
  count(file.bytes().size());
  return file;
}

Philox::Counter TaskContext::random(std::uint32_t draw) const {
  return Philox::draw(
      {static_cast<std::uint32_t>(id_), static_cast<std::uint32_t>(id_ >> 32), draw, 0},
      setting_.key());
}

void* TaskContext::allocate(Bytes bytes) {
  Block block = setting_.engine.device().arena().allocate(bytes == 0 ? 1 : bytes, setting_.decode);
  count(bytes);
  void* const pointer = block.data();
  scratch_.emplace_back(pointer, std::move(block));
  return pointer;
}

void TaskContext::free(void* pointer) noexcept {
  const auto found = std::find_if(scratch_.begin(), scratch_.end(),
                                  [&](const auto& each) { return each.first == pointer; });
  if (found != scratch_.end()) scratch_.erase(found);
}

}  // namespace plimsoll::data
