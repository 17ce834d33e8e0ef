#include "server/coordinator/believed_time.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/job/tiny_llama.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

constexpr const char* kGpu = "NVIDIA H200";

core::Submission Told(double seconds, int64_t runs = 0, const std::string& device = kGpu) {
  core::Submission submission{SmallJob("tiny"), job::tiny_llama::TinyLlama(), job::Prediction(),
                              false};
  submission.inspection->rows = 1000;
  submission.prediction->time = job::TimeEstimate{
      .total_seconds = seconds, .earlier_runs = runs, .device_name = device, .start_runs = runs};
  return submission;
}

double Believed(core::Submission told) {
  coordinator::RaiseToBelieved(&told, true);
  return told.prediction->time->QueueSeconds();
}

TEST(BelievedTime, IsNoLessThanTheCoordinatorsOwnPrediction) {
  const core::Submission job = Told(0);
  const double own = job::EstimateTime(job.spec, *job.inspection, kGpu)->total_seconds;
  EXPECT_GT(own, 0);
  EXPECT_DOUBLE_EQ(Believed(Told(own)), own);
  EXPECT_EQ(Believed(Told(2 * own)), 2 * own);
  EXPECT_DOUBLE_EQ(Believed(Told(own / 2)), own);
  EXPECT_DOUBLE_EQ(Believed(Told(-1)), own);
  EXPECT_DOUBLE_EQ(Believed(Told(std::numeric_limits<double>::quiet_NaN())), own);
}

TEST(BelievedTime, LeavesWhatWasPredictedAsItWasTold) {
  core::Submission job = Told(1);
  job.prediction->time->believed_seconds = 0;
  coordinator::RaiseToBelieved(&job, true);
  EXPECT_EQ(job.prediction->time->total_seconds, 1);
  EXPECT_GT(job.prediction->time->QueueSeconds(), 1);
  core::Submission forged = Told(1, 0, "a device of next year");
  forged.prediction->time->believed_seconds = 0;
  coordinator::RaiseToBelieved(&forged, true);
  EXPECT_EQ(forged.prediction->time->QueueSeconds(), 1) << "no client tells what is believed";
}

TEST(BelievedTime, OfEarlierRunsMayBeShorterThanThat) {
  const core::Submission job = Told(0);
  const double own = job::EstimateTime(job.spec, *job.inspection, kGpu)->total_seconds;
  EXPECT_EQ(Believed(Told(own / 2, 3)), own / 2);
  EXPECT_DOUBLE_EQ(Believed(Told(own / 100, 3)), own / 4);
}

bool IsClaimed(core::Submission told, bool is_inspection_known) {
  coordinator::RaiseToBelieved(&told, is_inspection_known);
  return told.prediction->time->claimed;
}

TEST(BelievedTime, IsClaimedWhereItRestsOnTheClientsWord) {
  EXPECT_FALSE(IsClaimed(Told(1), true));
  EXPECT_TRUE(IsClaimed(Told(1), false));
  EXPECT_TRUE(IsClaimed(Told(1, 3, "a device of next year"), true));
  core::Submission uninspected = Told(1);
  uninspected.inspection.reset();
  EXPECT_TRUE(IsClaimed(uninspected, false));
}

TEST(BelievedTime, OfAnUnknownDeviceIsAsTold) {
  EXPECT_EQ(Believed(Told(1, 0, "a device of next year")), 1);
  core::Submission unknown = Told(1);
  unknown.inspection.reset();
  EXPECT_EQ(Believed(unknown), 1);
}

}  // namespace
}  // namespace trainctl::rpc_test
