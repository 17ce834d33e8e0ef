// What the pages and Prometheus are told of a real coordinator's jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string_view>

#include "common/job/job_json.h"
#include "common/rank/metric.h"
#include "common/record/comparison_record.h"
#include "common/record/detail_record.h"
#include "common/record/job_record.h"
#include "common/record/lease_record.h"
#include "tests/checkout.h"
#include "tests/rpc/user_channel.h"
#include "tests/web/http_client.h"
#include "tests/web/web_api.h"

namespace trainctl::web_test {
namespace {

using rpc_test::FakeWorker;
using rpc_test::TestSite;
using testing::HasSubstr;

TEST_F(WebApi, TheSiteHasTheRecordsThatTheCommandLineHas) {
  TrainSteps(3);
  const Json site = GetJson(site_, "/api/site");
  EXPECT_EQ(site.begin().key(), "schema");
  ASSERT_EQ(site["jobs"].size(), 1u);
  v1::ListResponse list;
  ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::List, {}, &list).ok());
  Json record = record::JobRecord(list.jobs(0));
  Json shown = site["jobs"][0];
  for (Json* one : {&record, &shown}) one->erase("remaining_seconds");
  EXPECT_EQ(shown, record);
  EXPECT_EQ(shown["name"], kHostile);
  EXPECT_EQ(site["workers"][0]["name"], "a/0");
  EXPECT_EQ(site["workers"][0]["state"], "BUSY");
  EXPECT_EQ(GetJson(site_, "/api/view?job=" + job_.id)["workers"].size(), 1u);
}

TEST_F(WebApi, AJobIsWhatDescribeTellsAndItsMemoryByKind) {
  TrainSteps(3);
  worker_.Succeed(job_.rank);
  site_.WaitForState(job_.id, "FINISHED");
  const Json document = GetJson(site_, "/api/job?job=" + job_.id);
  Json shown = document;
  shown.erase("schema");
  shown.erase("memory");
  EXPECT_EQ(shown.dump(), Json(record::DetailRecord(site_.Get(job_.id))).dump());
  ASSERT_EQ(document["memory"]["rows"].size(), 2u);
  const Json row = document["memory"]["rows"][1];
  EXPECT_EQ(row["label"], "parameters");
  EXPECT_EQ(row["phase"], "after_forward");
  EXPECT_EQ(row["measured_bytes"], 1024);
  EXPECT_TRUE(row["predicted_bytes"].is_null());
}

TEST_F(WebApi, TheTextsOfEachEvaluationThatIsKeptCanBeAskedFor) {
  job_ = rpc_test::Train(site_, worker_, kHostile);
  for (const int64_t step : {9, 19, 29})
    worker_.Report(job_.rank, job::RankContinuation{step, 0, kHostile, std::to_string(step)});
  worker_.Report(job_.rank, job::RankProgress{.step = 30, .steps = 5000, .loss = 2.5});
  site_.WaitFor(job_.id, [](const v1::JobView& view) { return view.step() == 30; });
  WaitUntilStored();
  const auto told = [this](const std::string& texts) {
    const Json document = GetJson(site_, "/api/job?job=" + job_.id + texts);
    EXPECT_EQ(document["text_steps"], Json({9, 19, 29}));
    std::string steps;
    for (const Json& said : document["continuations"]) {
      EXPECT_EQ(said["prompt"], kHostile);
      steps += said["text"].get<std::string>() + " ";
    }
    return steps;
  };
  EXPECT_EQ(told(""), "9 29 ");
  EXPECT_EQ(told("&texts=all"), "9 19 29 ");
  EXPECT_EQ(told("&texts=19"), "19 ");
  EXPECT_EQ(told("&texts=20"), "");
  const std::string job = "/api/job?job=" + job_.id;
  EXPECT_THAT(GetJson(site_, job + "&texts=some", 400)["error"], HasSubstr("texts: 'some'"));
  v1::GetRequest request;
  request.set_job(job_.id);
  request.set_texts_of_step(19);
  v1::GetResponse response;
  ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Get, request, &response).ok());
  ASSERT_EQ(response.jobs(0).continuations_size(), 1);
  EXPECT_EQ(response.jobs(0).continuations(0).text(), "19");
}

TEST_F(WebApi, ACurveIsAsManyPointsAsWereAskedForOfTheStepsThatWereAskedFor) {
  TrainSteps(3000);
  const std::string target = "/api/series?name=loss&job=" + job_.id;
  const Json all = GetJson(site_, target + "&points=100");
  ASSERT_EQ(all["curves"].size(), 1u);
  EXPECT_EQ(all["label"], "training loss");
  const Json view = GetJson(site_, "/api/view?job=" + job_.id)["job"];
  EXPECT_TRUE(view["started_at"].is_number());
  EXPECT_EQ(all["started_at"], view["started_at"]) << "whatever steps are asked for";
  const Json& curve = all["curves"][0];
  EXPECT_EQ(curve["count"], 3001);
  EXPECT_LE(curve["steps"].size(), 202u);
  EXPECT_LE(GetJson(site_, target)["curves"][0]["steps"].size(), 602u) << "as pages ask";
  EXPECT_EQ(curve["steps"].front(), 0);
  EXPECT_EQ(curve["steps"].back(), 3000);
  EXPECT_TRUE(curve["values"].back().is_null()) << "a loss that is no number is a gap";
  EXPECT_TRUE(curve["rank"].is_null());
  const Json part = GetJson(site_, target + "&from=10&to=14")["curves"][0];
  EXPECT_EQ(part["steps"], Json({10, 11, 12, 13, 14}));
  EXPECT_DOUBLE_EQ(part["values"][0].get<double>(), 3.99);
  const Json memory = GetJson(site_, "/api/series?name=memory_params_bytes&job=" + job_.id);
  ASSERT_EQ(memory["curves"].size(), 2u);
  EXPECT_EQ(memory["curves"][1]["phase"], "before_forward");
  EXPECT_EQ(memory["curves"][1]["rank"], 0);
}

TEST_F(WebApi, MetricsAreThoseOfTheTableAndHaveItsLabels) {
  const Json metrics = GetJson(site_, "/api/metrics")["metrics"];
  EXPECT_EQ(metrics.size(), job::Metrics().size() - 1) << "time_seconds has no points of its own";
  const auto loss = std::ranges::find(metrics, "loss", [](const Json& one) { return one["name"]; });
  ASSERT_NE(loss, metrics.end());
  const Json wanted = {
      {"name", "loss"}, {"label", "training loss"}, {"unit", ""}, {"section", "loss"}};
  EXPECT_EQ(*loss, wanted);
}

// What was read before is kept; the answer is the one of a first question.
TEST_F(WebApi, ACurveThatIsAskedForAgainGoesOnWhereItEnded) {
  TrainSteps(700);
  const std::string target = "/api/series?name=loss&points=50&job=" + job_.id;
  const auto first_read = [&] { return GetJson(site_, target + "&from=0")["curves"]; };
  EXPECT_EQ(GetJson(site_, target)["curves"], first_read());
  for (int step = 701; step < 1400; step += 100) {
    std::vector<job::MetricPoint> points;
    for (int i = step; i < step + 100; ++i)
      points.push_back({"loss", i, std::nullopt, std::nullopt, 1.0 + i % 7, 3'000'000 + i});
    worker_.Report(job_.rank, job::RankMetrics{points});
    worker_.Report(job_.rank, job::RankProgress{.step = step + 100, .steps = 5000});
    site_.WaitFor(job_.id, [&](const v1::JobView& view) { return view.step() == step + 100; });
    WaitUntilStored();
    const Json again = GetJson(site_, target)["curves"];
    EXPECT_EQ(again, first_read());
    EXPECT_EQ(again[0]["count"], step + 100);
  }
}

TEST_F(WebApi, ALogIsReadPieceByPieceWithoutSplitCharacters) {
  TrainSteps(1);
  const std::string target = "/api/log?job=" + job_.id;
  worker_.Log(job_.rank, 0, "<b>one</b>\n\xc3");
  worker_.WaitForLogAck(job_.rank, 12);
  const Json first = GetJson(site_, target);
  EXPECT_EQ(first["text"], "<b>one</b>\n");
  EXPECT_EQ(first["next_offset"], 11);
  EXPECT_EQ(first["ended"], false);
  worker_.Log(job_.rank, 12,
              "\xbc"
              "ber\xff\n");
  worker_.WaitForLogAck(job_.rank, 18);
  const Json second = GetJson(site_, target + "&offset=11");
  EXPECT_EQ(second["text"], "über\xef\xbf\xbd\n");
  EXPECT_EQ(second["next_offset"], 18);
  EXPECT_EQ(GetJson(site_, target + "&offset=999999")["text"], "");
  GetJson(site_, target + "&rank=1", 404);
  GetJson(site_, target + "&attempt=2", 404);
}

TEST_F(WebApi, AComparisonIsTheOneOfTheCommandLine) {
  TrainSteps(3);
  worker_.Succeed(job_.rank);
  site_.WaitForState(job_.id, "FINISHED");
  const std::string other = site_.Submit("other");
  worker_.Start();
  site_.WaitForState(other, "STARTING");
  const Json document = GetJson(site_, "/api/compare?job=" + job_.id + "&job=other");
  v1::CompareRequest request;
  request.add_jobs(job_.id);
  request.add_jobs("other");
  v1::CompareResponse response;
  ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Compare, request, &response).ok());
  Json shown = document;
  shown.erase("schema");
  EXPECT_EQ(shown.dump(), Json(record::ComparisonDocument(response)).dump());
  EXPECT_EQ(document["jobs"][1]["id"], other);
  EXPECT_EQ(document["jobs"][0]["device_name"], response.jobs(0).device_name());
  EXPECT_FALSE(response.doubtful_sections().empty());
  EXPECT_EQ(document["doubtful_sections"].size(), response.doubtful_sections().size());
  for (const auto& [section, doubt] : response.doubtful_sections())
    EXPECT_EQ(document["doubtful_sections"][section], doubt) << "as Python's client shows it";
}

TEST_F(WebApi, TheSiteHasAllThatRunsAndWaitsHoweverOldItIs) {
  TrainSteps(1);
  for (const char* name : {"waits", "newer", "newest"}) site_.Submit(name);
  v1::CancelRequest cancel;
  for (const char* name : {"newer", "newest"}) cancel.add_jobs(name);
  v1::CancelResponse cancelled;
  ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Cancel, cancel, &cancelled).ok());
  for (const char* name : {"newer", "newest"}) site_.WaitForState(name, "FINISHED");
  std::vector<std::string> ids;
  const Json site = GetJson(site_, "/api/site?limit=1");
  for (const Json& job : site["jobs"]) ids.push_back(job["id"]);
  EXPECT_EQ(ids, (std::vector<std::string>{"j4", "j2", "j1"}));
}

TEST_F(WebApi, AGroupHasTheRecordsOfItsJobsInTheirOrder) {
  TrainSteps(1);
  v1::SubmitRequest request;
  request.set_request_id("of a lab");
  request.set_group_name("my <lab>");
  for (const char* name : {"one", "two"}) {
    job::JobSpec job = rpc_test::SmallJob(name);
    job.notes = "Does it <pay>?";
    request.add_jobs()->set_job_json(job::ToJson(job));
  }
  v1::SubmitResponse response;
  ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Submit, request, &response).ok());
  const Json group = GetJson(site_, "/api/group?group=" + response.group());
  EXPECT_EQ(group["group_name"], "my <lab>");
  EXPECT_EQ(group["group"], response.group());
  EXPECT_EQ(group["questions"], Json({"Does it <pay>?"}));
  ASSERT_EQ(group["jobs"].size(), 2u);
  EXPECT_EQ(group["jobs"][0]["name"], "one");
  EXPECT_EQ(group["jobs"][1]["state"], "QUEUED");
  EXPECT_THAT(GetJson(site_, "/api/group?group=g99", 404)["error"], HasSubstr("g99"));
  EXPECT_THAT(GetJson(site_, "/api/group?group=" + job_.id, 400)["error"],
              HasSubstr("expected a group"));
}

void LeaseADevice(TestSite& site) {
  v1::CreateLeaseRequest request;
  request.set_request_id("of a lease");
  request.set_name("lab2");
  request.mutable_wish()->set_devices(1);
  request.mutable_wish()->set_seconds(3600);
  v1::CreateLeaseResponse response;
  const auto made = site.Call(&v1::Coordinator::Stub::CreateLease, request, &response);
  ASSERT_TRUE(made.ok()) << made.error_message();
}

TEST_F(WebApi, TheQueueHasWhatWaitsAndTheLeases) {
  worker_.Connect(site_.channel());
  ASSERT_NO_FATAL_FAILURE(LeaseADevice(site_));
  site_.Submit("waits");
  const Json queue = GetJson(site_, "/api/queue");
  ASSERT_EQ(queue["jobs"].size(), 1u);
  EXPECT_EQ(queue["jobs"][0]["name"], "waits");
  v1::LeasesResponse leases;
  ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Leases, {}, &leases).ok());
  ASSERT_EQ(queue["leases"].size(), 1u);
  EXPECT_EQ(queue["leases"][0].dump(), Json(record::LeaseRecord(leases.leases(0))).dump());
  EXPECT_EQ(queue["leases"][0]["devices"], Json::parse(R"(["a/0"])"));
}

TEST_F(WebApi, TheQueueNamesWhatIsWrongWithADeviceOfALease) {
  worker_.Connect(site_.channel());
  ASSERT_NO_FATAL_FAILURE(LeaseADevice(site_));
  EXPECT_EQ(GetJson(site_, "/api/queue")["leases"][0]["trouble"], Json::array());
  v1::DrainRequest drain;
  drain.set_target("a/0");
  drain.set_reason("a new fan");
  v1::DrainResponse drained;
  ASSERT_TRUE(site_.Call(&v1::Coordinator::Stub::Drain, drain, &drained).ok());
  const Json trouble = GetJson(site_, "/api/queue")["leases"][0]["trouble"];
  ASSERT_EQ(trouble.size(), 1u);
  EXPECT_EQ(trouble[0]["device"], "a/0");
  EXPECT_THAT(std::string(trouble[0]["is"]), HasSubstr("DRAINED"));
  EXPECT_THAT(std::string(trouble[0]["is"]), HasSubstr("a new fan"));
}

// The oldest goes first, though so many are newer.
TEST_F(WebApi, OfALongQueueTheFirstAreShownAndHowManyThereAre) {
  job::JobSpec first = rpc_test::SmallJob("goes first");
  first.resources.priority = 90;
  first.devices = 2;
  site_.Submit(first);
  constexpr int kOthers = 1000;
  v1::SubmitRequest request;
  request.set_request_id("of many");
  request.set_group_name("many");
  for (int i = 0; i < kOthers; ++i)
    request.add_jobs()->set_job_json(rpc_test::JobJson("other" + std::to_string(i)));
  v1::SubmitResponse response;
  const auto status = site_.Call(&v1::Coordinator::Stub::Submit, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const Json queue = GetJson(site_, "/api/queue");
  ASSERT_EQ(queue["jobs"].size(), 1000u);
  EXPECT_EQ(queue["jobs"][0]["name"], "goes first");
  EXPECT_EQ(queue["jobs"][1]["id"], "j2");
  EXPECT_EQ(queue["jobs"][999]["id"], "j1000");
  EXPECT_EQ(queue["queued_jobs"], kOthers + 1);
  EXPECT_EQ(queue["queued_devices"], kOthers + 2);
  const Json site = GetJson(site_, "/api/site?limit=1");
  ASSERT_EQ(site["jobs"].size(), 1001u) << "the newest is none of the queue's first";
  EXPECT_EQ(site["jobs"][0]["id"], "j1001");
  EXPECT_EQ(site["jobs"][1000]["name"], "goes first");
  EXPECT_EQ(site["queued_jobs"], kOthers + 1);
  EXPECT_EQ(site["unfinished_jobs"], kOthers + 1);
}

TEST_F(WebApi, EachFaultIsAnErrorThatNamesItsPlace) {
  TrainSteps(1);
  const std::string job = "job=" + job_.id;
  EXPECT_THAT(GetJson(site_, "/api/job?job=j99", 404)["error"], HasSubstr("j99"));
  EXPECT_THAT(GetJson(site_, "/api/job", 404)["error"], HasSubstr("no job"));
  EXPECT_THAT(GetJson(site_, "/api/view?job=" + std::string("%3Cb%3E"), 404)["error"],
              HasSubstr("<b>"));
  EXPECT_THAT(GetJson(site_, "/api/series?name=los&" + job, 400)["error"], HasSubstr("los"));
  EXPECT_THAT(GetJson(site_, "/api/series?name=loss&points=1&" + job, 400)["error"],
              HasSubstr("points: '1'"));
  EXPECT_THAT(GetJson(site_, "/api/log?rank=x&" + job, 400)["error"], HasSubstr("rank: 'x'"));
  EXPECT_THAT(GetJson(site_, "/api/compare?base=j99&" + job, 404)["error"], HasSubstr("j99"));
  EXPECT_THAT(GetJson(site_, "/api/site?limit=0", 400)["error"], HasSubstr("limit"));
  GetJson(site_, "/api/nothing", 404);
}

TEST_F(WebApi, AViewIsToldAgainWhenTheJobHasMovedOn) {
  TrainSteps(1);
  HttpClient live(site_.dashboard());
  live.Send(GetText(site_.dashboard(), "/api/live/view?job=" + job_.id));
  EXPECT_NE(live.ReceiveUntil("\"step\":2,"), "");
  worker_.Report(job_.rank, job::RankProgress{.step = 77, .steps = 5000, .loss = 1.5});
  EXPECT_NE(live.ReceiveUntil("\"step\":77,"), "");
  HttpClient wrong(site_.dashboard());
  wrong.Send(GetText(site_.dashboard(), "/api/live/view?job=j99"));
  EXPECT_THAT(wrong.ReceiveToEnd(), HasSubstr("event: problem\ndata: {"));
}

TEST(WebPermissions, TheTableDecidesAndTheKernelSaysWhoAsks) {
  if (!rpc_test::MayBeOtherUsers()) GTEST_SKIP() << "only root may be another user";
  constexpr uid_t kViewer = 61004, kNobody = 61005;
  auth::UnixPolicy policy;
  for (const char* role : {"uid:61004=viewer", "uid:61005=none"})
    ASSERT_TRUE(auth::AddRole(role, &policy).ok());
  const TestSite site(policy);
  const auto ask = [&](uid_t user, const std::string& target) {
    HttpClient client(site.dashboard(), user);
    client.Send(GetText(site.dashboard(), target));
    return client.Receive();
  };
  for (const char* target : {"/", "/api/site", "/api/job?job=j1", "/metrics", "/assets/site.js"}) {
    const Reply refused = ask(kNobody, target);
    EXPECT_EQ(refused.status, 403) << target;
    EXPECT_THAT(refused.body, HasSubstr("uid:61005 has no role on this site"));
    EXPECT_NE(ask(kViewer, target).status, 403) << target;
  }
  EXPECT_EQ(Json::parse(ask(kViewer, "/api/site").body)["user"], "uid:61004");
}

// The first document of a live stream.
Json FirstOf(HttpClient& live) {
  constexpr std::string_view kData = "data: ";
  const std::string text = live.ReceiveUntil("\n\n");
  const size_t begin = text.find(kData);
  EXPECT_NE(begin, std::string::npos) << text;
  return begin == std::string::npos ? Json() : Json::parse(text.substr(begin + kData.size()));
}

TEST(WebPermissions, LivePagesShareWhatIsOfTheSiteAndNotWhoAsks) {
  if (!rpc_test::MayBeOtherUsers()) GTEST_SKIP() << "only root may be another user";
  constexpr uid_t kAnna = 61004, kBo = 61006;
  auth::UnixPolicy policy;
  for (const char* role : {"uid:61004=viewer", "uid:61006=viewer"})
    ASSERT_TRUE(auth::AddRole(role, &policy).ok());
  TestSite site(policy);
  FakeWorker worker("a/0");
  const rpc_test::TrainingJob ended = rpc_test::Train(site, worker, "ended");
  worker.Succeed(ended.rank);
  site.WaitForState(ended.id, "FINISHED");
  site.Submit("runs");
  worker.BeginTraining(worker.Start());
  const std::string queued = site.Submit("waits");
  site.WaitForState(queued, "QUEUED");
  const std::string address = site.dashboard();
  HttpClient anna(address, kAnna), bo(address, kBo), all(address, kBo), queue(address, kAnna);
  anna.Send(GetText(address, "/api/live/site?limit=1"));
  bo.Send(GetText(address, "/api/live/site?limit=1"));
  all.Send(GetText(address, "/api/live/site?limit=3"));
  queue.Send(GetText(address, "/api/live/queue"));
  const Json of_anna = FirstOf(anna), of_bo = FirstOf(bo);
  const Json of_all = FirstOf(all), of_queue = FirstOf(queue);
  EXPECT_EQ(of_anna["user"], "uid:61004");
  EXPECT_EQ(of_bo["user"], "uid:61006");
  EXPECT_EQ(of_all["user"], "uid:61006");
  EXPECT_EQ(of_anna["jobs"].size(), 2u) << "the newest, and the one that runs";
  EXPECT_EQ(of_bo["jobs"].size(), 2u);
  EXPECT_EQ(of_all["jobs"].size(), 3u);
  ASSERT_EQ(of_queue["jobs"].size(), 1u);
  EXPECT_EQ(of_queue["jobs"][0]["id"], queued);
  EXPECT_EQ(of_queue["queued_jobs"], 1);
  EXPECT_FALSE(of_queue.contains("user"));
  EXPECT_FALSE(of_queue.contains("workers"));
}

// The text, line by line, as the format is specified.
void CheckExposition(const std::string& text) {
  const std::regex help("# HELP [a-z_]+ .+"), type("# TYPE [a-z_]+ (gauge|counter|histogram)"),
      sample(R"re([a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.e]+(Inf|NaN)?)re");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(std::regex_match(line, help) || std::regex_match(line, type) ||
                std::regex_match(line, sample))
        << line;
  }
  EXPECT_TRUE(text.ends_with('\n'));
}

TEST_F(WebApi, PrometheusIsToldOfJobsDevicesCallsAndCommits) {
  TrainSteps(1);
  site_.Submit("waits");
  const auto metrics = [&] {
    const Reply reply = Get(site_.dashboard(), "/metrics");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    return reply.body;
  };
  const std::string text = metrics();
  CheckExposition(text);
  for (const char* line :
       {"\ntrainctl_jobs{state=\"QUEUED\"} 1\n", "\ntrainctl_jobs{state=\"RUNNING\"} 1\n",
        "\ntrainctl_jobs{state=\"FINISHED\"} 0\n", "\ntrainctl_queue_length 1\n",
        "\ntrainctl_queue_devices 1\n", "\ntrainctl_devices{state=\"BUSY\"} 1\n",
        "\ntrainctl_rpc_total{rpc=\"Submit\",code=\"OK\"} 2\n",
        "\ntrainctl_rpc_seconds_count{rpc=\"Submit\"} 2\n",
        "\ntrainctl_store_commit_failures_total 0\n", "\ntrainctl_clock_jumps_total 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, testing::Not(HasSubstr("trainctl_store_commit_seconds_count 0\n")));
  worker_.Succeed(job_.rank);
  site_.WaitForState(job_.id, "FINISHED");
  EXPECT_THAT(text, HasSubstr("\ntrainctl_job_ends_total{outcome=\"SUCCEEDED\"} 0\n"));
  const std::string ended = metrics();
  EXPECT_THAT(ended, HasSubstr("\ntrainctl_jobs_ended{outcome=\"SUCCEEDED\"} 1\n"));
  EXPECT_THAT(ended, HasSubstr("\ntrainctl_job_ends_total{outcome=\"SUCCEEDED\"} 1\n"));
  EXPECT_EQ(text.find(kHostile), std::string::npos) << "no label is made of what users write";
}

TEST_F(WebApi, GrafanasDashboardAsksForWhatThereIs) {
  TrainSteps(1);
  const std::string text = Get(site_.dashboard(), "/metrics").body;
  std::ifstream file(checkout::File("deploy/grafana/trainctl.json"));
  const Json dashboard = Json::parse(file);
  const std::regex name("trainctl_[a-z_]+");
  int names = 0;
  for (const Json& panel : dashboard["panels"]) {
    const std::string expression = panel["targets"][0]["expr"];
    for (std::sregex_iterator at(expression.begin(), expression.end(), name), end; at != end;
         ++at) {
      const std::string family = std::regex_replace(at->str(), std::regex("_bucket$"), "");
      EXPECT_THAT(text, HasSubstr("\n# TYPE " + family + " ")) << panel["title"];
      ++names;
    }
  }
  EXPECT_GT(names, 10);
}

}  // namespace
}  // namespace trainctl::web_test
