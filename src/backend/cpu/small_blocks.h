#pragma once

namespace plimsoll::cpu {

/// Before a thread calls a library that takes large blocks by posix_memalign and frees them again:
/// keeps the heap from growing to several times what such blocks take. Costs less than a
/// microsecond on average.
///
/// glibc (before 2.38) takes more than is asked for, cuts the aligned block out of it and frees the
/// rest, two pieces of up to some hundred bytes. The thread's cache of small blocks keeps these, so
/// that they do not merge with the block when it is free; the next block of the same size does not
/// fit into its place and takes new memory, until the cache is full. This fills the cache.
void fill_small_blocks();

}  // namespace plimsoll::cpu
