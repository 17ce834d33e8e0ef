#include "common/base/random_name.h"

#include <gtest/gtest.h>

#include <set>

namespace trainctl::base {
namespace {

TEST(RandomName, IsOfHexadecimalDigitsAndAnotherEachTime) {
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i) {
    const std::string name = RandomName();
    EXPECT_EQ(name.size(), 32u) << name;
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos) << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 100u);
}

}  // namespace
}  // namespace trainctl::base
