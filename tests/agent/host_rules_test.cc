#include "worker/agent/host_rules.h"

#include <gmock/gmock.h>

namespace trainctl::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const HostRules kRules{.owners = {"anna", "bob"},
                       .roots = {.read = {"/data", "/home/{user}"}, .write = {"/s/{user}/{user}"}}};

TEST(HostRules, TheOwnersNameStandsInTheRoots) {
  const auto roots = RootsOf(kRules, "anna");
  ASSERT_TRUE(roots) << roots.error().message;
  EXPECT_THAT(roots->read, ElementsAre("/data", "/home/anna"));
  EXPECT_THAT(roots->write, ElementsAre("/s/anna/anna"));
}

TEST(HostRules, JobsOfOthersDontRunHere) {
  EXPECT_EQ(RootsOf(kRules, "eve").error().message,
            "jobs of eve don't run on this host: its trainworker --allow-user names others");
  EXPECT_THAT(RootsOf(kRules, "").error().message, HasSubstr("of nobody known"));
  EXPECT_TRUE(RootsOf({}, ""));
}

// A name never leads out of the folder that it stands in.
TEST(HostRules, ANameThatIsNoFoldersIsRefused) {
  HostRules rules = kRules;
  rules.owners.clear();
  for (const char* name : {"", ".", "..", "../bob", "a/b"}) {
    const auto roots = RootsOf(rules, name);
    ASSERT_FALSE(roots) << name;
    EXPECT_EQ(roots.error().code, base::Code::kInvalid);
    EXPECT_THAT(roots.error().message, HasSubstr("/home/{user}"));
  }
  rules.roots = {.read = {"/data"}, .write = {}};
  EXPECT_TRUE(RootsOf(rules, "../bob"));
}

}  // namespace
}  // namespace trainctl::agent
