#include "common/job/foreign_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/job/schema.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

std::string HintAt(const std::string& key) {
  const ReadJob read = Read(kSmallestJob, {{key, "1"}});
  return read.problems.empty() ? "" : read.problems.front().hint;
}

TEST(ForeignNames, StandForKeysAndForValuesThatTheyMayHave) {
  for (const ForeignName& row : ForeignNames()) {
    const std::string key(row.key), value(row.value);
    ASSERT_NE(FindField(key), nullptr) << row.name << " stands for " << key;
    if (value.empty()) continue;
    for (const Problem& problem : Read(kSmallestJob, {{key, value}}).problems)
      EXPECT_NE(problem.path, key) << row.name << ": " << value << ": " << problem.expected;
  }
}

TEST(ForeignNames, ArePlainAndOnceEachAndNoKeysOfOurs) {
  std::set<std::string_view> names;
  for (const ForeignName& row : ForeignNames()) {
    EXPECT_EQ(PlainName(row.name), row.name);
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " has two rows";
  }
  for (const Field& field : Fields()) {
    const std::string name(LastPart(field.key));
    EXPECT_EQ(FindForeignName(name), nullptr) << field.key << " is a name of ours";
  }
}

TEST(ForeignNames, AreFoundAsPeopleSpellThem) {
  for (const char* name : {"--num-gpus", "num_gpus", "numGPUs", "NUM_GPUS"}) {
    const ForeignName* found = FindForeignName(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->key, "devices");
  }
  EXPECT_EQ(FindForeignName("zzz"), nullptr);
}

TEST(ForeignNames, AreHintedAtInFilesToo) {
  EXPECT_EQ(HintAt("learning_rate"), "did you mean 'optimizer.lr'?");
  EXPECT_EQ(HintAt("optimizer.learning_rate"), "did you mean 'lr'?");
  EXPECT_EQ(HintAt("train.learning_rate"), "did you mean 'optimizer.lr'?");
  EXPECT_EQ(HintAt("num_gpus"), "did you mean 'devices'?");
}

}  // namespace
}  // namespace trainctl::job
