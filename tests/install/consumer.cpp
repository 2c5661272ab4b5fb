#include <plimsoll/base/version.h>

#include <cstdio>

int main() { std::printf("%s\n", plimsoll::version()); }
