#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <glob.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/program_ops.h>

#include "data/engine/indexed_stage.h"
#include "data/stages/lazy_map.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

/// Paths one after the other in one string, and a class for each where there are classes.
struct FileList {
  std::string text;
  std::vector<std::uint64_t> ends;
  std::vector<std::int32_t> labels;
  std::vector<std::string> classes;

  void add(std::string_view path) {
    text += path;
    ends.push_back(text.size());
  }
  std::string_view path(std::size_t index) const {
    const std::uint64_t begin = index == 0 ? 0 : ends[index - 1];
    return std::string_view(text).substr(begin, ends[index] - begin);
  }
  Bytes nbytes() const {
    return text.capacity() + ends.capacity() * sizeof(std::uint64_t) +
           labels.capacity() * sizeof(std::int32_t);
  }
};

ElementSpec file_spec(bool labels) {
  if (!labels) return {true, {TensorSpec::scalar(DType::bytes)}, {"path"}};
  return {
      true, {TensorSpec::scalar(DType::bytes), TensorSpec::scalar(DType::i64)}, {"path", "label"}};
}

/// The list is the description's, made before there is a budget; a running pipeline charges it.
class FilesNode final : public IndexedNode, public FileSource {
 public:
  /// `prefix` characters of each path are not part of its name.
  FilesNode(std::string kind, std::string where, std::size_t prefix, FileList list)
      : IndexedNode(std::move(kind), "", file_spec(!list.labels.empty()),
                    static_cast<std::int64_t>(list.ends.size())),
        where_(std::move(where)),
        prefix_(prefix),
        list_(std::move(list)) {}
  // The files decide what it gives, wherever they are; a position has their digest.
  std::string settings() const override { return printable(where_); }
  Element get(std::int64_t index, Engine& engine) const override {
    const auto at = static_cast<std::size_t>(index);
    Element element;
    element.push_back(Tensor::from_strings({list_.path(at)}, {}, engine.device(),
                                           engine.tensor_options(Tag::input, kind())));
    if (!list_.labels.empty()) element.push_back(std::int64_t{list_.labels[at]});
    return element;
  }
  StagePtr make(Builder& builder) const override;
  const FileSource* files() const override { return this; }
  std::int64_t file_count() const override { return size(); }
  std::string file_path(std::int64_t index) const override {
    return std::string(list_.path(static_cast<std::size_t>(index)));
  }
  std::string file_name(std::int64_t index) const override {
    return std::string(list_.path(static_cast<std::size_t>(index)).substr(prefix_));
  }
  std::int64_t file_class(std::int64_t index) const override {
    return list_.labels.empty() ? -1 : list_.labels[static_cast<std::size_t>(index)];
  }
  std::vector<std::string> class_names() const override { return list_.classes; }
  Bytes minimum(int /*threads*/) const override { return list_.nbytes(); }

 private:
  std::string where_;
  std::size_t prefix_;
  FileList list_;
};

class FilesStage final : public IndexedStage {
 public:
  FilesStage(NodePtr keep, const IndexedSource& source, Engine& engine, Bytes bytes)
      : IndexedStage(std::move(keep), source, engine),
        charge_(engine.budget().charge(Tag::input, keep_->kind(), bytes)) {}

 private:
  Charge charge_;
};

StagePtr FilesNode::make(Builder& builder) const {
  return std::make_unique<FilesStage>(shared_from_this(), *this, builder.engine(), list_.nbytes());
}

bool is_picture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

/// Anything but a regular file or folder, or what cannot be read (a link to itself, say), is left
/// out: what is wanted is named by the caller where there is none of it. A link to a picture that
/// is gone counts as one, so that reading it fails by name and it is not missed in silence.
std::vector<std::string> sorted_entries(const std::string& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    const fs::file_status status = at->status(unknown);
    const bool gone = status.type() == fs::file_type::not_found;
    // Hidden folders (.git, .ipynb_checkpoints) are nobody's classes.
    const bool hidden = at->path().filename().string().starts_with('.');
    const bool wanted = folders ? fs::is_directory(status) && !hidden
                                : is_picture(at->path()) && (fs::is_regular_file(status) || gone);
    if (wanted && (gone || !unknown)) names.push_back(at->path().string());
  }
  if (error) {
    throw DataError(fmt::format("[image_folder] {}: {}", printable(folder), error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The folder that all matches of a pattern are in, with its slash.
std::string_view fixed_part(std::string_view pattern) {
  const std::string_view fixed = pattern.substr(0, pattern.find_first_of("*?[\\"));
  return fixed.substr(0, fixed.rfind('/') + 1);
}

}  // namespace

Dataset Dataset::list_files(const std::string& pattern, const ListFilesOptions& options) {
  ::glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  const std::unique_ptr<::glob_t, decltype(&::globfree)> guard(&found, &::globfree);
  if (status != 0 || found.gl_pathc == 0) {
    throw DataError(fmt::format("[list_files] no file matches {}", printable(pattern)));
  }
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::sort(paths.begin(), paths.end());
  FileList list;
  for (const std::string& path : paths) list.add(path);
  Dataset files(std::make_shared<FilesNode>("list_files", pattern, fixed_part(pattern).size(),
                                            std::move(list)));
  if (!options.shuffle) return files;
  return files.shuffle({.elements = kWholeSet, .seed = options.seed});
}

Dataset Dataset::image_folder(const std::string& folder, const image::DecodeOptions& options) {
  const Dataset files = image_paths(folder);
  return map_lazily(files, trace_program(files.element_spec(), [&](const Symbolics& file) {
                      return Symbolics{{"image", image::decode(read_file(file["path"]), options)},
                                       {"label", file["label"]}};
                    }));
}

Dataset Dataset::image_paths(const std::string& folder) {
  FileList list;
  std::int32_t label = 0;
  for (const std::string& each : sorted_entries(folder, true)) {
    list.classes.push_back(fs::path(each).filename().string());
    for (const std::string& path : sorted_entries(each, false)) {
      list.add(path);
      list.labels.push_back(label);
    }
    ++label;
  }
  if (list.ends.empty()) {
    throw DataError(
        fmt::format("[image_folder] no JPEG or PNG files in the folders of {}; give a folder that "
                    "has one folder per class",
                    printable(folder)));
  }
  const std::size_t prefix = folder.size() + (folder.ends_with('/') ? 0 : 1);
  return Dataset(std::make_shared<FilesNode>("image_folder", folder, prefix, std::move(list)));
}

}  // namespace plimsoll::data
