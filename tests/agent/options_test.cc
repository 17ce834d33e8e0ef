#include "worker/agent/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::agent {
namespace {

using testing::HasSubstr;

TEST(WorkerOptions, ReadsBothForms) {
  const auto options = ParseOptions({"--coordinator", "127.0.0.1:1", "--dir=/tmp/w", "--device",
                                     "cuda:3", "--threads=4", "--memory", "8GiB"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->coordinator, "127.0.0.1:1");
  EXPECT_EQ(options->directory, "/tmp/w");
  EXPECT_EQ(options->device, job::DeviceKind::kCuda);
  EXPECT_EQ(options->device_index, 3);
  EXPECT_EQ(options->threads, 4);
  EXPECT_EQ(options->memory_bytes, int64_t{8} << 30);
}

TEST(WorkerOptions, LabelsMayBeGivenAgain) {
  const auto options = ParseOptions(
      {"--coordinator", "a:1", "--dir", "/d", "--label", "rack=r1", "--label=net=ib:400/8"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->labels, (job::Labels{{"net", "ib:400/8"}, {"rack", "r1"}}));
}

TEST(WorkerOptions, RulesOfTheHostMayBeGivenAgain) {
  const auto options = ParseOptions({"--coordinator", "a:1", "--dir", "/d", "--read-root", "/data",
                                     "--read-root=/home/{user}", "--write-root", "/scratch",
                                     "--allow-user", "anna"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->rules.roots.read, testing::ElementsAre("/data", "/home/{user}"));
  EXPECT_THAT(options->rules.roots.write, testing::ElementsAre("/scratch"));
  EXPECT_THAT(options->rules.owners, testing::ElementsAre("anna"));
}

TEST(WorkerOptions, RanksRunAsTheWorkerOrAsTheOwner) {
  const auto run_as = [](const std::string& whom) {
    return ParseOptions({"--coordinator", "a:1", "--dir", "/d", "--run-as", whom});
  };
  EXPECT_TRUE(run_as("owner")->rules.run_as_owner);
  EXPECT_FALSE(run_as("worker")->rules.run_as_owner);
  EXPECT_EQ(run_as("anna").error().message, "--run-as anna: expected owner or worker");
  EXPECT_EQ(ParseOptions({"--coordinator", "a:1", "--dir", "/d", "--user", "anna"}).error().message,
            "--user is of --inspect; a worker has --run-as");
}

TEST(WorkerOptions, AnInspectionHasRootsAndNoCoordinator) {
  const auto options = ParseOptions({"--inspect", "--user", "anna", "--read-root", "/data"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->task, Options::Task::kInspect);
  EXPECT_EQ(options->user, "anna");
  EXPECT_THAT(options->rules.roots.read, testing::ElementsAre("/data"));
}

TEST(WorkerOptions, JoinNeedsAllOfItsOwn) {
  const std::vector<std::string> whole = {"join",  "--coordinator", "a:1",
                                          "--ca",  "ca.pem",        "--join-token-file",
                                          "token", "--keys",        "keys"};
  const auto options = ParseOptions(whole);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->task, Options::Task::kJoin);
  EXPECT_EQ(options->authority_file, "ca.pem");
  EXPECT_EQ(options->join_token_file, "token");
  EXPECT_EQ(options->keys, "keys");
  for (size_t left_out = 1; left_out < whole.size(); left_out += 2) {
    std::vector<std::string> words = whole;
    words.erase(words.begin() + static_cast<ptrdiff_t>(left_out),
                words.begin() + static_cast<ptrdiff_t>(left_out) + 2);
    EXPECT_FALSE(ParseOptions(words)) << whole[left_out];
  }
  EXPECT_THAT(ParseOptions({"--coordinator", "a:1", "--dir", "d", "--ca", "f"}).error().message,
              HasSubstr("trainworker join"));
}

TEST(WorkerOptions, SaysWhatWasExpected) {
  const auto error = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--coordinator", "a:1", "--dir", "/d"});
    const auto options = ParseOptions(arguments);
    return options ? std::string("accepted") : options.error().message;
  };
  EXPECT_THAT(error({"--device", "gpu:0"}), HasSubstr("expected cuda:N or cpu:N"));
  EXPECT_THAT(error({"--device", "cuda:-1"}), HasSubstr("expected cuda:N"));
  EXPECT_THAT(error({"--threads", "0"}), HasSubstr("a number from 1"));
  EXPECT_THAT(error({"--slots", "0"}), HasSubstr("a number from 1"));
  EXPECT_THAT(error({"--read-root", "data"}), HasSubstr("expected an absolute path"));
  EXPECT_THAT(error({"--read-root", "/data"}), HasSubstr("--write-root DIR is needed too"));
  EXPECT_THAT(error({"--allow-user", ""}), HasSubstr("the name of a user"));
  EXPECT_THAT(error({"--memory", "much"}), HasSubstr("a size"));
  EXPECT_THAT(error({"--coordinator", "nowhere"}), HasSubstr("host:port"));
  EXPECT_THAT(error({"--label", "rack"}), HasSubstr("--label 'rack': expected KEY=VALUE"));
  EXPECT_THAT(error({"--label", "rack=a,b"}), HasSubstr("expected KEY=VALUE"));
  EXPECT_THAT(error({"--label", "rack=a", "--label", "rack=b"}),
              HasSubstr("no second value of rack"));
  EXPECT_THAT(error({"--wrong", "1"}), HasSubstr("unknown option --wrong"));
  EXPECT_THAT(error({"--coordinator-file", "f"}), HasSubstr("one of --coordinator"));
  EXPECT_EQ(error({}), "accepted");
  EXPECT_THAT(ParseOptions({"--coordinator", "a:1"}).error().message, HasSubstr("--dir"));
  EXPECT_THAT(ParseOptions({"--dir"}).error().message, HasSubstr("its value is missing"));
}

TEST(WorkerOptions, SlotsShareTheCoresAndTheMemoryOfTheirHost) {
  const auto slot = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--coordinator", "a:1", "--dir", "/d", "--device", "cpu:1"});
    return ShareOfHost(*ParseOptions(arguments), "h", 8, int64_t{24} << 30);
  };
  EXPECT_EQ(slot({}).memory_bytes, int64_t{24} << 30);
  EXPECT_EQ(slot({}).threads, 8);
  EXPECT_EQ(slot({"--slots", "2"}).memory_bytes, int64_t{12} << 30);
  EXPECT_EQ(slot({"--slots", "2"}).threads, 4);
  EXPECT_EQ(slot({"--slots", "16"}).threads, 1);
  EXPECT_EQ(slot({"--slots", "2", "--memory", "5GiB"}).memory_bytes, int64_t{5} << 30);
  EXPECT_EQ(slot({"--slots", "2", "--threads", "3"}).threads, 3);
}

TEST(WorkerOptions, ProbeAndHelpNeedNothingElse) {
  EXPECT_EQ(ParseOptions({"--probe"})->task, Options::Task::kProbe);
  EXPECT_EQ(ParseOptions({"--inspect"})->task, Options::Task::kInspect);
  EXPECT_EQ(ParseOptions({"--help"})->task, Options::Task::kHelp);
  EXPECT_EQ(ParseOptions({"--version"})->task, Options::Task::kVersion);
}

TEST(WorkerOptions, HelpNamesEveryOption) {
  for (const char* option : {"--coordinator", "--coordinator-file", "--dir", "--device", "--slots",
                             "--threads", "--memory", "--name", "--data-interface",
                             "--rank-program", "--shim-program", "--probe", "--inspect"}) {
    EXPECT_THAT(Help(), HasSubstr(option));
  }
}

}  // namespace
}  // namespace trainctl::agent
