#include "common/job/host_rules.h"

#include <gmock/gmock.h>

namespace trainctl::job {
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

TEST(HostRules, APathIsJudgedByItsNameWhereNobodyCanLook) {
  JobSpec job;
  job.model.path = "org/model-of-the-hub";
  job.data.path = "/home/anna/x/../rows.json";
  job.output.dir = "/s/anna/anna";
  EXPECT_TRUE(CheckByName(kRules, "anna", job));
  EXPECT_TRUE(CheckByName({}, "", job));
  job.data.path = "/home/anna/../bob/rows.json";
  const base::Status outside = CheckByName(kRules, "anna", job);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, base::Code::kDenied);
  EXPECT_EQ(outside.error().message,
            "data.path: /home/anna/../bob/rows.json lies outside of what this job may read here: "
            "/data, /home/anna, /s/anna/anna");
  job.data.path = "/database/rows.json";
  EXPECT_FALSE(CheckByName(kRules, "anna", job)) << "a root is a folder, not a beginning";
  EXPECT_EQ(CheckByName(kRules, "eve", job).error().code, base::Code::kInvalid);
  EXPECT_EQ(CheckByName({.run_as_owner = true}, "", job).error().code, base::Code::kInvalid);
}

}  // namespace
}  // namespace trainctl::job
