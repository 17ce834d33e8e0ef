#include "client/exit_code.h"
#include "client/verbs/verb.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using ProgramTest = ClientTest;

TEST_F(ProgramTest, AnUnknownVerbIsAUsageErrorWithADidYouMean) {
  const Ended ended = Trainctl({"sumbit", "job.json"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_EQ(ended.err,
            "trainctl: unknown verb 'sumbit': did you mean 'submit'? (see: trainctl --help)\n");
}

TEST_F(ProgramTest, WithoutAVerbTheOverviewGoesToStderr) {
  const Ended ended = Trainctl({});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, Trainctl({"--help"}).out);
}

TEST_F(ProgramTest, EachVerbHasHelpThatLeadsWithExamplesOfItself) {
  for (const VerbRow& verb : Verbs()) {
    const std::string name(verb.name);
    const Ended ended = Trainctl({name, "--help"});
    EXPECT_EQ(ended.code, 0) << name;
    EXPECT_LT(ended.out.find("  trainctl " + name), ended.out.find("Usage")) << ended.out;
    EXPECT_EQ(ended.out, Trainctl({"help", name}).out);
  }
}

TEST_F(ProgramTest, TheOverviewNamesEveryVerb) {
  const std::string overview = Trainctl({"--help"}).out;
  for (const VerbRow& verb : Verbs())
    EXPECT_NE(overview.find("\n  " + std::string(verb.name) + " "), std::string::npos) << verb.name;
}

TEST_F(ProgramTest, OptionsOfAllVerbsMayStandBeforeTheVerb) {
  EXPECT_EQ(Trainctl({"--server", "other:2", "-o", "name", "workers"}).code, 0);
  EXPECT_EQ(connected_to_, "other:2");
  EXPECT_EQ(Trainctl({"workers", "--server=third:3"}).code, 0);
  EXPECT_EQ(connected_to_, "third:3");
}

TEST_F(ProgramTest, AnUnknownOutputFormatIsRefused) {
  const Ended ended = Trainctl({"status", "-o", "yaml"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_EQ(ended.err, "trainctl: -o yaml: expected one of table, json, jsonl, csv, md, name\n");
}

TEST_F(ProgramTest, OutputThatCannotBeWrittenIsAFailure) {
  Trainctl({"explain"});  // a first run sets all of the surroundings
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  surroundings_.out = &out;
  surroundings_.err = &err;
  EXPECT_EQ(RunProgram({"explain", "oom"}, surroundings_), kExitFailure);
  EXPECT_NE(err.str().find("not all of the output could be written"), std::string::npos);
}

TEST_F(ProgramTest, AReaderWhoLeftIsNoFailure) {
  Trainctl({"explain"});
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  surroundings_.out = &out;
  surroundings_.err = &err;
  surroundings_.reader_left = [] { return true; };
  EXPECT_EQ(RunProgram({"explain", "oom"}, surroundings_), kExitOk);
  EXPECT_EQ(err.str(), "");
}

TEST_F(ProgramTest, AMalformedServerIsRefused) {
  EXPECT_EQ(Trainctl({"status", "--server", "nowhere"}).code, kExitUsage);
}

TEST_F(ProgramTest, AnUnknownJobIs3ForEveryVerbThatTakesOne) {
  for (const char* verb : {"status", "describe", "logs", "wait", "cancel", "compare", "metrics"}) {
    EXPECT_EQ(Trainctl({verb, "j9"}).code, kExitNotFound) << verb;
  }
}

TEST_F(ProgramTest, VersionNamesTheRankBesideIt) {
  programs_["/bin/trainrank"] = {.out = "trainrank 0.1.0, LibTorch 2.11.0, NCCL 2.28.9\n"};
  const std::string version = Trainctl({"--version"}).out;
  EXPECT_EQ(version.find("trainctl 0.1.0 (commit "), 0u);
  EXPECT_NE(version.find("LibTorch 2.11.0, NCCL 2.28.9"), std::string::npos);
}

TEST_F(ProgramTest, VersionWithoutARankSaysSo) {
  EXPECT_NE(Trainctl({"--version"}).out.find("no trainrank runs beside this binary"),
            std::string::npos);
}

}  // namespace
}  // namespace trainctl::client
