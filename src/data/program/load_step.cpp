// Peephole: read_file, decode_image, a crop or a cast to f32, resize or a random resized crop,
// normalize, a flip and a transpose to planes that follow one another become image::load(), which
// does them in one pass over rows. What is done element by element to its result, such as a
// division or a cast to u8, is done to those rows, too.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/image/load.h>

#include "data/program/aligned_scratch.h"
#include "data/program/draws.h"
#include "data/program/load_options.h"
#include "data/program/row_tail.h"
#include "data/program/steps.h"

namespace plimsoll::data {
namespace {

/// Which instructions read each value; an output counts as a reader that is none.
std::vector<std::vector<int>> readers_of(const Program::Parts& parts) {
  std::vector<std::vector<int>> readers(specs_of_values(parts).size());
  const auto add = [&readers](const Operand& operand, int reader) {
    if (!operand.is_constant) {
      readers[static_cast<std::size_t>(operand.index)].push_back(reader);
    }
  };
  for (std::size_t i = 0; i < parts.instructions.size(); ++i) {
    for (const Operand& input : parts.instructions[i].inputs) add(input, static_cast<int>(i));
  }
  for (const Operand& output : parts.outputs) add(output, -1);
  return readers;
}

bool is_crop(const std::string& op) {
  return op == "crop" || op == "center_crop" || op == "random_crop";
}
bool is_flip(const std::string& op) { return op == "flip_left_right" || op == "random_flip"; }
bool to_f32(const Instruction& instruction) {
  return instruction.op == "cast" && instruction.attributes.dtype("dtype") == DType::f32;
}
/// What load() does to the bit as a resize of floats does it.
bool is_exact_resize(const Instruction& instruction) {
  return instruction.op == "resize" && instruction.attributes.text("filter") == "bilinear" &&
         !instruction.attributes.flag("antialias");
}
bool to_planes(const Instruction& instruction) {
  return instruction.op == "transpose" &&
         instruction.attributes.integers("order") == std::vector<std::int64_t>{2, 0, 1};
}

/// Follows what a decoded picture goes through for as long as load() can do it.
class ChainFinder {
 public:
  explicit ChainFinder(const Program::Parts& parts) : parts_(parts), readers_(readers_of(parts)) {}

  std::vector<LoadChain> all() {
    std::vector<LoadChain> chains;
    for (std::size_t i = 0; i < parts_.instructions.size(); ++i) {
      if (parts_.instructions[i].op != "decode_image") continue;
      LoadChain chain = from(i);
      if (chain.instructions.size() > 1) chains.push_back(std::move(chain));
    }
    return chains;
  }

 private:
  const Instruction& at(std::size_t i) const { return parts_.instructions[i]; }

  /// The only instruction that reads the result of `i`.
  std::optional<std::size_t> next(std::size_t i) const {
    const auto& readers = readers_[static_cast<std::size_t>(at(i).first_output)];
    if (readers.size() != 1 || readers.front() < 0) return std::nullopt;
    const auto reader = static_cast<std::size_t>(readers.front());
    const Operand& first = at(reader).inputs.front();
    if (first.is_constant || first.index != at(i).first_output) return std::nullopt;
    return reader;
  }

  std::optional<std::size_t> reading(std::size_t decode) const {
    const Operand& bytes = at(decode).inputs.front();
    for (std::size_t i = 0; i < decode; ++i) {
      const bool made = !bytes.is_constant && at(i).first_output == bytes.index;
      if (made && at(i).op == "read_file" && next(i) == decode) return i;
    }
    return std::nullopt;
  }

  LoadChain from(std::size_t decode) const {
    LoadChain chain;
    if (const auto read = reading(decode)) chain.instructions.push_back(*read);
    chain.instructions.push_back(decode);
    const ops::Attributes& how = at(decode).attributes;
    const std::int64_t channels = how.integer("channels");
    // Turned pictures are resized before they are turned: other bits than one by one.
    if ((channels != 1 && channels != 3 && channels != 4) || how.flag("apply_orientation")) {
      return chain;
    }
    auto step = next(decode);
    std::optional<std::size_t> before;  // a crop or a cast
    if (step && (is_crop(at(*step).op) || to_f32(at(*step)))) {
      before = std::exchange(step, next(*step));
    }
    if (!step || (before && to_f32(at(*before)) && !is_exact_resize(at(*step)))) return chain;
    const bool resized_crop = !before && at(*step).op == "random_resized_crop";
    if (at(*step).op != "resize" && !resized_crop) return chain;
    if (before) chain.instructions.push_back(*before);
    chain.instructions.push_back(*step);
    bool flipped = false;
    bool normalized = false;
    bool planes = false;
    for (step = next(*step); step; step = next(*step)) {
      const Instruction& each = at(*step);
      if (is_flip(each.op) && !flipped && !planes) {
        flipped = true;
      } else if (each.op == "normalize" && !normalized && !planes && chain.by_element.empty() &&
                 constant_moments(each, channels)) {
        normalized = true;
      } else if (to_planes(each) && !planes) {
        planes = true;
      } else if (is_by_element(each, parts_, channels, planes)) {
        chain.by_element.push_back(*step);
      } else {
        break;
      }
      chain.instructions.push_back(*step);
    }
    return chain;
  }

  bool constant_moments(const Instruction& normalize, std::int64_t channels) const {
    return std::ranges::all_of(std::span(normalize.inputs).subspan(1), [&](const Operand& each) {
      return each.is_constant &&
             parts_.constants[static_cast<std::size_t>(each.index)].shape == Shape{channels};
    });
  }

  const Program::Parts& parts_;
  std::vector<std::vector<int>> readers_;
};

/// The contents and the decoder's memory are a block each.
constexpr Bytes kBlock = KiB(4);

/// A draw that a chain makes for each element.
struct Drawn {
  const Instruction* instruction = nullptr;
  std::uint32_t index = 0;
};

class LoadStep final : public Step {
 public:
  LoadStep(const LoadChain& chain, const Program::Parts& parts,
           const std::vector<std::uint32_t>& random_indices) {
    const Instruction& first = parts.instructions[chain.instructions.front()];
    const Instruction& last = parts.instructions[chain.instructions.back()];
    inputs = {first.inputs.front()};
    first_output = last.first_output;
    for (const std::size_t i : chain.instructions) {
      const Instruction& each = parts.instructions[i];
      const std::string written = text_of(each, parts.constants);
      if (each.op == "read_file") reading_ = written;
      // What fails but for reading and cropping is decoding.
      if (each.op == "decode_image") text = written;
      const bool resized_crop = each.op == "random_resized_crop";
      if (each.op == "resize" || resized_crop) resizes_ = true;
      if (is_crop(each.op) || resized_crop) {
        crop_ = {&each, random_indices[i]};
        cropping_ = written;
      }
      if (each.op == "random_flip") flip_ = {&each, random_indices[i]};
    }
    options_ = load_options(chain, parts);
    if (chain.by_element.empty()) return;
    image::LoadOptions& load = options_.load;
    const bool planes = load.layout == Layout::channels_first;
    // Elements are moved to planes last.
    load.layout = Layout::channels_last;
    tail_ = RowTail(chain.by_element, parts, load.height, load.width, load.channels, planes);
    result_ = {tail_.dtype(), last.outputs.front().shape()};
  }

  void run(Frame& frame) const override {
    const ProgramInput source = frame.input(inputs.front());
    if (reading_.empty()) {
      const std::string_view bytes = source.text();
      decode(frame, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
      return;
    }
    std::optional<FileBytes> file;
    within(reading_, [&] { file = frame.context.read_file(source.text()); });
    decode(frame, file->bytes());
  }

  Bytes needs(const PictureFile& file) const override {
    const Bytes contents = reading_.empty() ? 0 : align_up(file.size, kBlock);
    if (!resizes_) return contents + align_up(file.image.scratch, kBlock);
    return contents + align_up(image::plan_load(file.image, options_.load).scratch, kBlock) +
           (tail_.empty() ? 0 : align_up(tail_.scratch() + AlignedScratch::kAlignment, kBlock));
  }

 private:
  Tensor output(Frame& frame, const Shape& shape, DType dtype) const {
    Tensor tensor = places[0] >= 0
                        ? frame.context.output(static_cast<std::size_t>(places[0])).reshape(shape)
                        : frame.context.empty(shape, dtype);
    frame.values[static_cast<std::size_t>(first_output)] = Value(tensor);
    return tensor;
  }

  void decode(Frame& frame, std::span<const std::byte> bytes) const {
    const image::ImageInfo info = image::probe(bytes);
    if (!resizes_) {
      const image::Extent extent = image::decoded_extent(info, options_.decode);
      Tensor pixels = output(frame, {extent.height, extent.width, extent.channels}, DType::u8);
      image::decode(bytes, info, options_.decode, frame.context.scratch(),
                    image::packed(pixels.mutable_data<std::uint8_t>(), extent.height, extent.width,
                                  extent.channels));
      return;
    }
    image::LoadOptions load = options_.load;
    if (crop_.instruction != nullptr) {
      within(cropping_, [&] { load.crop = window(frame.context, info); });
    }
    if (flip_.instruction != nullptr) {
      load.flip = drawn_flip(random_of(frame.context, flip_.index, 0),
                             flip_.instruction->attributes.number("probability"));
    }
    if (!tail_.empty()) {
      load_by_rows(frame, bytes, info, load);
      return;
    }
    const std::int64_t height = load.height;
    const std::int64_t width = load.width;
    const std::int64_t channels = load.channels;
    Tensor pixels = output(frame,
                           load.layout == Layout::channels_first ? Shape{channels, height, width}
                                                                 : Shape{height, width, channels},
                           DType::f32);
    image::load(bytes, info, load, frame.context.scratch(), pixels.mutable_data<float>());
  }

  void load_by_rows(Frame& frame, std::span<const std::byte> bytes, const image::ImageInfo& info,
                    const image::LoadOptions& load) const {
    Tensor pixels = output(frame, result_.shape, result_.dtype);
    void* const out = pixels.raw_mutable_data();
    const AlignedScratch buffers(frame.context.scratch(), tail_.scratch());
    auto* const rows = static_cast<std::byte*>(buffers.data());
    image::load(bytes, info, load, frame.context.scratch(),
                {.rows = reinterpret_cast<float*>(rows),
                 .count = tail_.rows(),
                 .take = [&](int first, int made) { tail_.take(first, made, rows, out); }});
  }

  image::Window window(const MapContext& context, const image::ImageInfo& info) const {
    const std::string& op = crop_.instruction->op;
    const ops::Attributes& given = crop_.instruction->attributes;
    if (op == "random_resized_crop") {
      return drawn_resized_window(
          [&](std::uint32_t draw) { return random_of(context, crop_.index, draw); }, info.height,
          info.width, crop_range(given));
    }
    const auto height = static_cast<int>(given.integer("height"));
    const auto width = static_cast<int>(given.integer("width"));
    if (op == "center_crop") return middle_window(info.height, info.width, height, width, op);
    if (op == "crop") {
      return inner_window(info.height, info.width,
                          {.x = static_cast<int>(given.integer("x")),
                           .y = static_cast<int>(given.integer("y")),
                           .width = width,
                           .height = height},
                          op);
    }
    return drawn_window(random_of(context, crop_.index, 0), info.height, info.width, height, width,
                        op);
  }

  std::string reading_;   ///< the instruction; empty: the bytes are there already
  std::string cropping_;  ///< the instruction
  bool resizes_ = false;
  Drawn crop_;
  Drawn flip_;
  ChainOptions options_;
  RowTail tail_;
  TensorType result_;  ///< of the tail
};

}  // namespace

std::vector<LoadChain> find_load_chains(const Program::Parts& parts) {
  return ChainFinder(parts).all();
}

StepPtr make_load_step(const LoadChain& chain, const Program::Parts& parts,
                       const std::vector<std::uint32_t>& random_indices) {
  return std::make_unique<LoadStep>(chain, parts, random_indices);
}

}  // namespace plimsoll::data
