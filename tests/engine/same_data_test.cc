// Ranks of a gang whose data are not the same do not train.
#include "worker/rank/train/same_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/engine/tiny_training.h"
#include "worker/rank/process/run_failure.h"

namespace trainctl::engine_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

data::Dataset DataOf(int64_t rows) {
  data::Dataset dataset;
  dataset.rows = std::vector<data::Row>(static_cast<size_t>(rows));
  dataset.digest = "xxh64:0123456789abcdef";
  dataset.total_tokens = 10 * rows;
  return dataset;
}

// What each of three ranks says; "" of one that goes on. change: rank 2's data.
std::vector<std::string> Said(const std::function<void(data::Dataset&)>& change) {
  std::vector<std::string> said(3);
  InGang(3, [&](comm::Communicator& comm) {
    data::Dataset dataset = DataOf(5);
    dataset.validation = std::make_unique<data::Dataset>(DataOf(2));
    if (comm.rank() == 2) change(dataset);
    try {
      train::CheckSameData(dataset, comm, at::kCPU);
    } catch (const train::RunFailure& failure) {
      said[static_cast<size_t>(comm.rank())] = failure.message;
    }
  });
  return said;
}

TEST(SameData, RanksOfTheSameDataGoOn) {
  EXPECT_THAT(Said([](data::Dataset&) {}), testing::Each(""));
}

TEST(SameData, EveryRankNamesTheFirstThatHasOtherRows) {
  const auto said = Said([](data::Dataset& dataset) {
    dataset.rows = std::vector<data::Row>(4);
    dataset.total_tokens -= 10;
    dataset.skipped = {{3, "cat.png: truncated"}};
  });
  EXPECT_THAT(said, testing::Each(AllOf(HasSubstr("rank 0 has 7 rows of 70 tokens; rank 2 has 6 "
                                                  "rows of 60 tokens, beside 1 whose pictures"),
                                        HasSubstr("data.path"))));
}

TEST(SameData, OtherBytesOrOtherTokensOfAsManyRowsAreOtherData) {
  const auto refused = testing::Each(HasSubstr("the ranks have other data"));
  EXPECT_THAT(Said([](data::Dataset& dataset) { dataset.digest.back() = '0'; }), refused);
  EXPECT_THAT(Said([](data::Dataset& dataset) { ++dataset.total_tokens; }), refused);
  EXPECT_THAT(Said([](data::Dataset& dataset) { ++dataset.validation->total_tokens; }), refused);
}

}  // namespace
}  // namespace trainctl::engine_test
