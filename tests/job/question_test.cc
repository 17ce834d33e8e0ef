#include "common/job/question.h"

#include <gtest/gtest.h>

namespace trainctl::job {
namespace {

TEST(QuestionsOf, NamesTheJobsWhereNotAllAskTheSame) {
  const JobSpec full{.name = "full", .notes = "Does it pay?"};
  const JobSpec lora{.name = "lora", .notes = "Does it pay?"};
  const JobSpec other{.name = "other", .notes = "At which rank?"}, quiet{.name = "quiet"};
  using Texts = std::vector<std::string>;
  EXPECT_EQ(QuestionsOf({&full, &lora}), Texts{"Does it pay?"});
  EXPECT_EQ(QuestionsOf({&full, &other, &lora, &quiet}),
            (Texts{"full, lora: Does it pay?", "other: At which rank?"}));
  EXPECT_EQ(QuestionsOf({&quiet}), Texts());
}

}  // namespace
}  // namespace trainctl::job
