// The site can't be reached, or none is known: one exit status, whichever verb asks.
#include <map>

#include "client/exit_code.h"
#include "client/verbs/verb.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

class UnreachableTest : public SubmitTest {
 protected:
  // What is typed behind each verb that asks a coordinator.
  std::map<std::string, std::vector<std::string>> Asking() const {
    const std::string job = folder_ + "/tiny.json";
    return {{"submit", {job}},
            {"sweep", {job, "--matrix", "seed=1,2"}},
            {"advise", {job}},
            {"status", {}},
            {"top", {"-1"}},
            {"ui", {}},
            {"describe", {"j1"}},
            {"logs", {"j1"}},
            {"wait", {"j1"}},
            {"cancel", {"j1"}},
            {"rm", {"j1", "--yes"}},
            {"resume", {"j1"}},
            {"generate", {"j1", "--prompt", "Once"}},
            {"compare", {}},
            {"class", {job}},
            {"plot", {"j1"}},
            {"metrics", {"j1"}},
            {"export", {"j1", folder_ + "/export"}},
            {"report", {"j1", "-o", folder_ + "/report.md"}},
            {"artifacts", {"ls", "j1"}},
            {"workers", {}},
            {"lease", {"ls"}},
            {"drain", {"a/0"}},
            {"undrain", {"a/0"}},
            {"fence", {"a/0", "--yes"}},
            {"admin", {"audit"}},
            {"doctor", {}},
            {"explain", {"j1"}},
            {"completion", {"jobs"}}};
  }

  void ExpectUnreachable(const std::string& said) {
    File("tiny.json", kJob);
    for (auto [verb, words] : Asking()) {
      words.insert(words.begin(), verb);
      const Ended ended = Trainctl(words);
      EXPECT_EQ(ended.code, kExitUnreachable) << verb << ": " << ended.err;
      EXPECT_NE((ended.out + ended.err).find(said), std::string::npos) << verb << ": " << ended.err;
    }
  }
};

TEST_F(UnreachableTest, ACoordinatorThatDoesNotAnswerEndsEveryVerbWith5) {
  coordinator_.unreachable = true;
  ExpectUnreachable("no answer");
}

TEST_F(UnreachableTest, WhereNoCoordinatorIsKnownEveryVerbEndsWith5Too) {
  surroundings_.environment_server = "";
  ExpectUnreachable("no coordinator");
}

TEST_F(UnreachableTest, NoVerbIsLeftOut) {
  const std::vector<std::string> ask_nobody = {"quickstart", "local",   "slurm",  "recipes",
                                               "import",     "context", "config", "manual"};
  const auto asking = Asking();
  for (const VerbRow& row : Verbs()) {
    const std::string verb(row.name);
    const bool asks_nobody = std::ranges::find(ask_nobody, verb) != ask_nobody.end();
    EXPECT_NE(asks_nobody, asking.contains(verb)) << verb;
  }
}

TEST_F(UnreachableTest, TheOverviewTellsTheStatus) {
  EXPECT_NE(Trainctl({"--help"}).out.find("5 the coordinator does not answer, or none is known"),
            std::string::npos);
}

}  // namespace
}  // namespace trainctl::client
