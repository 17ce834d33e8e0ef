// The shell by itself: what it does when the disk refuses, and how events share transactions.
#include "server/coordinator/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "common/job/after_type.h"
#include "common/job/job_json.h"
#include "proto/trainctl.pb.h"
#include "server/views/encode_worker.h"
#include "tests/rpc/coordinator_fixture.h"

namespace trainctl::coordinator {
namespace {

TEST_F(CoordinatorTest, WhatTheDiskRefusesIsAcceptedByNobody) {
  Join(channel_);
  loop_.Call([&] { store_.is_full = true; });
  const auto refused = Submit("r1");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kExhausted);
  loop_.Call([&] {
    EXPECT_EQ(channel_.Count<core::StartRank>(), 0) << "an effect before its commit";
    EXPECT_TRUE(channel_.ended) << "workers must say again what was not stored";
    EXPECT_TRUE(coordinator_.workers().all().empty());
    store_.is_full = false;
  });
  const auto accepted = Submit("r1");
  ASSERT_TRUE(accepted.ok()) << accepted.error().message;
  EXPECT_EQ(base::ToString(accepted->jobs[0].id), "j1")
      << "the refused submission left nothing behind";
  loop_.Call([&] { EXPECT_EQ(coordinator_.state().jobs.size(), 1u); });
}

TEST_F(CoordinatorTest, WhatTheDiskRefusesIsSeenByNobodyWhoAsksBehindTheRefusal) {
  Join(channel_);
  ASSERT_TRUE(Submit("r1").ok());
  std::promise<bool> drained;
  loop_.Call([&] {
    store_.is_full = true;
    coordinator_.DrainDevices("a/0", "", Ops(),
                              [&](const auto& answer) { drained.set_value(answer.ok()); });
  });
  EXPECT_FALSE(drained.get_future().get());
  loop_.Call([&] { EXPECT_TRUE(coordinator_.state().drains.empty()); });
}

TEST_F(CoordinatorTest, JobsOfBeforeTheFullDiskAreStillThereAfterIt) {
  ASSERT_TRUE(Submit("r1").ok());
  loop_.Call([&] { store_.is_full = true; });
  ASSERT_FALSE(Submit("r2").ok());
  loop_.Call([&] { store_.is_full = false; });
  EXPECT_EQ(base::ToString(Submit("r1")->jobs[0].id), "j1");
  Join(channel_);
  ASSERT_TRUE(Submit("r3").ok());  // its commit comes behind the worker's
  loop_.Call([&] { EXPECT_EQ(channel_.Count<core::StartRank>(), 1); });
}

// As after a restore: its worker keeps the rank's folder until all of its log is taken.
TEST_F(CoordinatorTest, ALogOfAJobThatTheSiteDoesNotKnowIsTakenAndForgotten) {
  ASSERT_TRUE(Submit("r1").ok());
  const job::RankKey known{{1}, 9, 0}, unknown{{7}, 1, 0};
  Join(channel_, {{.key = known}, {.key = unknown}});
  loop_.Call([&] {
    for (const job::RankKey& key : {known, unknown})
      coordinator_.WorkerLogged(channel_, "a/0", {key, 0, 0, "a line\n"});
  });
  const auto acks = [&] {
    std::vector<std::string> told;
    loop_.Call([&] {
      for (const WorkerCommand& command : channel_.sent) {
        const auto* stored = std::get_if<LogStored>(&command);
        if (stored != nullptr)
          told.push_back(job::ToString(stored->key) + " to " + std::to_string(stored->offset));
      }
    });
    return told;
  };
  const auto deadline = std::chrono::steady_clock::now() + rpc_test::kDeadline;
  while (acks().empty() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(acks(), (std::vector{job::ToString(unknown) + " to 7"}))
      << "what a job has that is known is not lost";
  loop_.Call([&] { EXPECT_FALSE(*logs_.Has({7})); });
}

// Idle or not: what is stored must lie where the next start looks for it.
TEST_F(CoordinatorTest, NothingIsAcceptedWhileItsDatabaseIsMovedAwayOrReplaced) {
  ASSERT_TRUE(Submit("r1").ok());
  const auto trouble = [&] {
    std::string text;
    loop_.Call([&] { text = coordinator_.store_trouble(); });
    return text;
  };
  for (const char* suffix : {"", "-wal"}) {
    const std::string file = store::DatabasePath(folder_.path()) + suffix, kept = file + ".kept";
    const std::string request = std::string("of") + suffix;
    std::filesystem::rename(file, kept);
    const auto deadline = std::chrono::steady_clock::now() + rpc_test::kDeadline;
    while (trouble().empty() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_THAT(trouble(), testing::HasSubstr(file + " was moved away or removed"));
    EXPECT_FALSE(Submit(request).ok());
    std::ofstream(file) << "another";
    const auto refused = Submit(request);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, testing::HasSubstr(file + " was replaced"));
    loop_.Call([&] { EXPECT_FALSE(coordinator_.CheckStore()); });
    std::filesystem::rename(kept, file);
    EXPECT_TRUE(Submit(request).ok());
    EXPECT_EQ(trouble(), "");
  }
}

TEST_F(CoordinatorTest, FilesStayWhereNobodyCanStoreWhoRemovesThem) {
  Join(channel_);
  ASSERT_TRUE(Submit("r1").ok());
  std::optional<base::Error> refused;
  loop_.Call([&] {
    JobOutputs outputs{.job = base::JobId{9}, .output_dir = "/out"};
    outputs.hosts.push_back({.name = "a", .workers = {"a/0"}});
    coordinator_.RemoveOutputs(outputs, false, {}, [&](const auto& told) {
      if (!told) refused = told.error();
    });
  });
  loop_.Call([&] {
    store_.is_full = true;
    ASSERT_EQ(channel_.Count<AskOutputs>(), 1);
    coordinator_.WorkerRemovedOutputs(channel_, "a/0", "o1", {}, "");
    EXPECT_EQ(channel_.Count<AskOutputs>(), 1) << "nothing is to be removed";
    ASSERT_TRUE(refused) << "at once";
    EXPECT_NE(refused->message.find("nothing was removed"), std::string::npos);
    store_.is_full = false;
  });
}

// Found through another spelling of the path, of which the clash of names knows nothing.
TEST_F(CoordinatorTest, AFolderThatALiveJobHasTakenIsRefusedUntilThatHasEnded) {
  ASSERT_TRUE(Submit("r1").ok());
  core::Submission other{rpc_test::SmallJob("tiny"), job::Inspection{.rows = 1000}, std::nullopt};
  other.spec.output = {.dir = "/link", .save = job::Save::kFinal};
  other.inspection->output = job::OutputFolder{};
  loop_.Call([&] {
    other.inspection->output->owner = job::FolderOwner{coordinator_.state().site, "j1", "tiny"};
  });
  const auto refused = PostSubmit("r2", other).get();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("j1 (tiny), which is not known to have ended"),
            std::string::npos)
      << refused.error().message;
  std::promise<base::Status> cancelled;
  loop_.Call([&] {
    coordinator_.Cancel({base::JobId{1}}, Anna(),
                        [&](base::Status status) { cancelled.set_value(std::move(status)); });
  });
  ASSERT_TRUE(cancelled.get_future().get().ok());
  EXPECT_TRUE(PostSubmit("r3", other).get().ok());
}

TEST_F(CoordinatorTest, SubmissionsThatWaitTogetherShareATransaction) {
  std::vector<std::future<base::Result<Submitted>>> answers;
  int before = 0;
  loop_.Call([&] {
    before = store_.commits;
    for (int i = 0; i < 100; ++i) answers.push_back(PostSubmit("r" + std::to_string(i)));
  });
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
  loop_.Call([&] { EXPECT_LT(store_.commits - before, 10); });
}

TEST_F(CoordinatorTest, AWorkerThatDoesNotComeBackIsRemovedAndThatIsRecorded) {
  const auto remove = [&](const std::string& worker) {
    std::optional<base::Code> refused;
    std::promise<void> done;
    loop_.Call([&] {
      coordinator_.RemoveWorker(worker, Ops(), [&](const base::Status& status) {
        if (!status) refused = status.error().code;
        done.set_value();
      });
    });
    done.get_future().wait();
    return refused;
  };
  Join(channel_);
  EXPECT_EQ(remove("b/0"), base::Code::kNotFound);
  EXPECT_EQ(remove("a/0"), base::Code::kConflict) << "it is connected";
  loop_.Call([&] { coordinator_.WorkerLeft(channel_, "a/0"); });
  EXPECT_EQ(remove("a/0"), std::nullopt);
  loop_.Call([&] { EXPECT_TRUE(coordinator_.state().workers.empty()); });
  EXPECT_TRUE(reader_->Workers().value().empty());
  EXPECT_EQ(Text(reader_->Audit(1).value().at(0)), "ops at here: remove a/0, accepted");
}

TEST_F(CoordinatorTest, AnOperatorsFenceEndsTheRankOfALostWorkerAndIsRecorded) {
  Join(channel_);
  ASSERT_TRUE(Submit("r1").ok());
  const auto fence = [&](const std::string& worker) {
    std::promise<base::Status> answer;
    loop_.Call([&] {
      coordinator_.Fence(worker, Ops(),
                         [&](base::Status status) { answer.set_value(std::move(status)); });
    });
    const base::Status status = answer.get_future().get();
    return status.ok() ? std::nullopt : std::optional(status.error().code);
  };
  EXPECT_EQ(fence("b/0"), base::Code::kNotFound);
  EXPECT_EQ(fence("a/0"), base::Code::kConflict) << "it is there";
  loop_.Call([&] { clock_.Advance(16'000'000); });
  ASSERT_EQ(channel_.end.get_future().wait_for(rpc_test::kDeadline), std::future_status::ready);
  ASSERT_TRUE(Submit("r2").ok());  // behind the rest of that tick
  EXPECT_EQ(fence("a/0"), std::nullopt);
  loop_.Call([&] {
    EXPECT_EQ(core::FindJob(coordinator_.state(), base::JobId{1}), nullptr) << "it has ended";
    EXPECT_EQ(Text(reader_->Audit(1).value().at(0)), "ops at here: fence a/0, accepted");
  });
}

TEST_F(CoordinatorTest, AJobFollowsOnlyJobsThatAreThereAndMayYetEndWell) {
  ASSERT_TRUE(Submit("r1").ok());
  ASSERT_TRUE(Submit("r2").ok());
  std::promise<base::Status> cancelled;
  loop_.Call([&] {
    coordinator_.Cancel({base::JobId{1}}, Ops(),
                        [&](base::Status status) { cancelled.set_value(std::move(status)); });
  });
  ASSERT_TRUE(cancelled.get_future().get().ok());
  const auto follow = [&](const std::string& name, job::After after) {
    job::JobSpec spec = job::FromJson(rpc_test::JobJson("next")).value();
    spec.resources.after[name] = after;
    const auto answer = PostSubmit("after " + name + std::string(job::Name(after)),
                                   {spec, job::Inspection{.rows = 1000}, std::nullopt})
                            .get();
    return answer.ok() ? "" : answer.error().message;
  };
  EXPECT_THAT(follow("next", job::After::kOk), testing::HasSubstr("the id of a job"));
  EXPECT_THAT(follow("j9", job::After::kOk), testing::HasSubstr("a job of this site"));
  EXPECT_THAT(follow("j1", job::After::kOk), testing::HasSubstr("ended as CANCELLED"));
  EXPECT_EQ(follow("j1", job::After::kAny), "");
  EXPECT_EQ(follow("j2", job::After::kOk), "");
  loop_.Call([&] {
    EXPECT_TRUE(core::FindJob(coordinator_.state(), base::JobId{3})->follows.empty());
    EXPECT_EQ(core::FindJob(coordinator_.state(), base::JobId{4})->follows.size(), 1u);
  });
}

TEST_F(CoordinatorTest, ADrainIsKeptOverARestartAndRecorded) {
  Join(channel_);
  ASSERT_TRUE(Submit("r1").ok());
  const auto drain = [&](const std::string& target, const std::string& reason) {
    std::promise<base::Result<std::vector<base::JobId>>> answer;
    loop_.Call([&] {
      coordinator_.DrainDevices(target, reason, Ops(),
                                [&](auto jobs) { answer.set_value(std::move(jobs)); });
    });
    return answer.get_future().get();
  };
  const auto undrain = [&](const std::string& target) {
    std::promise<base::Result<core::Undrained>> answer;
    loop_.Call([&] {
      coordinator_.UndrainDevices({target}, Ops(),
                                  [&](auto what) { answer.set_value(std::move(what)); });
    });
    const auto what = answer.get_future().get();
    return what.ok() ? std::nullopt : std::optional(what.error().code);
  };
  EXPECT_EQ(drain("b", "").error().code, base::Code::kNotFound);
  EXPECT_EQ(drain("a", std::string(1001, 'x')).error().code, base::Code::kInvalid);
  EXPECT_EQ(drain("a", "two\nlines").error().code, base::Code::kInvalid);
  EXPECT_EQ(drain("a", "new driver").value(), std::vector<base::JobId>{base::JobId{1}});
  EXPECT_EQ(undrain("a/0"), base::Code::kConflict) << "its host is drained";
  EXPECT_EQ(undrain("b"), base::Code::kNotFound);
  loop_.Call([&] {
    const core::DrainRow stored = store_.LoadState().value().drains.at(0);
    EXPECT_EQ(stored.target + " " + stored.user + " " + stored.reason, "a ops new driver");
    const store::AuditRow audit = reader_->Audit(1).value().at(0);
    EXPECT_EQ(audit.actor + " " + audit.action + " " + audit.subject, "ops drain a");
  });
  EXPECT_EQ(undrain("a"), std::nullopt);
  loop_.Call([&] { EXPECT_TRUE(store_.LoadState().value().drains.empty()); });
}

TEST_F(CoordinatorTest, AFaultIsKeptOverARestartUntilItsDeviceIsUndrained) {
  Join(channel_);
  loop_.Call([&] { coordinator_.WorkerToldFaults(channel_, {"a/0", {{79, 5}, {31, 6}}}); });
  std::promise<void> undrained;
  const auto stored = [&] {
    std::vector<core::FaultRow> faults;
    loop_.Call([&] { faults = store_.LoadState().value().faults; });
    return faults;
  };
  while (stored().size() < 2) std::this_thread::yield();
  EXPECT_FALSE(stored().at(1).cleared);
  loop_.Call([&] {
    const v1::WorkerView view = views::EncodeWorker(
        coordinator_.state(), coordinator_.state().workers.at("a/0"), nullptr, {1, 1});
    EXPECT_EQ(view.state(), "BAD");
    ASSERT_EQ(view.faults_size(), 2);
    EXPECT_EQ(view.faults(0).xid(), 79) << "the gravest first";
    EXPECT_EQ(view.faults(0).class_(), "bad");
    EXPECT_TRUE(view.faults(0).keeps_out());
    EXPECT_FALSE(view.faults(1).keeps_out());
    coordinator_.UndrainDevices({"a/0"}, Ops(), [&](const base::Result<core::Undrained>& what) {
      EXPECT_EQ(what.value().ended.size(), 1u) << "the one that keeps jobs away";
      EXPECT_TRUE(what->kept.empty());
      undrained.set_value();
    });
  });
  undrained.get_future().get();
  EXPECT_TRUE(stored().at(1).cleared);
}

// What was said before it in the same turn is in its answer.
TEST_F(CoordinatorTest, UndrainTellsOfTheStateThatItMeets) {
  Join(channel_);
  std::promise<base::Result<core::Undrained>> answer;
  loop_.Call([&] {
    coordinator_.WorkerToldFaults(channel_, {"a/0", {{79, 5}}});
    coordinator_.UndrainDevices({"a/0"}, Ops(),
                                [&](auto what) { answer.set_value(std::move(what)); });
  });
  const auto what = answer.get_future().get();
  ASSERT_TRUE(what.ok()) << what.error().message;
  EXPECT_EQ(what->ended.size(), 1u);
}

TEST_F(CoordinatorTest, LogsAreKeptOfRanksThatTheWorkerHas) {
  Join(channel_);
  ASSERT_TRUE(Submit("r1").ok());
  const job::RankKey own{base::JobId{1}, 1, 0}, foreign{base::JobId{7}, 1, 0};
  loop_.Call([&] {
    for (const job::RankKey& key : {own, foreign})
      coordinator_.WorkerLogged(channel_, "a/0", {key, 0, 0, "a line"});
    EXPECT_EQ(*logs_.End(own), 6);
    EXPECT_EQ(*logs_.End(foreign), 0);
  });
}

TEST_F(CoordinatorTest, WhatCouldNotBeStoredOfALogIsAskedForAgain) {
  Join(channel_);
  ASSERT_TRUE(Submit("r1").ok());
  const job::RankKey own{base::JobId{1}, 1, 0};
  loop_.Call([&] {
    coordinator_.WorkerLogged(channel_, "a/0", {own, 0, 0, "a line"});
    coordinator_.WorkerLogged(channel_, "a/0", {own, 100, 100, "another"});
    EXPECT_EQ(*logs_.End(own), 6) << "only what follows is taken";
  });
  EXPECT_TRUE(IsAskedAgainFrom(6));
}

TEST_F(CoordinatorTest, ALogThatCannotBeReadNowIsAskedForOnceItCanBe) {
  Join(older_);
  ASSERT_TRUE(Submit("r1").ok());
  const job::RankKey own{base::JobId{1}, 1, 0};
  const std::string folder = folder_.path() + "/logs/j1";
  loop_.Call([&] {
    ASSERT_TRUE(LogFiles(folder_.path() + "/logs").Append(own, 0, "a line").ok());
    std::filesystem::rename(folder, folder + ".away");
    std::filesystem::create_symlink("j1", folder);  // it leads to itself
  });
  Join(channel_, {{own, true}});
  loop_.Call([&] {
    coordinator_.WorkerLogged(channel_, "a/0", {own, 0, 0, "a line"});
    EXPECT_FALSE(logs_.End(own).ok());
  });
  ASSERT_TRUE(Submit("r2").ok());  // behind the worker's Hello
  loop_.Call([&] {
    const auto welcome = std::ranges::find_if(channel_.sent, [](const WorkerCommand& command) {
      return std::holds_alternative<WelcomeWorker>(command);
    });
    ASSERT_NE(welcome, channel_.sent.end());
    EXPECT_TRUE(std::get<WelcomeWorker>(*welcome).logs.empty()) << "0 would be wrong";
    std::filesystem::remove(folder);
    std::filesystem::rename(folder + ".away", folder);
  });
  EXPECT_TRUE(IsAskedAgainFrom(6));
}

TEST_F(CoordinatorTest, AConnectedWorkerWasSeenWhenItWasLastHeard) {
  Join(channel_);
  ASSERT_TRUE(Submit("r1").ok());  // behind the worker's Hello
  loop_.Call([&] {
    clock_.Advance(3'000'000);
    coordinator_.WorkerSampled(channel_, "a/0", {}, {});
    const base::WallMicros heard = clock_.Wall();
    clock_.Advance(2'000'000);
    const auto& session = coordinator_.workers().all().at("a/0");
    EXPECT_EQ(views::EncodeWorker(coordinator_.state(), coordinator_.state().workers.at("a/0"),
                                  &session, coordinator_.Now())
                  .last_seen(),
              heard);
  });
}

TEST_F(CoordinatorTest, AnInspectionThatNobodyAnswersIsUnavailableAfterItsDeadline) {
  Join(channel_);
  std::promise<base::Result<job::Inspection>> answer;
  loop_.Call([&] {
    coordinator_.Inspect("{}", "ann", [&](auto result) { answer.set_value(std::move(result)); });
    EXPECT_EQ(channel_.Count<AskInspect>(), 1);
    clock_.Advance(Inspections::kDeadlineMicros);
  });
  auto answered = answer.get_future();
  ASSERT_EQ(answered.wait_for(rpc_test::kDeadline), std::future_status::ready);
  EXPECT_EQ(answered.get().error().code, base::Code::kUnavailable);
}

// A model that no worker has seen may look small, so that its job goes before others.
TEST_F(CoordinatorTest, OnlyInspectionsThatWorkersAnsweredLetAPredictionBeBelieved) {
  Join(channel_);
  const job::JobSpec spec = job::FromJson(rpc_test::JobJson("tiny")).value();
  core::Submission told{spec, SmallModel(), job::Prediction(), false};
  told.prediction->time = job::TimeEstimate{.total_seconds = 1, .device_name = "NVIDIA H200"};
  const auto is_claimed = [&](const std::string& request_id, const core::Submission& submission) {
    const auto submitted = PostSubmit(request_id, submission).get();
    EXPECT_TRUE(submitted.ok()) << submitted.error().message;
    bool claimed = false;
    loop_.Call([&] {
      claimed = coordinator_.state().jobs.at(submitted->jobs[0].id).row.prediction->time->claimed;
    });
    return claimed;
  };
  EXPECT_TRUE(is_claimed("forged", told));
  loop_.Call([&] {
    coordinator_.Inspect(rpc_test::JobJson("looked at"), "anna", [](const auto&) {});
    const auto asked = std::ranges::find_if(channel_.sent, [](const WorkerCommand& command) {
      return std::holds_alternative<AskInspect>(command);
    });
    const std::string id = std::get<AskInspect>(*asked).request_id;
    coordinator_.WorkerInspected(channel_, "a/0", id, *told.inspection);
  });
  EXPECT_FALSE(is_claimed("as answered", told));
  core::Submission smaller = told;
  smaller.inspection->model.layers = 1;
  EXPECT_TRUE(is_claimed("another model", smaller));
  core::Submission elsewhere = told;
  elsewhere.spec.model.path = "/models/large";
  EXPECT_TRUE(is_claimed("another path", elsewhere));
}

TEST_F(CoordinatorTest, WhatAnOlderStreamStillSaysIsDropped) {
  Join(older_);
  Join(newer_);  // of the same process
  EXPECT_EQ(older_.end.get_future().get().code, base::Code::kUnavailable);
  loop_.Call([&] {
    coordinator_.WorkerSampled(older_, "a/0", {.power_watts = 100}, {});
    coordinator_.WorkerLeft(older_, "a/0");
    const auto& session = coordinator_.workers().all().at("a/0");
    EXPECT_EQ(session.channel, &newer_);
    EXPECT_FALSE(session.device.has_value());
  });
}

// It would tell of a worker without the ranks that it has been given since.
TEST_F(CoordinatorTest, AHelloThatIsReadBehindALaterStreamsIsRefused) {
  Join(newer_, {}, 2);
  loop_.Call([&] { coordinator_.WorkerLeft(newer_, "a/0"); });
  Join(older_, {}, 1);
  const base::Error refused = older_.end.get_future().get();
  EXPECT_EQ(refused.code, base::Code::kUnavailable);
  EXPECT_EQ(refused.message, "worker 'a/0' has begun a later stream than this one");
  loop_.Call([&] {
    EXPECT_TRUE(coordinator_.workers().all().empty());
    EXPECT_FALSE(coordinator_.state().workers.at("a/0").connected);
  });
}

}  // namespace
}  // namespace trainctl::coordinator
