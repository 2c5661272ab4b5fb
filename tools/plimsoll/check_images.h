#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::tools {

/// Reads the headers of the images in a folder with one folder per class, up to 20,000 files and
/// five seconds. DataError that names the first file that is no image, if there are more such files
/// than `allowed`; `option` is what gave the folder.
void check_images(const std::string& folder, std::int64_t allowed, const std::string& option);

}  // namespace plimsoll::tools
