#include <plimsoll/memory/arena.h>

#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/host_pages.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll {
namespace {

constexpr Bytes kPage = MiB(2);

struct Fixture {
  explicit Fixture(Bytes limit = kUnlimited, ArenaOptions options = {},
                   std::shared_ptr<PageSource> source = make_dry_pages(kPage))
      : root(Budget::root("cpu:0", limit)),
        arena(std::make_unique<Arena>(std::move(source), root, std::move(options))),
        account(root.account(Tag::user, "test")) {}

  Block get(Bytes bytes) { return arena->allocate(bytes, account); }
  ~Fixture() {
    if (arena) arena->check();
  }

  Budget root;
  std::unique_ptr<Arena> arena;
  Account account;
};

TEST(Arena, BlocksAreAlignedAndRoundedUp) {
  Fixture f;
  std::vector<Block> blocks;
  for (Bytes bytes : {Bytes{1}, Bytes{255}, Bytes{256}, Bytes{257}, KiB(700), MiB(3) + 1}) {
    blocks.push_back(f.get(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().data()) % 256, 0U);
    EXPECT_EQ(blocks.back().size(), align_up(bytes, 256));
  }
  EXPECT_EQ(f.arena->stats().blocks, blocks.size());
}

TEST(Arena, NoBytesGiveNoMemory) {
  Fixture f;
  Block b = f.get(0);
  EXPECT_FALSE(b);
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_EQ(b.size(), 0U);
  EXPECT_EQ(f.arena->stats().mapped, 0U);
}

TEST(Arena, MemoryCanBeWrittenAndBlocksDoNotOverlap) {
  Fixture f(MiB(64), {}, make_host_pages({.page_size = KiB(64)}));
  std::vector<Block> blocks;
  for (int i = 0; i < 200; ++i) {
    blocks.push_back(f.get(static_cast<Bytes>(100 + 731 * i)));
    std::memset(blocks.back().data(), i, blocks.back().size());
  }
  for (int i = 0; i < 200; ++i) {
    const Block& b = blocks[static_cast<std::size_t>(i)];
    const auto* p = static_cast<const unsigned char*>(b.data());
    EXPECT_EQ(p[0], i);
    EXPECT_EQ(p[b.size() - 1], i);
  }
}

TEST(Arena, PagesAreChargedToTheBudgetItStandsOn) {
  Fixture f;
  Block b = f.get(MiB(3));
  EXPECT_EQ(f.root.used(), MiB(4)) << "two pages";
  EXPECT_EQ(f.arena->stats().live, MiB(3));
  b.release();
  EXPECT_EQ(f.arena->stats().live, 0U);
  EXPECT_EQ(f.root.used(), MiB(4)) << "free pages stay until somebody wants them back";
  EXPECT_EQ(f.arena->trim(), MiB(4));
  EXPECT_EQ(f.root.used(), 0U);
}

TEST(Arena, FreedNeighboursServeALargerRequest) {
  Fixture f;
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(f.get(MiB(2)));
  void* first = blocks[1].data();
  blocks[1].release();
  blocks[3].release();
  blocks[2].release();
  Block joined = f.get(MiB(6));
  EXPECT_EQ(joined.data(), first);
  EXPECT_EQ(f.arena->stats().bytes_remapped, 0U);
}

TEST(Arena, ASmallBlockTakesTheSmallestHoleThatFits) {
  Fixture f;
  std::vector<Block> blocks;
  for (Bytes kib : {12, 2, 6, 2, 8, 2}) blocks.push_back(f.get(KiB(kib)));
  void* six = blocks[2].data();
  blocks[0].release();
  blocks[2].release();
  blocks[4].release();
  EXPECT_EQ(f.get(KiB(5)).data(), six);
}

TEST(Arena, ALargeBlockTakesTheLowestHoleThatFits) {
  Fixture f;
  std::vector<Block> blocks;
  for (Bytes mib : {4, 2, 12, 2, 6, 2}) blocks.push_back(f.get(MiB(mib)));
  void* twelve = blocks[2].data();
  blocks[0].release();
  blocks[2].release();
  blocks[4].release();
  EXPECT_EQ(f.get(MiB(5)).data(), twelve);
}

TEST(Arena, FreePagesAreMovedTogetherRatherThanNewOnesMapped) {
  Fixture f(MiB(256));
  std::vector<Block> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(f.get(MiB(4)));
  for (std::size_t i = 0; i < 64; i += 2) blocks[i].release();
  // 128 MiB are free, but no two holes are neighbours, and the limit leaves nothing to map.
  EXPECT_EQ(f.arena->stats().largest_free, MiB(4));
  Block large = f.get(MiB(128));
  EXPECT_EQ(f.arena->stats().mapped, MiB(256));
  EXPECT_GE(f.arena->stats().bytes_remapped, MiB(100));
  EXPECT_EQ(f.arena->stats().live, MiB(256));
}

TEST(Arena, ALargeChunkThatFitsNoHoleGivesWayToSmallPages) {
  Fixture f(MiB(1040));
  f.arena->prepare(MiB(1024));  // mapped in large chunks
  Block chunky = f.get(MiB(1024));
  std::vector<Block> others;
  others.push_back(f.get(MiB(8)));
  chunky.release();
  for (int i = 0; i < 100; ++i) others.push_back(f.get(MiB(9)));
  EXPECT_LE(f.root.used(), MiB(1040));
}

TEST(Arena, SmallBlocksDoNotPinLargeHoles) {
  Fixture f;
  std::vector<Block> small;
  std::vector<Block> large;
  for (int i = 0; i < 50; ++i) {
    large.push_back(f.get(MiB(10)));
    small.push_back(f.get(KiB(1)));
  }
  large.clear();
  EXPECT_GE(f.arena->stats().largest_free, MiB(500));
}

TEST(Arena, TrimKeepsWhatItIsTold) {
  Fixture f;
  f.get(MiB(64)).release();
  f.arena->trim(MiB(32));
  EXPECT_EQ(f.arena->stats().mapped, MiB(32));
}

TEST(Arena, LoweringALimitReturnsFreePages) {
  Fixture f(MiB(100));
  Block keep = f.get(MiB(10));
  f.get(MiB(80)).release();
  f.root.set_limit(MiB(20));
  EXPECT_LE(f.root.used(), MiB(20));
  EXPECT_EQ(f.arena->stats().live, MiB(10));
  EXPECT_THROW((void)f.get(MiB(12)), OutOfMemory);
}

TEST(Arena, ARaisedLimitCanBeUsedToTheFull) {
  Fixture f(GiB(1));
  const Block first = f.get(MiB(512));
  EXPECT_THROW((void)f.get(GiB(1)), OutOfMemory);
  f.root.set_limit(GiB(141));
  const Block all = f.get(GiB(140));
  const Block rest = f.get(MiB(512));
  EXPECT_EQ(f.root.used(), GiB(141));
}

TEST(Arena, ANeighboursFreePagesGoBackBeforeAnyoneIsRefused) {
  Budget root = Budget::root("cpu:0", MiB(64));
  Arena one(make_dry_pages(kPage), root.child("one"));
  Arena two(make_dry_pages(kPage), root.child("two"));
  one.allocate(MiB(60), one.budget().account(Tag::user, "x")).release();
  EXPECT_EQ(root.used(), MiB(60));
  Block b = two.allocate(MiB(40), two.budget().account(Tag::user, "y"));
  EXPECT_LE(root.used(), MiB(64));
  one.check();
  two.check();
}

TEST(Arena, PreallocationTakesTheWholeLimitAtOnceAndKeepsIt) {
  Fixture f(MiB(64), {.preallocate = true});
  EXPECT_EQ(f.arena->stats().mapped, MiB(64));
  EXPECT_EQ(f.arena->trim(), 0U);
  Block small = f.get(KiB(4));
  Block large = f.get(MiB(60));
  EXPECT_EQ(f.arena->stats().mapped, MiB(64));
  EXPECT_THROW(Fixture(kUnlimited, {.preallocate = true}), InvalidArgument);
}

TEST(Arena, PreallocatedPagesGiveWayToALowerLimitAndToSessions) {
  Budget root = Budget::root("cpu:0", MiB(64));
  Arena device(make_dry_pages(kPage), root, {.preallocate = true});
  Arena session(make_dry_pages(kPage), root.child("session"));
  Block b = session.allocate(MiB(24), session.budget().account(Tag::user, "x"));
  EXPECT_LE(root.used(), MiB(64));
  EXPECT_LE(device.stats().mapped, MiB(40)) << "what goes back goes in whole chunks";
  root.set_limit(MiB(32));
  EXPECT_LE(root.used(), MiB(32));
  EXPECT_EQ(session.stats().live, MiB(24));
  EXPECT_THROW(root.set_limit(MiB(16)), InvalidArgument);
  device.check();
  session.check();
}

TEST(Arena, PrepareMapsAheadInOnePiece) {
  Fixture f(MiB(100));
  f.arena->prepare(MiB(50));
  const std::uint64_t maps = f.arena->stats().maps;
  Block b = f.get(MiB(50));
  EXPECT_EQ(f.arena->stats().maps, maps);
  EXPECT_THROW(f.arena->prepare(MiB(51)), OutOfMemory);
}

TEST(Arena, ClosingReturnsEverythingAndBlocksLoseTheirMemory) {
  Fixture f(MiB(100));
  Block b = f.get(MiB(10));
  f.arena->close();
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_EQ(f.root.used(), 0U);
  EXPECT_EQ(f.root.ledger().live(), 0U);
  EXPECT_THROW((void)f.get(1), Error);
  b.release();
  f.arena->close();
}

TEST(Arena, ABlockMayOutliveItsArenaAndItsBudget) {
  Block b;
  {
    Fixture f(MiB(100));
    b = f.get(MiB(10));
  }
  EXPECT_EQ(b.data(), nullptr);
  b.release();
}

TEST(Arena, ABudgetCarriesOneArenaAtATime) {
  Budget root = Budget::root("cpu:0");
  auto first = std::make_unique<Arena>(make_dry_pages(), root);
  EXPECT_THROW(Arena(make_dry_pages(), root), InvalidArgument);
  first.reset();
  Arena second(make_dry_pages(), root);
}

TEST(Arena, AForeignAccountIsRefused) {
  Budget root = Budget::root("cpu:0");
  Budget child = root.child("child");
  Arena arena(make_dry_pages(), child);
  EXPECT_THROW((void)arena.allocate(1, root.account(Tag::user, "above")), InvalidArgument);
  EXPECT_THROW((void)arena.allocate(1, Budget::root("x").account(Tag::user, "other")),
               InvalidArgument);
  EXPECT_THROW((void)arena.allocate(1, Account{}), InvalidArgument);
}

TEST(Arena, ABlockCanBeChargedToSomebodyElse) {
  Budget root = Budget::root("cpu:0");
  Budget pipeline = root.child("pipeline");
  Budget user = root.child("user", MiB(4));
  Arena arena(make_dry_pages(), root);
  Block a = arena.allocate(MiB(3), pipeline.account(Tag::prefetch, "batch"));
  Block b = arena.allocate(MiB(3), pipeline.account(Tag::prefetch, "batch"));
  a.recharge(user.account(Tag::user, "delivered"));
  EXPECT_EQ(pipeline.used(), MiB(3));
  EXPECT_EQ(user.used(), MiB(3));
  EXPECT_THROW(b.recharge(user.account(Tag::user, "delivered")), OutOfMemory);
  EXPECT_EQ(pipeline.used(), MiB(3));
  arena.check();
}

TEST(Arena, AnImpossibleRequestIsAnOrdinaryOutOfMemory) {
  Fixture f;
  for (Bytes bytes : {kUnlimited, kUnlimited - 255, Bytes{1} << 62, Bytes{1} << 50}) {
    EXPECT_THROW((void)f.get(bytes), OutOfMemory) << bytes;
  }
  EXPECT_EQ(f.root.used(), 0U);
}

TEST(Arena, ARequestBeyondAllAddressesNamesTheLimitThatForbidsIt) {
  Fixture f(MiB(64));
  try {
    (void)f.get(GiB(16));
    FAIL() << "nothing was refused";
  } catch (const OutOfMemory& refused) {
    EXPECT_EQ(refused.report().budget, "cpu:0");
    EXPECT_EQ(refused.report().limit, MiB(64));
    EXPECT_EQ(refused.report().system_error, "");
  }
  EXPECT_EQ(f.root.used(), 0U);
}

TEST(Arena, ASteadyLoopMapsAndMovesNothing) {
  Fixture f;
  std::vector<Block> blocks(40);
  auto step = [&] {
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = f.get(KiB(300) * (1 + i * 7 % 13));
    for (std::size_t i = blocks.size(); i-- > 0;) blocks[i].release();
  };
  for (int i = 0; i < 3; ++i) step();
  const ArenaStats before = f.arena->stats();
  for (int i = 0; i < 100; ++i) step();
  const ArenaStats after = f.arena->stats();
  EXPECT_EQ(after.maps, before.maps);
  EXPECT_EQ(after.moves, before.moves);
}

}  // namespace
}  // namespace plimsoll
