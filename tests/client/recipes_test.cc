#include <filesystem>
#include <sstream>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "common/base/file.h"
#include "common/job/job_json.h"
#include "tests/checkout.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

constexpr const char* kMultiRecipe =
    R"({"version": 1, "name": "multi-2", "model": {"path": "../models/open_llama_7b"},
 "data": {"path": "rows.json"}, "precision": "bf16-true", "devices": 4, "strategy": "ddp",
 "train": {"global_batch_size": 16, "micro_batch_size": 4}})";

constexpr const char* kRecipesLab =
    R"({"title": "What does bf16 save?",
 "base": {"version": 1, "model": {"path": "tiny"}, "data": {"path": "rows.json"},
 "train": {"global_batch_size": 32, "micro_batch_size": 8}, "optimizer": {"name": "sgd", "lr": 0.001}},
 "experiments": [{"name": "single-10", "set": {"precision": "bf16-true"}}, {"name": "single-2", "set": {}, "expect": "OOM"}]})";

class RecipesTest : public ClientTest {
 protected:
  RecipesTest() {
    folder_.Write("multi-2.json", kMultiRecipe);
    folder_.Write("single/lab-single.json", kRecipesLab);
    surroundings_.environment_recipes = folder_.path();
  }

  ScratchFolder folder_;
};

TEST_F(RecipesTest, AreListedByIdWithWhatTheyDo) {
  const std::string wanted =
      "ID          MODEL          METHOD                  BATCH  DEVICES  PRECISION\n"
      "lab-single  tiny           lab of 2 runs            32/8        1  …\n"
      "multi-2     open_llama_7b  full, ddp                16/4        4  bf16-true\n"
      "single-2    tiny           full, sgd, expects OOM   32/8        1  32-true\n"
      "single-10   tiny           full, sgd                32/8        1  bf16-true\n";
  EXPECT_EQ(Trainctl({"recipes"}).out, wanted);
  EXPECT_EQ(Trainctl({"recipes", "ls"}).out, wanted);
  const Json json = Json::parse(Trainctl({"recipes", "-o", "json"}).out);
  EXPECT_EQ(json["recipes"][0]["experiments"], Json({"single-10", "single-2"}));
  EXPECT_EQ(json["recipes"][1]["path"], folder_ / "multi-2.json");
}

TEST_F(RecipesTest, WhatIsRunOfThemStandsBesideThem) {
  const auto add = [this](const std::string& id, const std::string& name, const std::string& user,
                          const std::string& outcome) {
    coordinator_.jobs.push_back(FinishedJob(id, name, outcome));
    coordinator_.jobs.back().set_owner(user);
  };
  add("j1", "single-10", "anna", "SUCCEEDED");
  add("j2", "single-2", "bob", "OOM_GPU");
  surroundings_.user = "anna";
  const std::string listed = Trainctl({"recipes"}).out;
  EXPECT_NE(listed.find("1 of 2 done\n"), std::string::npos) << listed;
  EXPECT_NE(listed.find("32-true\n"), std::string::npos) << listed;
  EXPECT_NE(listed.find("SUCCEEDED (j1)\n"), std::string::npos) << listed;
  EXPECT_EQ(listed.find("j2"), std::string::npos) << listed;
  const Json json = Json::parse(Trainctl({"recipes", "--user", "bob", "-o", "json"}).out);
  EXPECT_EQ(json["recipes"][2]["job"], "j2");
  EXPECT_EQ(json["recipes"][2]["done"], true) << "it was to run out of memory";
  EXPECT_EQ(json["recipes"][3]["job"], nullptr);
  coordinator_.unreachable = true;
  EXPECT_EQ(Trainctl({"recipes"}).code, 0);
}

TEST_F(RecipesTest, OfALabIsSaidWhatRemains) {
  coordinator_.jobs = {FinishedJob("j1", "single-10", "SUCCEEDED")};
  coordinator_.jobs[0].set_owner("anna");
  surroundings_.user = "anna";
  const Ended ended = Trainctl({"recipes", "ls", "lab-single"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("\n\nWhat does bf16 save?\n\n1 of 2 done"), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("PREDICTED"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("SUCCEEDED (j1)\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n1 of 2 done; what remains: "), std::string::npos) << ended.out;
  EXPECT_EQ(Trainctl({"recipes", "ls", "none"}).code, kExitNotFound);
}

TEST_F(RecipesTest, WhatTheSiteWouldRefuseIsSaidAndNotPredicted) {
  coordinator_.workers = {CpuWorker("alpha/0", "READY"), CpuWorker("alpha/1", "READY")};
  surroundings_.user = "anna";
  folder_.Write("single/lab-single.json",
                std::string(kRecipesLab)
                    .replace(std::string(kRecipesLab).find(R"("set": {},)"), 10,
                             R"("set": {"devices": 4},)"));
  const Ended ended = Trainctl({"recipes", "ls", "lab-single"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("refused here"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("1 experiment would be refused and not counted"), std::string::npos)
      << ended.out;
  const Json json = Json::parse(Trainctl({"recipes", "ls", "lab-single", "-o", "json"}).out);
  for (const Json& recipe : json["recipes"])
    EXPECT_EQ(recipe["refused_here"], recipe["id"] == "single-2") << recipe;
}

TEST(ShippedLabs, EachAsksAQuestion) {
  int labs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(checkout::File("deploy/recipes"))) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".json") continue;
    const Json json = Json::parse(*base::ReadFile(entry.path().string(), 1 << 20));
    if (!json.contains("experiments")) continue;
    ++labs;
    ASSERT_TRUE(json.contains("title")) << name;
    EXPECT_NE(json["title"].get<std::string>().find('?'), std::string::npos) << name;
  }
  EXPECT_GE(labs, 8);
}

TEST_F(RecipesTest, AFileOfAnExperimentStandsForIt) {
  folder_.Write(
      "single-2.json",
      std::string(kMultiRecipe).replace(std::string(kMultiRecipe).find("multi-2"), 7, "single-2"));
  EXPECT_EQ(Trainctl({"recipes", "path", "single-2"}).out, (folder_ / "single-2.json") + "\n");
  EXPECT_EQ(Trainctl({"recipes", "path", "single-10"}).out,
            (folder_ / "single/lab-single.json") + "\n");
}

TEST_F(RecipesTest, AFileThatIsNoJobIsListedWithTheReason) {
  folder_.Write("broken.json", "{\"version\": 1}");
  const Ended ended = Trainctl({"recipes"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("broken"), std::string::npos);
  EXPECT_NE(ended.out.find("refused: "), std::string::npos);
  EXPECT_EQ(Trainctl({"recipes", "submit", "broken"}).code, kExitUsage);
}

TEST_F(RecipesTest, FoldersDeeperThanOneAreNotLookedAt) {
  folder_.Write("a/b/deep.json", kMultiRecipe);
  EXPECT_EQ(Trainctl({"recipes"}).out.find("deep"), std::string::npos);
}

TEST_F(RecipesTest, OneIsShownAsAJobFileThatCanBeSubmitted) {
  const job::ReadJob read =
      job::ReadJobFile(Trainctl({"recipes", "show", "single-10", "--devices", "2"}).out, {});
  ASSERT_TRUE(read.job) << job::Format(read.problems, "shown");
  EXPECT_EQ(read.job->name, "single-10");
  EXPECT_EQ(read.job->devices, 2);
  EXPECT_EQ(read.job->model.path, folder_ / "single/tiny");
  const job::ReadJob lab = job::ReadJobFile(Trainctl({"recipes", "show", "lab-single"}).out, {});
  ASSERT_TRUE(lab.lab) << job::Format(lab.problems, "shown");
  EXPECT_EQ(lab.lab->experiments.size(), 2u);
}

TEST_F(RecipesTest, OneIsShownInNoOtherFormatThanJson) {
  for (const char* format : {"csv", "jsonl", "md", "name"}) {
    const Ended ended = Trainctl({"recipes", "show", "single-10", "-o", format});
    EXPECT_EQ(ended.code, kExitUsage) << format;
    EXPECT_EQ(ended.out, "");
    EXPECT_NE(ended.err.find("a job file is JSON: expected -o json, or no -o"), std::string::npos)
        << ended.err;
  }
  const std::string shown = Trainctl({"recipes", "show", "single-10"}).out;
  EXPECT_EQ(Trainctl({"recipes", "show", "single-10", "-o", "json"}).out, shown);
}

TEST_F(RecipesTest, OneIsCopiedToAFileThatMeansTheSameElsewhere) {
  const ScratchFolder elsewhere;
  const Ended ended =
      Trainctl({"recipes", "copy", "single-10", elsewhere.path(), "--devices", "2"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string path = elsewhere / "single-10.json";
  const job::ReadJob read = job::ReadJobFile(*base::ReadFile(path, 1 << 20), {});
  ASSERT_TRUE(read.job) << job::Format(read.problems, path);
  EXPECT_EQ(read.job->devices, 2);
  EXPECT_EQ(read.job->model.path, folder_ / "single/tiny");
  const Ended again = Trainctl({"recipes", "copy", "single-10", path});
  EXPECT_EQ(again.code, kExitFailure);
  EXPECT_NE(again.err.find(path + " is there already"), std::string::npos) << again.err;
  EXPECT_EQ(Trainctl({"recipes", "copy", "lab-single", elsewhere / "mine.json"}).code, 0);
  EXPECT_TRUE(job::ReadJobFile(*base::ReadFile(elsewhere / "mine.json", 1 << 20), {}).lab);
}

TEST_F(RecipesTest, ACopyIntoAFolderThatIsNotThereNamesIt) {
  const Ended ended =
      Trainctl({"recipes", "copy", "single-10", folder_ / "no/such/folder/mine.json"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_EQ(ended.err, "trainctl: cannot write " + (folder_ / "no/such/folder/mine.json") +
                           ": there is no folder " + (folder_ / "no/such/folder") +
                           "; make it: mkdir -p " + (folder_ / "no/such/folder") + "\n");
}

TEST_F(RecipesTest, OneExperimentIsSubmittedAsAJobAndALabAsAGroup) {
  coordinator_.workers = {CpuWorker("alpha/0", "READY")};
  const Ended ended = Trainctl({"recipes", "submit", "single-2", "--train.micro_batch_size", "4"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  ASSERT_EQ(coordinator_.submissions.size(), 1u);
  EXPECT_EQ(coordinator_.submissions[0].group_name(), "");
  const job::JobSpec job = *job::FromJson(coordinator_.submissions[0].jobs(0).job_json());
  EXPECT_EQ(job.name, "single-2");
  EXPECT_EQ(job.train.micro_batch_size, 4);
  coordinator_.jobs.clear();
  EXPECT_EQ(Trainctl({"recipes", "submit", "lab-single"}).code, 0);
  EXPECT_EQ(coordinator_.submissions.back().group_name(), "lab-single");
}

TEST_F(RecipesTest, AnExperimentIsVariedAndFollowsOtherJobs) {
  coordinator_.workers = {CpuWorker("alpha/0", "READY")};
  coordinator_.jobs = {RunningJob("j7", "before")};
  const Ended ended = Trainctl({"recipes", "submit", "single-2", "--matrix",
                                "train.micro_batch_size=4,8", "--after", "j7:any"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  ASSERT_EQ(coordinator_.submissions.size(), 1u);
  const v1::SubmitRequest& sent = coordinator_.submissions[0];
  EXPECT_EQ(sent.group_name(), "single-2-sweep");
  ASSERT_EQ(sent.jobs_size(), 2);
  for (int i = 0; i < 2; ++i) {
    const job::JobSpec job = *job::FromJson(sent.jobs(i).job_json());
    EXPECT_EQ(job.name, i == 0 ? "single-2-micro_batch_size-4" : "single-2-micro_batch_size-8");
    EXPECT_EQ(job.train.micro_batch_size, i == 0 ? 4 : 8);
    EXPECT_EQ(job.resources.after.at("j7"), job::After::kAny);
  }
  const Ended lab = Trainctl({"recipes", "submit", "lab-single", "--matrix", "data.seed=1,2"});
  EXPECT_EQ(lab.code, kExitUsage);
  EXPECT_NE(lab.err.find("is a lab file"), std::string::npos) << lab.err;
}

TEST_F(RecipesTest, NotesStandBelowTheTable) {
  Trainctl({"recipes"});
  std::ostringstream screen;
  surroundings_.out = surroundings_.err = &screen;
  EXPECT_EQ(RunProgram({"recipes", "ls", "lab-single"}, surroundings_), 0);
  const std::string text = screen.str();
  EXPECT_LT(text.find("PREDICTED"), text.find("could not be inspected")) << text;
  EXPECT_LT(text.find("PREDICTED"), text.find("What does bf16 save?")) << text;
  EXPECT_NE(text.find("could not be inspected"), std::string::npos) << text;
}

TEST_F(RecipesTest, ARecipeWhoseModelIsNotHereSaysHowToNameAnother) {
  coordinator_.workers = {CpuWorker("alpha/0", "READY")};
  folder_.Write("models/tiny/config.json", "{}");
  folder_.Write(
      "recipes/first.json",
      R"({"version": 1, "model": {"path": "../models/SmolLM2-135M"}, "data": {"path": "d"},
 "train": {"global_batch_size": 4, "micro_batch_size": 4}})");
  const std::string recipes = folder_ / "recipes";
  const std::string script =
      folder_.Write("share/trainctl/example_model", "#!/usr/bin/env python3");
  surroundings_.program_directory = folder_ / "bin";
  const Ended ended = Trainctl({"recipes", "submit", "first", "--dir", recipes});
  for (const std::string& words : {"is not on this machine: " + (folder_ / "models/SmolLM2-135M"),
                                   "--model.path DIR, such as " + (folder_ / "models/tiny"),
                                   script + " DIR makes SmolLM2-135M"}) {
    EXPECT_NE(ended.err.find(words), std::string::npos) << words << "\n" << ended.err;
  }
  const Ended named = Trainctl(
      {"recipes", "submit", "first", "--dir", recipes, "--model.path", folder_ / "models/tiny"});
  EXPECT_EQ(named.err.find("is not on this machine"), std::string::npos) << named.err;
  std::filesystem::remove(script);
  const Ended without = Trainctl({"recipes", "submit", "first", "--dir", recipes});
  EXPECT_EQ(without.err.find("example_model"), std::string::npos) << without.err;
}

TEST_F(RecipesTest, AnUnknownIdOrActionIsRefused) {
  const Ended unknown = Trainctl({"recipes", "show", "single-3"});
  EXPECT_EQ(unknown.code, kExitNotFound);
  EXPECT_NE(unknown.err.find("did you mean 'single-"), std::string::npos) << unknown.err;
  EXPECT_EQ(Trainctl({"recipes", "run", "single-2"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"recipes", "show"}).code, kExitUsage);
}

TEST_F(RecipesTest, TheFolderIsNamedOrFoundBesideTheProgram) {
  surroundings_.environment_recipes.clear();
  EXPECT_EQ(Trainctl({"recipes", "--dir", folder_.path(), "-o", "name"}).out,
            "lab-single\nmulti-2\nsingle-2\nsingle-10\n");
  ScratchFolder checkout;
  checkout.Write("deploy/recipes/multi-2.json", kMultiRecipe);
  surroundings_.program_directory = checkout / "build/bin";
  EXPECT_EQ(Trainctl({"recipes", "-o", "name"}).out, "multi-2\n");
  surroundings_.program_directory = "/no/such/bin";
  const Ended ended = Trainctl({"recipes"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("/no/such/share/trainctl/recipes"), std::string::npos) << ended.err;
}

TEST_F(RecipesTest, TheShippedOnesHaveTheIdsOfTheLabs) {
  const std::string ids =
      "\n" + Trainctl({"recipes", "--dir", checkout::File("deploy/recipes"), "-o", "name"}).out;
  for (const char* id : {"single-1", "single-2", "single-5", "multi-1", "multi-2", "quickstart"}) {
    EXPECT_NE(ids.find("\n" + std::string(id) + "\n"), std::string::npos) << id;
  }
}

}  // namespace
}  // namespace trainctl::client
