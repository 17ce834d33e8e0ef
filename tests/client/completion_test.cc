#include <set>

#include "client/exit_code.h"
#include "client/run_program.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

// What a bash completes, with a trainctl that answers for the site as this one does.
class CompletionTest : public ClientTest {
 protected:
  CompletionTest() {
    coordinator_.jobs = {RunningJob("j1", "tiny"), RunningJob("j2", "two words"),
                         RunningJob("j3", "$(touch ran)"), RunningJob("j4", "`touch ran`")};
    coordinator_.jobs[0].set_group("g1");
    coordinator_.jobs[0].set_group_name("my-lab");
  }

  // The words as bash splits them, the last one unfinished.
  std::set<std::string> Completed(const std::string& words) {
    folder_.Write("script", Trainctl({"completion", "bash"}).out);
    folder_.Write("jobs", Trainctl({"completion", "jobs"}).out);
    const std::string text = "cd " + folder_.path() + R"(; source ./script
      trainctl() { [ "$*" != "completion jobs" ] || cat jobs; }
      COMP_WORDS=()" + words +
                             R"(); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _trainctl
      [ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}")";
    const base::Result<ProgramOutput> output = RunToEnd({"/bin/bash", "-c", text}, "");
    EXPECT_TRUE(output.ok());
    std::istringstream lines(output->out);
    std::set<std::string> found;
    for (std::string line; std::getline(lines, line);) found.insert(line);
    return found;
  }

  ScratchFolder folder_;
};

using Found = std::set<std::string>;

TEST_F(CompletionTest, VerbsAndTheirWordsAndOptions) {
  EXPECT_EQ(Completed("trainctl sub"), Found{"submit"});
  EXPECT_EQ(Completed("trainctl recipes co"), Found{"copy"});
  EXPECT_EQ(Completed("trainctl explain micro"), Found{"micro_batch"});
  EXPECT_EQ(Completed("trainctl submit --dry"), Found{"--dry-run"});
  EXPECT_EQ(Completed("trainctl status -o js"), (Found{"json", "jsonl"}));
  EXPECT_EQ(Completed("trainctl config se"), (Found{"set", "server"}));
}

TEST_F(CompletionTest, SettingsBehindSetAndMatrixAndAsOptions) {
  EXPECT_EQ(Completed("trainctl submit job.json --set train.micro"),
            Found{"train.micro_batch_size="});
  EXPECT_EQ(Completed("trainctl submit job.json --set = train.micro"),
            Found{"train.micro_batch_size="});
  EXPECT_EQ(Completed("trainctl sweep job.json --matrix optimizer.l"),
            (Found{"optimizer.lr=", "optimizer.lr_scaling="}));
  EXPECT_EQ(Completed("trainctl submit job.json --train.micro"), Found{"--train.micro_batch_size"});
  EXPECT_EQ(Completed("trainctl submit job.json --lora.r"), Found{"--lora.r"});
  EXPECT_EQ(Completed("trainctl status --train.micro"), Found{});
  EXPECT_GE(Completed("trainctl submit job.json --set ''").size(),
            job::Flatten(job::JobSpec{}).size());
}

TEST_F(CompletionTest, ValuesOfOptionsThatAreOneOfSomeWords) {
  EXPECT_EQ(Completed("trainctl status --state ru"), Found{"running"});
  EXPECT_EQ(Completed("trainctl rm --state running,oom_g"), Found{"running,oom_gpu"});
  EXPECT_EQ(Completed("trainctl top --columns ''"), Found{"bsc"});
  EXPECT_EQ(Completed("trainctl plot j1 --graphics k"), Found{"kitty"});
  EXPECT_EQ(Completed("trainctl logs --state ru"), Found{}) << "it has no such option";
}

TEST_F(CompletionTest, ValuesOfSettingsThatAreOneOfSomeWords) {
  const Found precisions = {"bf16-true", "bf16-mixed"};
  EXPECT_EQ(Completed("trainctl submit job.json --precision bf16"), precisions);
  EXPECT_EQ(Completed("trainctl submit job.json --precision = bf16"), precisions);
  EXPECT_EQ(Completed("trainctl submit job.json --set precision = bf16"), precisions);
  EXPECT_EQ(Completed("trainctl sweep job.json --matrix precision = 32-true,bf16-m"),
            Found{"32-true,bf16-mixed"});
  EXPECT_EQ(Completed("trainctl submit job.json --set precision ="),
            Completed("trainctl submit job.json --precision ''"));
  EXPECT_EQ(Completed("trainctl submit job.json --train.packing t"), Found{"true"});
  EXPECT_EQ(Completed("trainctl submit job.json --lora.targets q,k,he"), Found{"q,k,head"});
  EXPECT_EQ(Completed("trainctl status --precision bf16"), Found{});
}

TEST_F(CompletionTest, MetricsAlsoSeveral) {
  EXPECT_EQ(Completed("trainctl plot j1 --metric val"), Found{"val_loss"});
  EXPECT_EQ(Completed("trainctl plot j1 --metric loss,val"), Found{"loss,val_loss"});
  EXPECT_EQ(Completed("trainctl metrics j1 --name val"), Found{"val_loss"});
  EXPECT_EQ(Completed("trainctl compare j1 --only val"), Found{"val_loss"});
  EXPECT_EQ(Completed("trainctl compare j1 --only tex"), Found{"texts"});
  EXPECT_EQ(Completed("trainctl compare j1 --only loss,val"), Found{"loss,val_loss"});
}

TEST_F(CompletionTest, JobsByIdNameAndGroupAndNothingThatAShellWouldRun) {
  EXPECT_EQ(Completed("trainctl logs ''"), (Found{"j1", "j2", "j3", "j4", "tiny", "g1", "my-lab"}));
  EXPECT_EQ(Completed("trainctl compare my"), Found{"my-lab"});
  EXPECT_EQ(Completed("trainctl submit job.json --after ti"), Found{"tiny"});
  EXPECT_EQ(Completed("trainctl top --job ti"), Found{"tiny"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
}

TEST_F(CompletionTest, ZshHasTheSameAndThereIsNoThirdShell) {
  const std::string zsh = Trainctl({"completion", "zsh"}).out;
  EXPECT_EQ(zsh.find("#compdef trainctl"), 0u);
  EXPECT_NE(zsh.find(R"(the labs'\'' experiments, ready to run')"), std::string::npos);
  EXPECT_NE(zsh.find(" lora.r "), std::string::npos) << zsh;
  EXPECT_NE(zsh.find("'status --state' | "), std::string::npos) << zsh;
  EXPECT_NE(zsh.find("compadd -- bsc"), std::string::npos) << zsh;
  EXPECT_NE(zsh.find("compadd -- 32-true bf16-true bf16-mixed"), std::string::npos) << zsh;
  EXPECT_NE(zsh.find("--only)"), std::string::npos) << zsh;
  EXPECT_NE(zsh.find("|--job) compadd"), std::string::npos) << zsh;
  EXPECT_EQ(Trainctl({"completion", "fish"}).code, kExitUsage);
}

}  // namespace
}  // namespace trainctl::client
