#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/trace.h>

#include "support/trace_mutation.h"
#include "support/training_traces.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kHeader = "Thread,Time,Action,Pointer,Size,Stream\n";

std::string message_of(std::string_view text) {
  try {
    parse_trace(text, "t.csv");
  } catch (const DataError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  return "accepted";
}

std::string rmm(std::string_view lines) { return std::string(kHeader) + std::string(lines); }

class TemporaryFile {
 public:
  TemporaryFile()
      : path_(std::filesystem::path(::testing::TempDir()) /
              ("plimsoll_trace_" + std::to_string(getpid()) + ".csv")) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ReadTrace, UnderstandsRmm) {
  const Trace trace = parse_trace(testing::rmm_example(), "t.csv");
  ASSERT_EQ(trace.operations.size(), 7u);  // failures and null pointers are left out
  EXPECT_EQ(trace.slots, 3u);
  EXPECT_EQ(trace.live_peak, 1048576u + 512 + 73400320);
  EXPECT_EQ(trace.bytes_allocated, 1048576u + 512 + 73400320 + 2048);
  EXPECT_EQ(testing::check_trace(trace), "");
}

TEST(ReadTrace, UnderstandsBufferLists) {
  const Trace trace = parse_trace(testing::buffer_list_example(), "t.csv");
  EXPECT_EQ(testing::check_trace(trace), "");
  std::vector<std::pair<bool, Bytes>> events;
  for (const TraceOperation& operation : trace.operations) {
    events.emplace_back(operation.allocate, operation.bytes);
  }
  // At time 9 buffer a ends before b and c start, and those come in the file's order.
  const std::vector<std::pair<bool, Bytes>> expected = {
      {true, 4096}, {true, 128},   {true, 65536},  {false, 128}, {true, 1024},
      {true, 0},    {false, 1024}, {false, 65536}, {false, 0},   {false, 4096}};
  EXPECT_EQ(events, expected);
  EXPECT_EQ(trace.live_peak, 4096u + 65536 + 1024);
}

TEST(ReadTrace, AcceptsWhatOtherProgramsWrite) {
  EXPECT_EQ(message_of(rmm("1,x,allocate,7F00,16,0\r\n1,x,free,0x7f00,16,0\r\n")), "accepted");
  EXPECT_EQ(message_of("\xEF\xBB\xBFid,lower,upper,size\na,0,1,2\n\n"), "accepted");
  EXPECT_EQ(message_of("id,size,lower,upper,offset\na,5,0,1,77\n"), "accepted");
  EXPECT_EQ(message_of("Thread,Time,Action,Pointer,Size,Stream,Device\n1,2,allocate,0x1,2,3,4\n"),
            "accepted");
  EXPECT_EQ(message_of(kHeader), "accepted");
  EXPECT_EQ(message_of(rmm("1,x,allocate,0x0,0,0\n1,x,allocate,0x0,0,0\n1,x,free,0x0,0,0\n")),
            "accepted");
}

TEST(ReadTrace, ALastLineWithoutItsNewlineCountsIfItIsWhole) {
  const Trace trace = parse_trace(rmm("1,x,allocate,0x10,16,0\n1,x,free,0x10,0,0"), "t.csv");
  EXPECT_EQ(trace.operations.size(), 2U);
  EXPECT_EQ(trace.live_peak, 16U);
}

TEST(ReadTrace, NamesTheLineAndWhatIsWrong) {
  const struct {
    std::string text;
    std::vector<std::string> parts;
  } cases[] = {
      {"", {"t.csv", "empty"}},
      {"\n\n", {"t.csv", "empty"}},
      {"time,bytes\n1,2\n", {"t.csv:1", "'time,bytes'", "id,lower,upper,size"}},
      {"Thread,Time,Action,Pointer,Size\n", {"t.csv:1", "'Stream'", "missing"}},
      {"id,lower,upper\n", {"t.csv:1", "'size'", "missing"}},
      {"id,lower,upper,size,size\n", {"t.csv:1", "two columns 'size'"}},
      {rmm("1,x,allocate,0x10,16\n"), {"t.csv:2", "5 columns", "6"}},
      {rmm("1,x,allocate,0x10,16,0,9\n"), {"t.csv:2", "7 columns"}},
      {rmm("1,x,allocate,0x10,16,0\n1,x,alloc"), {"t.csv:3", "mid-line"}},
      {rmm("1,x,allocate,0x10,16"), {"t.csv:2", "mid-line"}},
      {"id,lower,upper,size\na,0,1,12", {"t.csv:2", "mid-line"}},
      {rmm("1,x,reallocate,0x10,16,0\n"), {"t.csv:2", "Action", "'reallocate'"}},
      {rmm("1,x,allocate,0x1G,16,0\n"), {"t.csv:2", "Pointer", "'0x1G'"}},
      {rmm("1,x,allocate,,16,0\n"), {"t.csv:2", "Pointer ''"}},
      {rmm("1,x,allocate,0x11112222333344445,16,0\n"), {"t.csv:2", "64 bits"}},
      {rmm("1,x,allocate,0x10,,0\n"), {"t.csv:2", "Size is empty"}},
      {rmm("1,x,allocate,0x10,-16,0\n"), {"t.csv:2", "'-16'", "negative"}},
      {rmm("1,x,allocate,0x10,1.5,0\n"), {"t.csv:2", "'1.5'", "not a whole number"}},
      {rmm("1,x,allocate,0x10,99999999999999999999,0\n"), {"t.csv:2", "too large"}},
      {rmm("1,x,allocate,0x10,4611686018427387905,0\n"), {"t.csv:2", "too large"}},
      {rmm("1,x,allocate,0x10,4611686018427387904,0\n1,x,allocate,0x20,1,0\n"),
       {"t.csv:3", "in all"}},
      {rmm("1,x,allocate,(nil),16,0\n"), {"t.csv:2", "null pointer"}},
      {rmm("1,x,free,0xabc,16,0\n"), {"t.csv:2", "0xabc", "not allocated"}},
      {rmm("1,x,allocate,0x10,16,0\n1,x,free,0x10,17,0\n"), {"t.csv:3", "17", "16"}},
      {rmm("1,x,allocate,0x10,16,0\n1,x,allocate,0x10,8,0\n"), {"t.csv:3", "already"}},
      {rmm("1,x,allocate,0x10,16,0\n1,x,free,0x10,16,0\n1,x,free,0x10,16,0\n"),
       {"t.csv:4", "0x10", "not allocated"}},
      {"id,lower,upper,size\na,5,5,1\n", {"t.csv:2", "upper 5", "lower 5"}},
      {"id,lower,upper,size\na,-5,5,1\n", {"t.csv:2", "lower", "negative"}},
      {"id,lower,upper,size\na,0,1,1\na,2,3,1\n", {"t.csv:3", "'a'", "twice"}},
      {"id,lower,upper,size\n,0,1,1\n", {"t.csv:2", "id is empty"}},
      {std::string("id,lower,upper,size\na,0,1,1\0\n", 29), {"t.csv:2", "NUL"}},
      {"\x7f"
       "ELF\x01\x02\x03\n",
       {"t.csv:1", "?ELF"}},
      {std::string(100'000, 'x'), {"t.csv:1", "longer than"}},
      {rmm("1," + std::string(70'000, '1') + ",free,0x1,1,0\n"), {"t.csv:2", "longer than"}},
      {"id,lower,upper,size" + std::string(100, ',') + "\n", {"t.csv:1", "columns"}},
  };
  for (const auto& one : cases) {
    const std::string message = message_of(one.text);
    for (const std::string& part : one.parts) EXPECT_THAT(message, HasSubstr(part));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(ReadTrace, NamesAFileThatCannotBeRead) {
  const auto message = [](const std::string& path) -> std::string {
    try {
      read_trace(path);
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message("/no/such/file.csv"),
              AllOf(HasSubstr("/no/such/file.csv"), HasSubstr("No such file")));
  EXPECT_THAT(message(::testing::TempDir()), HasSubstr("directory"));
}

TEST(ReadTrace, ReadsLinesAcrossBuffers) {
  const TemporaryFile file;
  const Trace made = testing::make_training_trace("cnn", 1);
  testing::write_rmm_csv(made, file.path());
  ASSERT_GT(std::filesystem::file_size(file.path()), MiB(4));
  const Trace trace = read_trace(file.path());
  EXPECT_EQ(trace.operations.size(), made.operations.size());
  EXPECT_EQ(trace.live_peak, made.live_peak);
  EXPECT_EQ(trace.bytes_allocated, made.bytes_allocated);
  EXPECT_EQ(testing::check_trace(trace), "");
}

TEST(ReadTrace, SurvivesMutatedFiles) {
  constexpr std::uint64_t kSeed = 20240607;
  testing::Random random(kSeed);
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    const bool rows = random.chance(0.5);
    const std::string text =
        testing::mutate(rows ? testing::rmm_example() : testing::buffer_list_example(), random);
    try {
      const Trace trace = parse_trace(text, "mutated");
      ASSERT_EQ(testing::check_trace(trace), "") << "seed " << kSeed << ", mutation " << i << "\n"
                                                 << text;
      ++accepted;
    } catch (const DataError& error) {
      ASSERT_THAT(error.what(), HasSubstr("mutated")) << "seed " << kSeed << ", mutation " << i;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 3900);
}

TEST(TrainingTraces, KeepTheirPromises) {
  for (const testing::TrainingTraceKind& kind : testing::training_trace_kinds()) {
    const Trace trace = kind.make(7);
    EXPECT_EQ(testing::check_trace(trace), "") << kind.name;
    EXPECT_GT(trace.operations.size(), 10'000u) << kind.name;
    EXPECT_EQ(kind.make(7).bytes_allocated, trace.bytes_allocated) << kind.name;
    EXPECT_NE(kind.make(8).bytes_allocated, trace.bytes_allocated) << kind.name;
  }
}

TEST(TraceRecorder, WritesWhatTheReaderReads) {
  const TemporaryFile file;
  {
    TraceRecorder recorder(file.path());
    std::vector<std::thread> threads;
    for (std::uintptr_t t = 1; t <= 4; ++t) {
      threads.emplace_back([&recorder, t] {
        for (std::uintptr_t i = 1; i <= 2000; ++i) {
          recorder.allocate((t << 40) + (i << 8), i, 0);
          if (i % 2 == 0) recorder.release((t << 40) + (i << 8), i, 3);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(recorder.ok());
  }
  const Trace trace = read_trace(file.path());
  EXPECT_EQ(trace.operations.size(), 4u * 3000);
  EXPECT_EQ(trace.bytes_allocated, 4u * 2000 * 2001 / 2);
}

TEST(TraceRecorder, NamesAPathThatCannotBeWritten) {
  try {
    const TraceRecorder recorder("/no/such/folder/t.csv");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/folder/t.csv"));
  }
}

TEST(TraceRecorder, SaysWhenTheDiskIsFull) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  TraceRecorder recorder("/dev/full");
  recorder.allocate(256, 1, 0);
  recorder.flush();
  EXPECT_FALSE(recorder.ok());
}

}  // namespace
}  // namespace plimsoll
