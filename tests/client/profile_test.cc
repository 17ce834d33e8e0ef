// Where profiled steps went, in describe.
#include "client/show/profile.h"

#include <map>
#include <string>

#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

void AddSummary(const std::string& name, int64_t rank, double mean, v1::JobDetail* detail) {
  v1::MetricSummary& summary = *detail->add_summaries();
  summary.set_name(name);
  if (rank >= 0) summary.set_rank(rank);
  summary.set_latest(mean);
  summary.set_min(mean);
  summary.set_max(mean);
  summary.set_total(3 * mean);
  summary.set_count(3);
}

v1::JobDetail Profiled(int64_t ranks) {
  v1::JobDetail detail;
  AddSummary("step_seconds", -1, 0.5, &detail);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const std::map<std::string, double> kinds = {
        {"matmul", 0.3},
        {"attention", 0.1},
        {"optimizer", 0.04},
        {"other", 0.08},
        {"communication", 0.02 + 0.02 * static_cast<double>(rank)},
        {"copies", 0.01},
        {"data", 0.01},
        {"host", 0.04 - 0.02 * static_cast<double>(rank)},
        {"step", 0.6}};
    for (const auto& [kind, mean] : kinds)
      AddSummary("profile_" + kind + "_seconds", rank, mean, &detail);
  }
  return detail;
}

TEST(Profile, IsATableOfKindsWhoseLastRowIsTheStep) {
  EXPECT_EQ(ProfileText(Profiled(1), {}),
            "\nProfile: 3 steps, slower for being traced: the median of all steps is 500.00 ms\n"
            "TIME IN                   A STEP    SHARE\n"
            "matrix products        300.00 ms   50.0 %\n"
            "attention              100.00 ms   16.7 %\n"
            "optimizer               40.00 ms    6.7 %\n"
            "other kernels           80.00 ms   13.3 %\n"
            "exposed communication   20.00 ms    3.3 %\n"
            "copies                  10.00 ms    1.7 %\n"
            "waiting for data        10.00 ms    1.7 %\n"
            "host gaps               40.00 ms    6.7 %\n"
            "profiled step          600.00 ms  100.0 %\n");
}

TEST(Profile, OfSeveralRanksIsTheirMeanWithTheLeastAndTheMost) {
  const std::string text = ProfileText(Profiled(2), {});
  EXPECT_NE(text.find("Profile: 3 steps of each of 2 ranks, slower"), std::string::npos) << text;
  EXPECT_NE(text.find("exposed communication   30.00 ms    5.0 %        20.00 ms       40.00 ms\n"),
            std::string::npos)
      << text;
}

TEST(Profile, IsCalledSlowerOnlyWhereItIs) {
  v1::JobDetail detail = Profiled(1);
  detail.mutable_summaries(0)->set_latest(0.65);
  detail.mutable_summaries(0)->set_min(0.65);
  detail.mutable_summaries(0)->set_max(0.65);
  detail.mutable_summaries(0)->set_total(3 * 0.65);
  EXPECT_NE(
      ProfileText(detail, {}).find("\nProfile: 3 steps; the median of all steps is 650.00 ms\n"),
      std::string::npos)
      << ProfileText(detail, {});
}

TEST(Profile, OfAJobWithoutOneIsNothing) {
  EXPECT_EQ(ProfileText({}, {}), "");
  EXPECT_EQ(ProfileMarkdown({}), "");
}

class ProfileVerbTest : public ClientTest {};

TEST_F(ProfileVerbTest, DescribeHasTheTableInPlaceOfTheMetricsRows) {
  v1::JobView view;
  view.set_id("j1");
  view.set_name("big");
  coordinator_.jobs = {view};
  coordinator_.details["j1"] = Profiled(1);
  const std::string text = Trainctl({"describe", "big"}).out;
  EXPECT_NE(text.find("matrix products        300.00 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("step_seconds"), std::string::npos);
  EXPECT_EQ(text.find("profile_matmul_seconds"), std::string::npos);
  const std::string markdown = Trainctl({"describe", "big", "-o", "md"}).out;
  EXPECT_NE(markdown.find("## Profile\n"), std::string::npos);
  EXPECT_NE(markdown.find("| host gaps | 40.00 ms | 6.7 % |"), std::string::npos) << markdown;
  const Json json = Json::parse(Trainctl({"describe", "big", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["summaries"].size(), 10u);
}

}  // namespace
}  // namespace trainctl::client
