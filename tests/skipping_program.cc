#include <gtest/gtest.h>

TEST(Skipping, Itself) { GTEST_SKIP() << "what it needs is not there"; }

TEST(Skipping, NotThis) {}
