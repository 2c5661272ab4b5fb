#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include <plimsoll/data/dataset.h>

namespace plimsoll::tools {

// Folders of images with a folder per class, as training takes them.

/// The first of these folders that `folder` has; empty if none.
std::filesystem::path first_of(const std::filesystem::path& folder,
                               std::initializer_list<const char*> names);

/// Names of the folders in a folder, in the order in which image_folder numbers them. What is not a
/// folder, or a link that leads nowhere, is none. InvalidArgument if it cannot be read.
std::vector<std::string> class_names(const std::filesystem::path& path);

/// "132 images in 3 classes: cat 40, dog 52, owl 40"; of many classes the first few.
std::string counts_of(const data::Dataset& files);

/// Warns of a folder that was forgotten, or is none of the classes.
void warn_of_empty_classes(const std::string& path, const data::Dataset& files);

/// InvalidArgument unless these are classes that a model with `classes` can learn to tell apart.
void check_classes(const std::filesystem::path& path, const std::vector<std::string>& names,
                   std::int64_t classes);

/// Labels are positions among the folders: InvalidArgument unless those of validation are the same.
void check_same(const std::filesystem::path& path, const std::vector<std::string>& names,
                const std::vector<std::string>& trained);

}  // namespace plimsoll::tools
