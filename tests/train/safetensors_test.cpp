#include <plimsoll/train/safetensors.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

#include "support/own_device.h"

namespace plimsoll::train {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file from its header's text and data.
std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

SafetensorsHeader parse(const std::string& bytes) {
  return parse_safetensors({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                           bytes.size(), "file");
}

std::string message_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class Safetensors : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Device device_ = test::own_cpu({.limit = MiB(64)});
  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("safetensors-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Safetensors, BytesAreThoseOfTheFormat) {
  const std::vector<NamedTensor> tensors = {
      {"a", Tensor::from_values({1.0F, 2.0F}, {2, 1}, device_)},
      {"b", Tensor::from_values({std::int64_t{7}}, {}, device_)}};
  save_safetensors(path("x"), tensors, {{"format", "pt"}});
  std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string data("\x00\x00\x80\x3f\x00\x00\x00\x40\x07\x00\x00\x00\x00\x00\x00\x00", 16);
  EXPECT_EQ(bytes_of(path("x")), file_of(header, data));
}

TEST_F(Safetensors, EveryDTypeShapeAndLayoutComesBack) {
  std::vector<NamedTensor> tensors;
  for (const DType dtype : kDTypes) {
    if (dtype == DType::bytes) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 0, 2}, Shape{5, 7}}) {
      Tensor t = Tensor::zeros(shape, dtype, device_);
      auto* at = static_cast<std::uint8_t*>(t.raw_mutable_data());
      for (Bytes i = 0; i < t.nbytes(); ++i) {
        at[i] = dtype == DType::boolean ? i % 2 : static_cast<std::uint8_t>(i * 37 + 1);
      }
      tensors.push_back({fmt::format("{}.{}", dtype_name(dtype), shape.to_string()), t});
    }
  }
  const Tensor gaps = Tensor::from_values({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2}, device_);
  tensors.push_back({"gaps", gaps.transpose(0, 1)});
  save_safetensors(path("x"), tensors, {{"note", "\"quoted\" \u00fc"}});

  const SafetensorsFile file(path("x"));
  EXPECT_EQ(file.header().entries.size(), tensors.size());
  EXPECT_EQ(file.header().metadata.at("note"), "\"quoted\" \u00fc");
  for (const NamedTensor& named : tensors) {
    const Tensor back = file.read(named.name, device_);
    ASSERT_EQ(back.type(), named.tensor.type()) << named.name;
    const Tensor dense = named.tensor.contiguous();
    if (dense.nbytes() > 0) {
      EXPECT_EQ(std::memcmp(back.raw_data(), dense.raw_data(), dense.nbytes()), 0) << named.name;
    }
  }
  EXPECT_EQ(file.read("gaps", device_).to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
}

TEST_F(Safetensors, SavingReplacesAtOnceAndLeavesNothingElse) {
  const auto save = [&](float value) {
    const std::vector<NamedTensor> tensors = {{"a", Tensor::from_values({value}, {}, device_)}};
    save_safetensors(path("x"), tensors);
  };
  save(1);
  const SafetensorsFile old(path("x"));
  save(2);
  EXPECT_EQ(SafetensorsFile(path("x")).read("a", device_).item<float>(), 2);
  EXPECT_EQ(old.read("a", device_).item<float>(), 1);  // whoever has it open keeps the old one
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Safetensors, WhatCannotBeSavedLeavesTheOldFile) {
  const Tensor a = Tensor::from_values({1.0F}, {}, device_);
  save_safetensors(path("x"), std::vector<NamedTensor>{{"a", a}});
  const std::string before = bytes_of(path("x"));
  EXPECT_THROW(save_safetensors(path("x"), std::vector<NamedTensor>{{"a", a}, {"a", a}}),
               InvalidArgument);
  EXPECT_THROW(save_safetensors(path("x"), std::vector<NamedTensor>{{"__metadata__", a}}),
               InvalidArgument);
  EXPECT_THROW(save_safetensors(path("x"), std::vector<NamedTensor>{{"\xff", a}}), InvalidArgument);
  const Tensor text = Tensor::from_strings({"x"}, {1}, device_);
  EXPECT_THROW(save_safetensors(path("x"), std::vector<NamedTensor>{{"t", text}}), InvalidArgument);
  EXPECT_EQ(bytes_of(path("x")), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_THROW(save_safetensors(path("no/such/folder"), std::vector<NamedTensor>{{"a", a}}),
               DataError);
  EXPECT_THROW(save_safetensors("/dev/full/x", std::vector<NamedTensor>{{"a", a}}), DataError);
}

TEST_F(Safetensors, BrokenFilesAreRefusedByName) {
  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return fmt::format(R"("w":{{"dtype":{},"shape":{},"data_offsets":{}}})", dtype, shape, offsets);
  };
  const auto one = [&](const std::string& dtype, const std::string& shape,
                       const std::string& offsets) {
    return message_of(file_of("{" + entry(dtype, shape, offsets) + "}", std::string(8, '\0')));
  };
  const std::string quoted = R"("F32")";
  EXPECT_EQ(one(quoted, "[2]", "[0,8]"), "nothing was thrown");
  EXPECT_THAT(message_of(""), HasSubstr("[safetensors] file: has 0 bytes"));
  EXPECT_THAT(message_of(file_of("", "")), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(message_of(file_of(" {}", "")), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(message_of(file_of("{", "")), HasSubstr("not JSON"));
  EXPECT_THAT(message_of(file_of("{}", "x")), HasSubstr("0 bytes, the file 1; it was cut"));
  EXPECT_THAT(message_of(std::string(8, '\xff')), HasSubstr("is refused"));
  EXPECT_THAT(message_of(file_of("{}", "").substr(0, 9)), HasSubstr("the file ends before"));
  EXPECT_THAT(one(quoted, "[3]", "[0,8]"), HasSubstr("'w' is f32 [3] and needs 12 bytes"));
  EXPECT_THAT(one(quoted, "[1]", "[4,8]"), HasSubstr("'w' begins at byte 4 of the data, not at 0"));
  EXPECT_THAT(one(quoted, "[2]", "[8,0]"), HasSubstr("data_offsets that are not valid"));
  EXPECT_THAT(one(quoted, "[2]", "[0]"), HasSubstr("two data_offsets"));
  EXPECT_THAT(one(quoted, "[2]", "[-8,0]"), HasSubstr("data_offsets that are not valid"));
  EXPECT_THAT(one(quoted, "[2]", "[0.0,8.0]"), HasSubstr("data_offsets that are not valid"));
  EXPECT_THAT(one(quoted, "[-2]", "[0,8]"), HasSubstr("not a size"));
  EXPECT_THAT(one(quoted, "[4611686018427387904,4]", "[0,8]"), HasSubstr("not a size"));
  EXPECT_THAT(one(quoted, "[1000000000000,1000000000000]", "[0,8]"), HasSubstr("more elements"));
  EXPECT_THAT(one(quoted, "[1,1,1,1,1,1,1,1,2]", "[0,8]"), HasSubstr("at most 8 extents"));
  EXPECT_THAT(one(quoted, "2", "[0,8]"), HasSubstr("not a list"));
  EXPECT_THAT(one(R"("F8_E4M3")", "[8]", "[0,8]"), HasSubstr(R"(dtype "F8_E4M3")"));
  EXPECT_THAT(one("7", "[8]", "[0,8]"), HasSubstr("dtype 7"));
  EXPECT_THAT(message_of(file_of(R"({"w":3})", "")), HasSubstr("'w' needs dtype"));
  EXPECT_THAT(message_of(file_of(R"({"__metadata__":{"a":1}})", "")),
              HasSubstr("__metadata__.a is not text"));
  const std::string twice =
      "{" + entry(quoted, "[1]", "[0,4]") + "," + entry(quoted, "[1]", "[4,8]");
  EXPECT_THAT(message_of(file_of(twice + "}", std::string(8, 'x'))),
              HasSubstr("'w' is there twice"));
  EXPECT_THAT(message_of(file_of("{\"\x1b[2J\":3}", "")), HasSubstr("JSON"));
}

TEST_F(Safetensors, FilesThatAreNoneAreRefused) {
  EXPECT_THROW(SafetensorsFile(path("missing")), DataError);
  EXPECT_THROW(SafetensorsFile(folder_.string()), DataError);
  const Tensor a = Tensor::from_values({1.0F}, {}, device_);
  save_safetensors(path("x"), std::vector<NamedTensor>{{"a", a}});
  const SafetensorsFile file(path("x"));
  EXPECT_THROW((void)file.read("b", device_), DataError);
  Tensor wrong = Tensor::zeros({1}, DType::f32, device_);
  EXPECT_THROW(file.read_into("a", wrong), DataError);
}

TEST_F(Safetensors, FilesOfOthersAreNamedAndLengthsThatLookLikeThemAreNot) {
  const std::string rest(1000, 'x');
  EXPECT_THAT(message_of(std::string("PK\3\4", 4) + rest), HasSubstr("torch.save"));
  EXPECT_THAT(message_of("\x80\x02\x8a\n" + rest), HasSubstr("pickle"));
  EXPECT_THAT(message_of("\x89HDF\r\n" + rest), HasSubstr("HDF5"));
  std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize(0x280, ' ');  // its length begins as a pickle does
  EXPECT_EQ(parse(file_of(header, std::string(8, '\0'))).entries.size(), 1U);
}

TEST_F(Safetensors, WhatIsNoFileIsNotReplacedByOne) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& where : {pipe, folder_}) {
    EXPECT_THROW(save_safetensors(where.string(), {}, {}), DataError);
  }
  EXPECT_TRUE(fs::is_fifo(pipe) && fs::is_directory(folder_));
}

TEST_F(Safetensors, NoChangeOfBytesBreaksTheReader) {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 5; ++i) {
    tensors.push_back(
        {fmt::format("layer{}.weight", i), Tensor::zeros({i, 2}, DType::f16, device_)});
  }
  save_safetensors(path("x"), tensors, {{"format", "pt"}});
  const std::string good = bytes_of(path("x"));
  std::mt19937 random(5);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 1 + round % 3; ++change) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = "0123456789[]{},:\"-.e"[random() % 20];
          break;
        case 2:
          bytes.erase(at, 1 + random() % 4);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 9));
          break;
      }
      if (bytes.empty()) bytes = "x";
    }
    try {
      const SafetensorsHeader header = parse(bytes);
      std::uint64_t total = 0;
      for (const auto& entry : header.entries) {
        ASSERT_EQ(entry.end - entry.begin, entry.type.bytes());
        total += entry.type.bytes();
      }
      ASSERT_EQ(total + header.data_offset, bytes.size());
      ++accepted;
    } catch (const DataError&) {
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 10000);
}

}  // namespace
}  // namespace plimsoll::train
