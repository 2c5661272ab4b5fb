#include "data/sources/probe_file.h"

#include <algorithm>
#include <vector>

#include <plimsoll/base/error.h>

#include "data/sources/read_file.h"

namespace plimsoll::data {
namespace {

/// Most headers end within the first; those with thumbnails and colour profiles take more.
constexpr Bytes kFirstBytes = KiB(16);
constexpr Bytes kMostBytes = MiB(8);

}  // namespace

PictureFile probe_file(const std::string& path) {
  const InputFile file(path);
  PictureFile result;
  result.size = file.size();
  std::vector<std::byte> head;
  for (Bytes want = kFirstBytes;; want *= 4) {
    const Bytes before = head.size();
    head.resize(std::min(want, result.size));
    const Bytes got = file.read(head.data() + before, head.size() - before, before);
    const bool all = before + got < head.size() || head.size() == result.size;
    head.resize(before + got);
    try {
      result.image = image::probe(head);
      return result;
    } catch (const image::HeaderCutOff&) {
      if (all || want >= kMostBytes) throw;
    }
  }
}

}  // namespace plimsoll::data
