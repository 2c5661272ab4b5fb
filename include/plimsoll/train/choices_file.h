#pragma once

#include <string>
#include <string_view>

#include <plimsoll/base/error.h>
#include <plimsoll/device/choices.h>

namespace plimsoll::train {

/// What the libraries of a device chose, as a file: the choices.json of a checkpoint, and what
/// `plimsoll tune` writes.
struct ChoicesFile {
  std::string backend;  ///< "cuda"
  /// The model of the device, "NVIDIA H200", and the libraries with their versions. Empty where the
  /// file does not say.
  std::string device = {};
  std::string libraries = {};
  Choices choices = {};
};

/// `choices` as those of this device.
ChoicesFile choices_file(const Device& device, Choices choices);

/// One JSON object, the same for the same choices.
std::string to_json(const ChoicesFile& file);
/// Throws DataError that says what is wrong with the text: it is not JSON, a name is there twice,
/// something is missing, is not printable text, or is more than a device keeps.
ChoicesFile parse_choices(std::string_view text);

/// Reads a file that a user has named. Throws DataError with the path, what is wrong, and the
/// remedy.
ChoicesFile read_choices(const std::string& path);
/// The file is there as a whole or as it was before. Throws DataError or StorageError.
void write_choices(const std::string& path, const ChoicesFile& file);

/// Why these choices are not for that device: they are of another kind of device, another model, or
/// other versions of its libraries. Empty if they are for it.
std::string why_not_for(const ChoicesFile& file, const Device& device);

}  // namespace plimsoll::train
