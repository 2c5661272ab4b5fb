#pragma once

/// Before a function whose loops should be vectorised: it is compiled for several instruction sets,
/// and the best one that the CPU has is taken when the library is loaded. Elsewhere it is nothing:
/// sanitizers cannot bear the loader's choice.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PLIMSOLL_PICTURE_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PLIMSOLL_PICTURE_CLONES
#endif
