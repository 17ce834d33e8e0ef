#include "common/wire/host_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

TEST(HostRules, ComeBackAsTheyWere) {
  const job::HostRules rules{
      .owners = {"anna", "bob"},
      .roots = {.read = {"/data", "/home/{user}"}, .write = {"/scratch/{user}"}},
      .run_as_owner = true};
  EXPECT_EQ(FromWire(ToWire(rules)).value(), rules);
  EXPECT_EQ(FromWire(v1::HostRules()).value(), job::HostRules());
}

TEST(HostRules, MoreThanAWorkerHasIsRefused) {
  v1::HostRules many;
  for (int root = 0; root <= kMaxRules; ++root) many.add_read_roots("/data");
  EXPECT_EQ(FromWire(many).error().code, base::Code::kInvalid);
  v1::HostRules one_long;
  one_long.add_owners(std::string(kMaxRuleBytes + 1, 'a'));
  EXPECT_EQ(FromWire(one_long).error().code, base::Code::kInvalid);
}

}  // namespace
}  // namespace trainctl::wire
