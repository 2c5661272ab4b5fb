#include "data/cache/cache_folder.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/storage_error.h>
#include <plimsoll/data/disk_cache.h>

#include "data/cache/segment.h"
#include "data/records/crc32c.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSignature = "pipeline.txt";
constexpr Bytes kPiece = KiB(256);

bool is_fingerprint(const std::string& name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// ".000003.segment.tmp-PID-N": the process that was writing it; 0 for anything else.
::pid_t writer_of(const std::string& name) {
  const auto at = name.find(".tmp-");
  if (!name.starts_with('.') || at == std::string::npos) return 0;
  ::pid_t pid = 0;
  std::from_chars(name.data() + at + 5, name.data() + name.size(), pid);
  return pid;
}

void remove_leftovers(const fs::path& place) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    const ::pid_t pid = writer_of(entry.path().filename().string());
    if (pid <= 0 || ::kill(pid, 0) == 0 || errno != ESRCH) continue;
    std::error_code ignored;
    fs::remove(entry.path(), ignored);
  }
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Checks every element of a segment. DataError with the offset.
void verify(const OpenSegment& segment) {
  std::vector<std::byte> piece(kPiece);
  const Bytes end = segment.info.contents;
  std::uint64_t elements = 0;
  for (Bytes at = 0; at < end; ++elements) {
    try {
      std::array<std::byte, kElementHead> head;
      if (segment.file->read(head.data(), head.size(), at) < head.size())
        throw DataError("cut off");
      const Bytes bytes = element_bytes(head, end - at);
      std::uint32_t wanted = 0;
      std::memcpy(&wanted, head.data() + 8, sizeof(wanted));
      std::uint32_t crc = crc32c(head.data() + 12, sizeof(std::uint32_t));
      for (Bytes done = kElementHead; done < bytes;) {
        const Bytes some = std::min<Bytes>(kPiece, bytes - done);
        if (segment.file->read(piece.data(), some, at + done) < some) throw DataError("cut off");
        crc = crc32c(piece.data(), some, crc);
        done += some;
      }
      if (crc != wanted) throw DataError("an element does not match its checksum");
      at += bytes;
    } catch (const DataError& error) {
      throw DataError(fmt::format("offset {}: {}", at, error.what()));
    }
  }
  if (elements != segment.info.elements) throw DataError("it has another number of elements");
}

CacheEntry look_at(const fs::path& place, bool whole) {
  CacheEntry entry;
  entry.name = place.filename().string();
  entry.pipeline = text_of(place / kSignature);
  std::map<std::string, Bytes> files;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(place, error)) {
    std::error_code unknown;
    const Bytes size = each.is_regular_file(unknown) ? each.file_size(unknown) : 0;
    if (unknown) continue;
    entry.bytes += size;
    if (each.path().extension() == ".segment") files[each.path().filename().string()] = size;
  }
  std::uint64_t next = 0;
  for (const auto& [name, size] : files) {
    const std::string path = (place / name).string();
    std::uint64_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    try {
      const OpenSegment segment = open_segment(path, number);
      if (whole) verify(segment);
      ++entry.segments;
      entry.elements += static_cast<std::int64_t>(segment.info.elements);
      entry.complete = segment.info.last && number == next;
      next = number + 1;
    } catch (const DataError& broken) {
      const std::string_view what = broken.what();
      const std::string shown = printable(path) + ": ";
      entry.broken.push_back(what.starts_with(shown) ? std::string(what)
                                                     : shown + std::string(what));
    }
  }
  entry.complete = entry.complete && entry.broken.empty();
  return entry;
}

std::vector<fs::path> places_in(const std::string& folder) {
  std::vector<fs::path> places;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_fingerprint(at->path().filename().string())) places.push_back(at->path());
  }
  if (error) throw DataError(fmt::format("{}: {}", printable(folder), error.message()));
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace

std::string prepare_cache_folder(const std::string& folder, const std::string& name,
                                 const std::string& signature) {
  const fs::path place = fs::path(folder) / name;
  std::error_code error;
  fs::create_directories(place, error);
  if (error) {
    const std::string text = fmt::format("{}: {}", printable(place.string()), error.message());
    if (error == std::errc::no_space_on_device) throw StorageError(text);
    throw DataError(text);
  }
  remove_leftovers(place);
  if (!fs::exists(place / kSignature, error)) {
    OutputFile file((place / kSignature).string());
    file.write(signature);
    file.commit();
  }
  return place.string();
}

std::vector<CacheEntry> list_cache(const std::string& folder, bool verify) {
  std::vector<CacheEntry> entries;
  for (const fs::path& place : places_in(folder)) entries.push_back(look_at(place, verify));
  return entries;
}

Bytes clear_cache(const std::string& folder, const std::string& name) {
  Bytes freed = 0;
  bool found = name.empty();
  for (const fs::path& place : places_in(folder)) {
    if (!name.empty() && place.filename() != name) continue;
    found = true;
    freed += look_at(place, false).bytes;
    std::error_code error;
    fs::remove_all(place, error);
    if (error) throw DataError(fmt::format("{}: {}", printable(place.string()), error.message()));
  }
  if (!found) {
    throw InvalidArgument(
        fmt::format("{}: no cache called \"{}\" in it", printable(folder), printable(name)));
  }
  return freed;
}

}  // namespace plimsoll::data
