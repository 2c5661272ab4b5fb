#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <plimsoll/data/records.h>

namespace plimsoll::data {

/// A column of an MDS dataset.
struct MdsColumn {
  std::string name;
  std::string encoding;  ///< "int", "float32", "str", "jpeg"
  Bytes size = 0;        ///< of a value; 0: it varies, and its size is stored with each sample
  DType dtype = DType::bytes;
};

struct MdsShard {
  std::string file;  ///< with its folder
  std::uint64_t samples = 0;
};

/// What index.json says.
struct MdsIndex {
  std::vector<MdsColumn> columns;
  std::vector<MdsShard> shards;
};

/// Reads and checks the index.json of `folder`, or the file itself if that is given. Throws
/// DataError beginning with its path: malformed, compressed, of another format or version, or with
/// encodings that are not read (pickles).
MdsIndex read_mds_index(const std::string& folder, const ByteStore& store);

/// The column's encoding as a dtype, and its size in bytes (0: it varies). DataError for one that
/// is not read.
MdsColumn mds_column(std::string name, std::string encoding);

}  // namespace plimsoll::data
