#include <plimsoll/memory/budget.h>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll {
namespace {

TEST(Budget, AChargeCountsInEveryBudgetUpToTheRoot) {
  Budget root = Budget::root("cpu:0", MiB(100));
  Budget session = root.child("session", MiB(50));
  Budget leaf = session.child("leaf");
  {
    Charge charge = leaf.charge(Tag::runtime, "library", MiB(10));
    EXPECT_EQ(charge.bytes(), MiB(10));
    EXPECT_EQ(leaf.used(), MiB(10));
    EXPECT_EQ(session.used(), MiB(10));
    EXPECT_EQ(root.used(), MiB(10));
    EXPECT_EQ(leaf.available(), MiB(40));
    EXPECT_EQ(leaf.limit(), kUnlimited);
    EXPECT_EQ(leaf.path(), "cpu:0/session/leaf");
  }
  EXPECT_EQ(root.used(), 0U);
  EXPECT_EQ(root.peak(), MiB(10));
}

TEST(Budget, WhatExceedsAnyLimitIsRefusedAndNothingChanges) {
  Budget root = Budget::root("cpu:0", MiB(100));
  Budget tight = root.child("tight", MiB(5));
  Budget leaf = tight.child("leaf");
  Charge held = leaf.charge(Tag::cache, "held", MiB(4));
  try {
    (void)leaf.charge(Tag::user, "more", MiB(2));
    FAIL() << "the limit was not kept";
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(e.report().budget, "cpu:0/tight");
    EXPECT_EQ(e.report().limit, MiB(5));
    EXPECT_EQ(e.report().used, MiB(4));
    EXPECT_EQ(e.report().requested, MiB(2));
    EXPECT_EQ(e.report().label, "more");
    ASSERT_EQ(e.report().holders.size(), 1U);
    EXPECT_EQ(e.report().holders[0].label, "held");
    EXPECT_EQ(e.exit_code(), 3);
  }
  EXPECT_EQ(leaf.used(), MiB(4));
  EXPECT_EQ(root.used(), MiB(4));
}

TEST(Budget, ChargesNearTheLargestNumberDoNotWrapAround) {
  Budget root = Budget::root("cpu:0", kUnlimited - 1);
  Charge held = root.charge(Tag::user, "held", MiB(1));
  EXPECT_THROW((void)root.charge(Tag::user, "wrap", kUnlimited - 10), OutOfMemory);
  EXPECT_EQ(root.used(), MiB(1));
}

TEST(Budget, SiblingsOfOneNameAreToldApart) {
  Budget root = Budget::root("cpu:0");
  Budget a = root.child("session");
  Budget b = root.child("session");
  EXPECT_EQ(a.path(), "cpu:0/session");
  EXPECT_EQ(b.path(), "cpu:0/session#2");
  EXPECT_EQ(root.children().size(), 2U);
  EXPECT_THROW((void)root.child(""), InvalidArgument);
}

TEST(Budget, ANodeGoesWithItsLastHandleChildAndByte) {
  Budget root = Budget::root("cpu:0");
  Charge charge;
  {
    Budget session = root.child("session");
    Budget leaf = session.child("leaf");
    charge = leaf.charge(Tag::user, "outlives", KiB(1));
  }
  EXPECT_EQ(root.children().size(), 1U) << "a byte is still charged to it";
  EXPECT_EQ(root.used(), KiB(1));
  charge.release();
  EXPECT_EQ(root.children().size(), 0U);
  EXPECT_EQ(root.used(), 0U);
}

TEST(Budget, AReservationIsChargedAtOnceAndWhatIsLeftGoesBack) {
  Budget root = Budget::root("cpu:0", MiB(64));
  Budget pipeline = root.child("pipeline", MiB(20));
  Arena arena(make_dry_pages(MiB(2)), root);
  Account account = pipeline.account(Tag::input, "batch");

  Reservation reservation = pipeline.reserve(MiB(10));
  EXPECT_EQ(pipeline.used(), MiB(10));
  EXPECT_EQ(root.used(), MiB(10)) << "what is promised counts at the device, too";
  EXPECT_THROW((void)pipeline.reserve(MiB(11)), OutOfMemory);

  Block block = arena.allocate(MiB(4), account, reservation);
  EXPECT_EQ(reservation.bytes(), MiB(6));
  EXPECT_EQ(pipeline.used(), MiB(10));
  EXPECT_EQ(root.used(), MiB(10));
  arena.check();

  reservation.release();
  EXPECT_EQ(pipeline.used(), MiB(4));
  EXPECT_EQ(root.used(), MiB(4));
  arena.check();
}

TEST(Budget, OthersCannotTakeWhatIsReserved) {
  Budget root = Budget::root("cpu:0", MiB(20));
  Budget a = root.child("a");
  Budget b = root.child("b");
  Arena arena(make_dry_pages(MiB(2)), root);
  Reservation reservation = a.reserve(MiB(12));
  EXPECT_THROW((void)arena.allocate(MiB(10), b.account(Tag::user, "greedy")), OutOfMemory);
  Block other = arena.allocate(MiB(8), b.account(Tag::user, "modest"));
  Block promised = arena.allocate(MiB(12), a.account(Tag::user, "promised"), reservation);
  EXPECT_EQ(root.used(), MiB(20));
  arena.check();
}

TEST(Budget, ALimitMovesUpAndDown) {
  Budget root = Budget::root("cpu:0", MiB(10));
  Charge charge = root.charge(Tag::user, "x", MiB(8));
  root.set_limit(MiB(20));
  EXPECT_EQ(root.limit(), MiB(20));
  root.set_limit(MiB(8));
  EXPECT_EQ(root.available(), 0U);
}

TEST(Budget, ALimitBelowWhatIsHeldIsRefusedByNameAndStays) {
  Budget root = Budget::root("cpu:0", MiB(10));
  Charge charge = root.charge(Tag::cache, "thumbnails", MiB(8));
  try {
    root.set_limit(MiB(4));
    FAIL() << "the limit went below what is in use";
  } catch (const InvalidArgument& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("cpu:0"), std::string::npos) << message;
    EXPECT_NE(message.find("thumbnails"), std::string::npos) << message;
    EXPECT_NE(message.find("4 MiB"), std::string::npos) << message;
    EXPECT_EQ(e.exit_code(), 2);
  }
  EXPECT_EQ(root.limit(), MiB(10));
}

TEST(Budget, LoweringALimitAsksForReliefInOrderAndNoFurtherThanNeeded) {
  Budget root = Budget::root("cpu:0", MiB(100));
  Budget cache = root.child("cache");
  Budget input = root.child("input");
  Charge cached = cache.charge(Tag::cache, "c", MiB(30));
  Charge prefetched = input.charge(Tag::prefetch, "p", MiB(30));
  Charge window = input.charge(Tag::shuffle, "s", MiB(30));
  std::string order;
  // Registered the wrong way round on purpose.
  ReliefHandle spill = input.on_relief(ReliefOrder::shuffle, "spill", [&](Bytes) -> Bytes {
    order += "s";
    window.release();
    return MiB(30);
  });
  ReliefHandle shrink =
      input.on_relief(ReliefOrder::prefetch, "shrink", [&](Bytes wanted) -> Bytes {
        order += "p";
        EXPECT_EQ(wanted, MiB(20));
        prefetched.release();
        return MiB(30);
      });
  ReliefHandle drop = cache.on_relief(ReliefOrder::cache, "drop", [&](Bytes wanted) -> Bytes {
    order += "c";
    EXPECT_EQ(wanted, MiB(50));
    cached.release();
    return MiB(30);
  });
  root.set_limit(MiB(40));
  EXPECT_EQ(order, "cp");
  EXPECT_EQ(root.used(), MiB(30));
  EXPECT_EQ(root.limit(), MiB(40));
}

TEST(Budget, AllocationAsksForReliefBeforeItFails) {
  Budget root = Budget::root("cpu:0", MiB(32));
  Budget cache = root.child("cache");
  Arena arena(make_dry_pages(MiB(2)), root);
  Block cached = arena.allocate(MiB(20), cache.account(Tag::cache, "c"));
  int asked = 0;
  ReliefHandle drop = cache.on_relief(ReliefOrder::cache, "drop", [&](Bytes) -> Bytes {
    ++asked;
    cached.release();
    return MiB(20);
  });
  Block wanted = arena.allocate(MiB(24), root.account(Tag::activations, "a"));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(root.used(), MiB(24));
  arena.check();
}

TEST(Budget, ReliefOutsideTheBudgetThatIsShortIsNotAsked) {
  Budget root = Budget::root("cpu:0", MiB(100));
  Budget a = root.child("a", MiB(10));
  Budget b = root.child("b");
  bool asked = false;
  ReliefHandle other = b.on_relief(ReliefOrder::cache, "b", [&](Bytes) -> Bytes {
    asked = true;
    return 0;
  });
  EXPECT_THROW((void)a.charge(Tag::user, "x", MiB(11)), OutOfMemory);
  EXPECT_FALSE(asked);
}

TEST(Budget, AReliefFunctionMayEndItsOwnRegistration) {
  Budget root = Budget::root("cpu:0", MiB(10));
  Charge charge = root.charge(Tag::cache, "c", MiB(8));
  ReliefHandle handle;
  handle = root.on_relief(ReliefOrder::cache, "once", [&](Bytes) -> Bytes {
    charge.release();
    handle.release();
    return MiB(8);
  });
  root.set_limit(MiB(1));
  EXPECT_EQ(root.limit(), MiB(1));
}

TEST(Budget, ReliefMayUseTheMemoryLayer) {
  // No lock is held while it runs: it can look, release and even be short itself.
  Budget root = Budget::root("cpu:0", MiB(10));
  Charge charge = root.charge(Tag::cache, "c", MiB(8));
  ReliefHandle handle = root.on_relief(ReliefOrder::cache, "look", [&](Bytes) -> Bytes {
    EXPECT_EQ(root.ledger().live(), MiB(8));
    EXPECT_THROW((void)root.charge(Tag::user, "too much", MiB(9)), OutOfMemory);
    charge.release();
    return MiB(8);
  });
  Charge more = root.charge(Tag::user, "more", MiB(9));
  EXPECT_EQ(root.used(), MiB(9));
}

TEST(Budget, NamesThatWouldMakePathsAmbiguousAreRefused) {
  const Budget root = Budget::root("cpu:0", MiB(64));
  const Budget inner = root.child("a").child("b", MiB(4));
  // With it, "cpu:0/a/b" would be two budgets, and a line in the ledger that of either.
  EXPECT_THROW(root.child("a/b"), InvalidArgument);
  EXPECT_THROW(root.child("a\nb"), InvalidArgument);
  EXPECT_THROW(root.child(""), InvalidArgument);
  EXPECT_THROW(Budget::root("cpu:0/x"), InvalidArgument);
  EXPECT_EQ(root.children().size(), 1U) << "nothing was changed";
  EXPECT_EQ(root.child("a b").path(), "cpu:0/a b");
}

}  // namespace
}  // namespace plimsoll
