// Verbs of several actions: an option is refused where its action is another.
#include <filesystem>

#include "client/exit_code.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

using ActionsTest = ClientTest;

TEST_F(ActionsTest, AnOptionOfAnotherActionIsRefusedAndNothingIsDone) {
  coordinator_.leases.add_leases()->set_name("lab2");
  const ScratchFolder folder;
  folder.Write("tiny.json", R"({"version": 1, "name": "tiny", "model": {"path": "tiny"},
                               "data": {"path": "rows.json"}, "train": {"micro_batch_size": 1}})");
  surroundings_.environment_recipes = folder.path();
  const std::string copy = folder / "copy.json";
  struct Case {
    std::vector<std::string> words;
    std::string wanted;  // what is said
  };
  const Case cases[] = {
      {{"lease", "delete", "lab2", "--for", "1h"}, "--for has a meaning only with lease create"},
      {{"lease", "extend", "lab2", "--for", "1h", "--start", "2026-12-01 14:00"},
       "--start has a meaning only with lease create or find"},
      {{"lease", "ls", "--host", "a"}, "--host has a meaning only with lease create or find"},
      {{"lease", "ls", "--ics"}, "--ics has a meaning only with lease calendar"},
      {{"context", "use", "far", "--address", "far:1"},
       "--address has a meaning only with context add"},
      {{"recipes", "copy", "tiny", copy, "--dry-run"},
       "--dry-run has a meaning only with recipes submit"},
      {{"recipes", "path", "tiny", "--precision", "bf16-true"},
       "--precision has a meaning only with recipes show or copy or submit"},
      {{"recipes", "show", "tiny", "--user", "ann"}, "--user has a meaning only with recipes ls"},
      {{"recipes", "show", "tiny", "--matrix", "seed=1,2"},
       "--matrix has a meaning only with recipes submit"},
      {{"recipes", "copy", "tiny", copy, "--after", "j1"},
       "--after has a meaning only with recipes submit"},
      {{"recipes", "--wait"}, "--wait has a meaning only with recipes submit"},
      {{"admin", "worker-token", "alpha", "--role", "admin"},
       "--role has a meaning only with admin token create"},
      {{"admin", "token", "ls", "--last", "3"}, "--last has a meaning only with admin audit"},
      {{"local", "down", "--cpu"}, "--cpu has a meaning only with local up"},
      {{"import", "litgpt", "config.yaml", "--overwrite"},
       "--overwrite has a meaning only with -o"},
  };
  for (const Case& one : cases) {
    const Ended ended = Trainctl(one.words);
    EXPECT_EQ(ended.code, kExitUsage) << one.wanted;
    EXPECT_NE(ended.err.find(one.wanted), std::string::npos) << ended.err;
  }
  EXPECT_EQ(coordinator_.leases.leases_size(), 1);
  EXPECT_FALSE(std::filesystem::exists(copy));
  EXPECT_EQ(Trainctl({"recipes", "--user", "ann"}).code, kExitOk);
}

}  // namespace
}  // namespace trainctl::client
