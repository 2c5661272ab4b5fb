#pragma once

#include <string>

namespace plimsoll::data {

/// The folder of one pipeline's cache in `folder`, made where there is none, with the signature of
/// the pipeline in it for people; what writers that are gone have left is removed. Throws
/// StorageError or DataError where it cannot be made.
std::string prepare_cache_folder(const std::string& folder, const std::string& name,
                                 const std::string& signature);

}  // namespace plimsoll::data
