// Pictures, files and strings in programs.
#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/program_ops.h>

#include "bind.h"
#include "symbolic.h"

namespace plimsoll::python {
namespace {

using data::Symbolic;

std::pair<int, int> size_of(nb::handle size, Where where) {
  const std::vector<std::int64_t> pixels = as_ints(size, where);
  if (pixels.empty() || pixels.size() > 2) {
    wrong_value(where, size, "it must be pixels: 224, or (height, width)");
  }
  return {static_cast<int>(pixels.front()), static_cast<int>(pixels.back())};
}

std::vector<float> floats(nb::handle value, Where where) {
  if (const auto number = as_number(value)) return {static_cast<float>(*number)};
  std::vector<float> all;
  for (nb::handle each : value) all.push_back(static_cast<float>(as_double(each, where)));
  return all;
}

/// Those who know torchvision divide by 255 first, and would do it twice.
void require_undivided(const Symbolic& picture) {
  const std::string what = picture.describe();
  if (what.find("result of div)") == std::string::npos &&
      what.find("result of normalize)") == std::string::npos) {
    return;
  }
  throw InvalidArgument("[normalize] the picture, " + what +
                        ", was divided already, and normalize divides by 255 itself; leave the "
                        "division out, or say what the largest value is now: most=1");
}

void picture(nb::module_& m, const char* name, Symbolic (*op)(const Symbolic&), const char* doc) {
  m.def(
      name,
      [name, op](nb::handle x) {
        return Traced{op(as_picture(x, {name, "picture"}))};
      },
      nb::arg("picture"),
      nb::sig(("def " + std::string(name) +
               "(picture: plimsoll._core.Symbolic) -> plimsoll._core.Symbolic")
                  .c_str()),
      doc);
}

void sized(nb::module_& m, const char* name, Symbolic (*op)(const Symbolic&, int, int),
           const char* doc) {
  m.def(
      name,
      [name, op](nb::handle x, nb::handle size) {
        const auto [height, width] = size_of(size, {name, "size"});
        return Traced{op(as_picture(x, {name, "picture"}), height, width)};
      },
      nb::arg("picture"), nb::arg("size"),
      nb::sig(("def " + std::string(name) +
               "(picture: plimsoll._core.Symbolic, size: int | typing.Sequence[int]) -> "
               "plimsoll._core.Symbolic")
                  .c_str()),
      doc);
}

void text(nb::module_& m, const char* name, Symbolic (*op)(const Symbolic&), const char* doc) {
  m.def(
      name, [op](const Traced& x) { return Traced{op(x.value)}; }, nb::arg("text"),
      nb::sig(("def " + std::string(name) +
               "(text: plimsoll._core.Symbolic) -> plimsoll._core.Symbolic")
                  .c_str()),
      doc);
}

void text_with(nb::module_& m, const char* name, const char* argument,
               Symbolic (*op)(const Symbolic&, const std::string&), const char* doc) {
  m.def(
      name, [op](const Traced& x, const std::string& with) { return Traced{op(x.value, with)}; },
      nb::arg("text"), nb::arg(argument), doc);
}

void bind_strings(nb::module_ m) {
  text(m, "lower", strings::lower, "ASCII letters in lower case.");
  text(m, "upper", strings::upper, "ASCII letters in upper case.");
  text(m, "strip", strings::strip, "Removes white space at both ends.");
  text(m, "length", strings::length, "The length of a string in bytes.");
  text_with(m, "contains", "part", strings::contains, "Whether a string contains `part`.");
  text_with(m, "starts_with", "part", strings::starts_with,
            "Whether a string begins with this text.");
  text_with(m, "ends_with", "part", strings::ends_with, "Whether a string ends with this text.");
  text_with(m, "equals", "other", strings::equals,
            "Whether a string equals `other`, as text == other does.");
  text_with(m, "split", "separator", strings::split, "The parts of a string between separators.");
  text_with(m, "join", "separator", strings::join,
            "Joins strings into one, with `separator` between them.");
  m.def(
      "substr",
      [](const Traced& x, std::int64_t begin, nb::handle count) {
        return Traced{strings::substr(
            x.value, begin, count.is_none() ? Tensor::kToEnd : as_int(count, {"substr", "count"}))};
      },
      nb::arg("text"), nb::arg("begin"), nb::arg("count").none() = nb::none(),
      nb::sig("def substr(text: plimsoll._core.Symbolic, begin: int, count: int | None = None) -> "
              "plimsoll._core.Symbolic"),
      "The `count` bytes of a string from `begin` on.");
  m.def(
      "replace",
      [](const Traced& x, const std::string& part, const std::string& with) {
        return Traced{strings::replace(x.value, part, with)};
      },
      nb::arg("text"), nb::arg("part"), nb::arg("by"), "Replaces every occurrence of `part`.");
  m.def(
      "to_number",
      [](const Traced& x, nb::handle dtype) {
        return Traced{strings::to_number(x.value, as_dtype(dtype, {"to_number", "dtype"}))};
      },
      nb::arg("text"), nb::arg("dtype") = DType::f32,
      nb::sig("def to_number(text: plimsoll._core.Symbolic, dtype: plimsoll._core.DType | str = "
              "'f32') -> plimsoll._core.Symbolic"),
      "The strings as numbers.");
}

void bind_images(nb::module_ m) {
  m.def(
      "decode",
      [](nb::handle x, bool contents, int channels, bool apply_orientation) {
        Traced* traced = nullptr;
        if (!nb::try_cast(x, traced) || traced == nullptr) as_symbolic(x, {"decode", "file"});
        const bool is_path = traced->is_input && !contents;
        const Symbolic bytes = is_path ? data::read_file(traced->value) : traced->value;
        image::DecodeOptions options;
        options.channels = channels;
        options.apply_orientation = apply_orientation;
        return Traced{image::decode(bytes, options)};
      },
      nb::arg("file"), nb::kw_only(), nb::arg("contents") = false, nb::arg("channels") = 3,
      nb::arg("apply_orientation") = false,
      nb::sig(
          "def decode(file: plimsoll._core.Symbolic, *, contents: bool = False, channels: int = "
          "3, apply_orientation: bool = False) -> plimsoll._core.Symbolic"),
      "JPEG or PNG as u8 [height, width, channels]. A component is the path of a file, which is "
      "read; with contents=True it is the file itself, as records have it.\n\n"
      ">>> samples.map(lambda jpg, cls: (pm.image.resize(pm.image.decode(jpg, contents=True), "
      "224), "
      "cls))");
  m.def(
      "resize",
      [](nb::handle x, nb::handle size, nb::handle filter, bool antialias) {
        const auto [height, width] = size_of(size, {"resize", "size"});
        const std::string name = as_text(filter, {"resize", "filter"});
        image::ResizeOptions options;
        options.antialias = antialias;
        if (name == "nearest") {
          options.filter = image::Filter::nearest;
        } else if (name == "bicubic") {
          options.filter = image::Filter::bicubic;
        } else if (name == "area") {
          options.filter = image::Filter::area;
        } else if (name != "bilinear") {
          wrong_value({"resize", "filter"}, filter,
                      "there are \"bilinear\", \"nearest\", \"bicubic\" and \"area\"");
        }
        return Traced{image::resize(as_picture(x, {"resize", "picture"}), height, width, options)};
      },
      nb::arg("picture"), nb::arg("size"), nb::kw_only(), nb::arg("filter") = "bilinear",
      nb::arg("antialias") = false,
      nb::sig("def resize(picture: plimsoll._core.Symbolic, size: int | typing.Sequence[int], *, "
              "filter: str = "
              "'bilinear', antialias: bool = False) -> plimsoll._core.Symbolic"),
      "A picture of another size, f32, values as before; of a path the file is read and decoded.");
  m.def(
      "crop",
      [](nb::handle x, int top, int left, nb::handle size) {
        const auto [height, width] = size_of(size, {"crop", "size"});
        return Traced{image::crop(as_picture(x, {"crop", "picture"}), top, left, height, width)};
      },
      nb::arg("picture"), nb::arg("top"), nb::arg("left"), nb::arg("size"),
      nb::sig("def crop(picture: plimsoll._core.Symbolic, top: int, left: int, size: int | "
              "typing.Sequence[int]) -> "
              "plimsoll._core.Symbolic"),
      "The part whose upper left corner is at (top, left).");
  sized(m, "center_crop", image::center_crop, "The part of this size in the middle of a picture.");
  sized(m, "random_crop", image::random_crop,
        "A part of that size, drawn for each element and epoch.");
  picture(m, "flip_left_right", image::flip_left_right,
          "Mirrors a picture: left and right change places.");
  picture(m, "flip_up_down", image::flip_up_down,
          "Turns a picture upside down: top and bottom change places.");
  picture(m, "to_unit", image::to_unit, "value / 255");
  m.def(
      "random_flip",
      [](nb::handle x, double probability) {
        return Traced{image::random_flip(as_picture(x, {"random_flip", "picture"}), probability)};
      },
      nb::arg("picture"), nb::arg("probability") = 0.5,
      nb::sig("def random_flip(picture: plimsoll._core.Symbolic, probability: float = 0.5) -> "
              "plimsoll._core.Symbolic"),
      "Mirrors a picture with that probability, drawn for each element and epoch.");
  m.def(
      "normalize",
      [](nb::handle x, nb::handle mean, nb::handle deviation, nb::handle most) {
        Symbolic picture = as_picture(x, {"normalize", "picture"});
        if (most.is_none()) {
          require_undivided(picture);
        } else if (const double largest = as_double(most, {"normalize", "most"}); largest != 255) {
          picture = picture * (255 / largest);
        }
        return Traced{image::normalize(picture, floats(mean, {"normalize", "mean"}),
                                       floats(deviation, {"normalize", "deviation"}))};
      },
      nb::arg("picture"), nb::arg("mean"), nb::arg("deviation"), nb::kw_only(),
      nb::arg("most").none() = nb::none(),
      nb::sig("def normalize(picture: plimsoll._core.Symbolic, mean: typing.Sequence[float], "
              "deviation: typing.Sequence[float], *, most: float | None = None) -> "
              "plimsoll._core.Symbolic"),
      "(value / 255 - mean) / deviation, per channel. Of pictures that were divided by 255 already "
      "the largest value is given as most=1.");
  m.def(
      "read_file", [](const Traced& path) { return Traced{data::read_file(path.value)}; },
      nb::arg("path"), "The contents of the file at a path.");
  m.def(
      "decode_raw",
      [](const Traced& bytes, nb::handle dtype) {
        return Traced{data::decode_raw(bytes.value, as_dtype(dtype, {"decode_raw", "dtype"}))};
      },
      nb::arg("bytes"), nb::arg("dtype"),
      nb::sig("def decode_raw(bytes: plimsoll._core.Symbolic, dtype: plimsoll._core.DType | str) "
              "-> plimsoll._core.Symbolic"),
      "Bytes as numbers in one dimension.");
}

}  // namespace

void bind_image(nb::module_& m) {
  bind_images(m.def_submodule("_image"));
  bind_strings(m.def_submodule("_strings"));
}

}  // namespace plimsoll::python
