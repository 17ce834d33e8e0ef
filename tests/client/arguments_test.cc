#include "client/arguments.h"

#include <gtest/gtest.h>

namespace trainctl::client {
namespace {

class ArgumentsTest : public testing::Test {
 protected:
  ArgumentsTest() {
    arguments_.Positional("FILE", &file_, "the file");
    arguments_.Switch("-w,--wait", &wait_, "wait");
    arguments_.Text("--name", "NAME", &name_, "a name");
    arguments_.Number("--tail", "N", &tail_, "lines");
    arguments_.Duration("--timeout", &timeout_, "a time");
    arguments_.Texts("--prompt", "TEXT", &prompts_, "a prompt");
    arguments_.Overrides(&overrides_, "settings");
  }

  // "key=value …" of the overrides, in order.
  std::string Overrides() const {
    std::string text;
    for (const job::Override& setting : overrides_)
      text += (text.empty() ? "" : " ") + setting.key + "=" + setting.value;
    return text;
  }

  std::string ErrorOf(const std::vector<std::string>& words) {
    const base::Status status = arguments_.Parse(words);
    return status.ok() ? "no error" : status.error().message;
  }

  Arguments arguments_{"submit", "submit it", "  trainctl submit f\n"};
  std::string file_, name_;
  bool wait_ = false;
  std::optional<int64_t> tail_, timeout_;
  std::vector<std::string> prompts_;
  std::vector<job::Override> overrides_;
};

TEST_F(ArgumentsTest, ATextIsOneValueWithItsBracketsAndCommas) {
  ASSERT_TRUE(arguments_
                  .Parse({"--prompt", "[INST] Hi, you [/INST]", "--prompt=[a,b]", "job.json",
                          "--set", "lora.targets=[q,v]"})
                  .ok());
  EXPECT_EQ(prompts_, (std::vector<std::string>{"[INST] Hi, you [/INST]", "[a,b]"}));
  EXPECT_EQ(file_, "job.json");
  EXPECT_EQ(Overrides(), "lora.targets=[q,v]");
}

TEST_F(ArgumentsTest, AnOptionWithoutItsValueSaysWhichOneIsExpected) {
  EXPECT_EQ(ErrorOf({"job.json", "--name"}),
            "--name: expected NAME after it; see: trainctl submit --help");
  EXPECT_EQ(ErrorOf({"job.json", "--timeout"}),
            "--timeout: expected TIME after it; see: trainctl submit --help");
}

TEST_F(ArgumentsTest, AKeyOfTheSchemaIsAnOverrideWhereverItStands) {
  ASSERT_TRUE(arguments_
                  .Parse({"--train.micro_batch_size", "8", "job.json", "--devices=2", "--precision",
                          "bf16-true", "-w"})
                  .ok());
  EXPECT_EQ(Overrides(), "train.micro_batch_size=8 devices=2 precision=bf16-true");
  EXPECT_EQ(file_, "job.json");
  EXPECT_TRUE(wait_);
}

TEST_F(ArgumentsTest, SetTakesKeysAndValuesThatHoldEqualsSigns) {
  ASSERT_TRUE(arguments_.Parse({"job.json", "--set", "a.b=c=d", "--set=optimizer.lr=1e-4"}).ok());
  EXPECT_EQ(Overrides(), "a.b=c=d optimizer.lr=1e-4");
}

TEST_F(ArgumentsTest, ANegativeNumberIsAValueOfAnOverride) {
  ASSERT_TRUE(arguments_.Parse({"job.json", "--optimizer.lr", "-1"}).ok());
  EXPECT_EQ(Overrides(), "optimizer.lr=-1");
}

TEST_F(ArgumentsTest, AnOptionOfTheVerbWinsOverAKeyOfTheSchema) {
  ASSERT_TRUE(arguments_.Parse({"job.json", "--name", "mine"}).ok());
  EXPECT_EQ(name_, "mine");
  EXPECT_TRUE(overrides_.empty());
}

TEST_F(ArgumentsTest, AMistypedOptionIsNoOverrideAndSwallowsNothing) {
  EXPECT_EQ(ErrorOf({"--wiat", "job.json"}),
            "unknown option '--wiat': did you mean '--wait'? (see: trainctl submit --help)");
}

TEST_F(ArgumentsTest, AMistypedKeyIsToldLikeAnOption) {
  EXPECT_EQ(
      ErrorOf({"job.json", "--precison", "bf16-true"}),
      "unknown option '--precison': did you mean '--precision'? (see: trainctl submit --help)");
}

TEST_F(ArgumentsTest, ASettingWithoutItsGroupIsSuggestedWithIt) {
  const auto hint = [this](const std::string& option) {
    const std::string error = ErrorOf({"job.json", option, "1"});
    return error.substr(0, std::min(error.find("; see"), error.find(" (see")));
  };
  EXPECT_EQ(hint("--lr"), "unknown option '--lr': did you mean '--optimizer.lr'?");
  EXPECT_EQ(hint("--microbatch"),
            "unknown option '--microbatch': did you mean '--train.micro_batch_size'?");
  EXPECT_EQ(hint("--batch-size"),
            "unknown option '--batch-size': did you mean '--train.global_batch_size' or "
            "'--train.micro_batch_size'?");
  EXPECT_EQ(hint("--max_step"), "unknown option '--max_step': did you mean '--train.max_steps'?");
  EXPECT_EQ(hint("--zzz"), "unknown option '--zzz'");
  // Of sections that a job may leave out.
  EXPECT_EQ(hint("--alpha"), "unknown option '--alpha': did you mean '--lora.alpha'?");
  EXPECT_EQ(hint("--targets"), "unknown option '--targets': did you mean '--lora.targets'?");
  EXPECT_EQ(hint("--skip"), "unknown option '--skip': did you mean '--profile.skip'?");
}

TEST_F(ArgumentsTest, AnOptionOfAnotherProgramIsSuggestedAsItsSetting) {
  const auto meant = [this](const std::string& option) {
    const std::string error = ErrorOf({"job.json", option, "1"});
    const size_t hint = error.find("did you mean ");
    return hint == std::string::npos ? "" : error.substr(hint + 13, error.find('?') - hint - 13);
  };
  EXPECT_EQ(meant("--learning-rate"), "'--optimizer.lr'");
  EXPECT_EQ(meant("--learning_rate"), "'--optimizer.lr'");
  EXPECT_EQ(meant("--gpus"), "'--devices'");
  EXPECT_EQ(meant("--num-gpus"), "'--devices'");
  EXPECT_EQ(meant("--nproc_per_node"), "'--devices'");
  EXPECT_EQ(meant("--bf16"), "'--precision bf16-mixed'");
  EXPECT_EQ(meant("--gradient_checkpointing"), "'--activation_checkpointing true'");
  EXPECT_EQ(meant("--per_device_train_batch_size"), "'--train.micro_batch_size'");
  EXPECT_EQ(meant("--time"), "'--resources.time_limit'") << "nearer to it by letters is --name";
  EXPECT_EQ(meant("--save_steps"), "'--checkpoint.every_steps'");
  EXPECT_EQ(meant("--tp"), "") << "two letters within a name mean nothing";
}

TEST(ArgumentsOfOtherVerbs, HaveNoSettingsToSuggest) {
  Arguments arguments("wait", "", "");
  const base::Status read = arguments.Parse({"--learning-rate"});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "unknown option '--learning-rate'; see: trainctl wait --help");
}

TEST_F(ArgumentsTest, WhatIsMissingOrTooMuchIsNamed) {
  EXPECT_EQ(ErrorOf({}), "FILE is missing: the file; see: trainctl submit --help");
  EXPECT_EQ(ErrorOf({"a.json", "b.json"}),
            "unexpected argument 'b.json'; see: trainctl submit --help");
  EXPECT_EQ(ErrorOf({"a.json", "--train.epochs"}),
            "--train.epochs: expected a value after it, as in --train.epochs VALUE; see: trainctl "
            "submit --help");
}

TEST_F(ArgumentsTest, NumbersAndTimesAreChecked) {
  ASSERT_TRUE(arguments_.Parse({"f", "--tail", "5", "--timeout", "1h30min"}).ok());
  EXPECT_EQ(tail_, 5);
  EXPECT_EQ(timeout_, 5400);
}

TEST_F(ArgumentsTest, ABareNumberIsATimeInSeconds) {
  ASSERT_TRUE(arguments_.Parse({"f", "--timeout=90"}).ok());
  EXPECT_EQ(timeout_, 90);
}

TEST_F(ArgumentsTest, WhatIsNoNumberIsRefused) {
  EXPECT_EQ(ErrorOf({"f", "--tail", "few"}),
            "--tail few: expected a whole number, 0 or more; see: trainctl submit --help");
}

TEST_F(ArgumentsTest, ANumberBelowItsLeastIsRefusedWithIt) {
  std::optional<int64_t> devices;
  arguments_.Number("--gpus", "N", &devices, "devices", /*least=*/1);
  for (const char* few : {"0", "-1"}) {
    EXPECT_EQ(ErrorOf({"f", "--gpus", few}),
              std::string("--gpus ") + few +
                  ": expected a whole number, 1 or more; see: trainctl submit --help");
  }
  EXPECT_EQ(ErrorOf({"f", "--gpus", "1"}), "no error");
}

TEST_F(ArgumentsTest, WhatIsNoTimeIsRefused) {
  EXPECT_EQ(
      ErrorOf({"f", "--timeout", "soon"}),
      "--timeout soon: expected a time such as 90s, 10min or 2h; see: trainctl submit --help");
}

TEST_F(ArgumentsTest, ATimeOfAnotherUnitsNameSaysWhatIsMeant) {
  EXPECT_EQ(ErrorOf({"f", "--timeout", "10m"}),
            "--timeout 10m: did you mean '10min'? (expected a time such as 90s, 10min or 2h); see: "
            "trainctl submit --help");
}

TEST_F(ArgumentsTest, AMapIsGivenEntryByEntry) {
  EXPECT_EQ(ErrorOf({"f", "--tags", "lab=3"}),
            "unknown option '--tags': each of its entries is an option, as in --tags.KEY VALUE; "
            "see: trainctl submit --help");
}

TEST_F(ArgumentsTest, ASetWithoutAValueIsRefused) {
  EXPECT_EQ(ErrorOf({"f", "--set", "devices"}),
            "--set devices: expected KEY=VALUE, such as train.micro_batch_size=8; see: trainctl "
            "submit --help");
}

TEST_F(ArgumentsTest, AWordOfAnActionOpensOnlyItsOptions) {
  Arguments arguments("token", "tokens", "");
  std::vector<std::string> words;
  arguments.Positionals("WORD", &words, "which", /*required=*/false);
  arguments.OnlyWith({"", "keys ls"}, [&] { arguments.Text("--of", "NAME", &name_, "whose"); });
  EXPECT_TRUE(arguments.Parse({"--of", "ann"}).ok());
  words.clear();
  EXPECT_TRUE(arguments.Parse({"keys", "ls", "--of", "ann"}).ok());
  for (const char* other : {"lsx", "rm"}) {
    words.clear();
    const base::Status refused = arguments.Parse({"keys", other, "--of", "ann"});
    ASSERT_FALSE(refused.ok()) << other;
    EXPECT_EQ(refused.error().message,
              "--of has a meaning only with token keys ls; see: trainctl token --help");
  }
}

TEST_F(ArgumentsTest, HelpIsLaidOutInColumnsNotInBytes) {
  arguments_.Text("--matrix", "KEY=VALUE,…", &name_, "here");
  EXPECT_NE(arguments_.Help().find("  --matrix KEY=VALUE,…    here\n"), std::string::npos);
}

TEST_F(ArgumentsTest, HelpNeedsNothingElseAndLeadsWithExamples) {
  ASSERT_TRUE(arguments_.Parse({"--help"}).ok());
  EXPECT_TRUE(arguments_.wants_help());
  const std::string help = arguments_.Help();
  EXPECT_LT(help.find("Examples\n  trainctl submit f"),
            help.find("Usage\n  trainctl submit FILE [options]"));
}

}  // namespace
}  // namespace trainctl::client
