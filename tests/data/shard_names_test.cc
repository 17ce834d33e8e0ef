#include "worker/rank/data/shard_names.h"

#include <gmock/gmock.h>

namespace trainctl::data {
namespace {

struct Names {
  std::vector<std::string> names;
  std::string fault;  // "": none
};

class ShardNames : public testing::TestWithParam<Names> {};

TEST_P(ShardNames, AreOneSplitAndAllOfIt) {
  std::vector<std::string> paths;
  for (const std::string& name : GetParam().names) paths.push_back("/d/" + name);
  const auto whole = CheckShards("/d", paths);
  const std::string& fault = GetParam().fault;
  EXPECT_EQ(whole ? "" : whole.error().message, fault.empty() ? "" : "/d: " + fault);
}

std::string Several(const std::string& names) {
  return "has several splits, " + names + "; expected one: data.split names it";
}

INSTANTIATE_TEST_SUITE_P(
    Names, ShardNames,
    testing::Values(
        Names{{"train-00000-of-00002.parquet", "train-00001-of-00002.parquet"}, ""},
        Names{{"train-00001-of-00002.parquet", "train-00002-of-00002.parquet"}, ""},
        Names{{"train-00000-of-00002-0f3e.parquet", "train-00001-of-00002-77aa.parquet"}, ""},
        Names{{"a-train-2-of-3.arrow", "a-train-0-of-3.arrow", "a-train-1-of-3.arrow"}, ""},
        Names{{"0000.parquet", "0001.parquet"}, ""},
        Names{{"a-of-b.parquet", "part-1-of-x.parquet", "-of-2.parquet"}, ""},
        Names{{"test.parquet"}, ""}, Names{{"train_a.parquet", "train_b.parquet"}, ""},
        Names{{"imdb-test.arrow", "imdb-train.arrow"}, Several("'test', 'train'")},
        Names{{"more.parquet", "train.parquet"}, Several("'more.parquet', 'train'")},
        Names{{"test-00000-of-00001.parquet", "train-00000-of-00001.parquet"},
              Several("'test', 'train'")},
        Names{{"train-00000-of-00003.parquet", "train-00001-of-00003.parquet"},
              "split 'train': 2 files, expected 3"},
        Names{{"train-00000-of-00003.parquet", "train-00002-of-00003.parquet"},
              "split 'train': train-00002-of-00003.parquet is there, number 1 is missing"},
        Names{{"train-00001-of-00002.parquet"},
              "split 'train': train-00001-of-00002.parquet is there, number 0 is missing"},
        Names{
            {"train-1-of-9223372036854775807.parquet"},
            "split 'train': train-1-of-9223372036854775807.parquet is there, number 0 is missing"},
        Names{{"train-0-of-1.parquet", "train-0-of-1-ab.parquet"},
              "split 'train': train-0-of-1.parquet and train-0-of-1-ab.parquet have one number"},
        Names{{"train-0-of-1.parquet", "train-0-of-2.parquet"},
              "split 'train': train-0-of-1.parquet and train-0-of-2.parquet are of different "
              "counts"},
        Names{{"train-0-of-2.parquet", "train-1-of-2.parquet", "train-2-of-2.parquet"},
              "split 'train': 3 files, expected 2"}));

}  // namespace
}  // namespace trainctl::data
