// What lora.targets may be called: our words, and the names of modules in Hugging Face's files.
#include <gmock/gmock.h>

#include "common/job/job_json.h"
#include "common/model/model_description.h"

namespace trainctl::job {
namespace {

using testing::ElementsAre;

ReadJob WithTargets(const std::string& targets) {
  return ReadJobFile(R"({"version": 1, "name": "tiny", "model": {"path": "/m"},
    "data": {"path": "/d"}, "train": {"micro_batch_size": 1}, "lora": {"targets": )" +
                         targets + "}}",
                     {});
}

ModelShape ShapeOfFamily(const std::string& family) {
  return {.family = family,
          .layers = 1,
          .hidden = 32,
          .intermediate = 64,
          .heads = 2,
          .kv_heads = 2,
          .head_dim = 16,
          .vocab = 64,
          .max_positions = 64};
}

TEST(LoraNames, AModulesNameInTheFilesOfAFamilyMeansTheTargetThatDescribesIt) {
  for (const char* family : {"llama", "opt"}) {
    const ModelDescription model = Describe(ShapeOfFamily(family));
    int targets = 0;
    for (const UnitLayers& unit : {model.block, model.head}) {
      for (const Layer& layer : unit) {
        for (const Module& module : layer.modules) {
          if (module.target.empty()) continue;
          ++targets;
          const std::string name = module.path.substr(module.path.rfind('.') + 1);
          const ReadJob read = WithTargets("[\"" + name + "\"]");
          ASSERT_TRUE(read.job) << Format(read.problems, name);
          EXPECT_THAT(read.job->lora->targets, ElementsAre(module.target)) << name;
        }
      }
    }
    EXPECT_GE(targets, 7) << family;
  }
}

TEST(LoraNames, AreWrittenAsOurWordsAndStandOnce) {
  const ReadJob read = WithTargets(R"(["q_proj", "v"])");
  ASSERT_TRUE(read.job) << Format(read.problems, "job.json");
  EXPECT_NE(ToJson(*read.job).find(R"("targets":["q","v"])"), std::string::npos)
      << ToJson(*read.job);
  const ReadJob twice = WithTargets(R"(["q_proj", "q"])");
  ASSERT_EQ(twice.problems.size(), 1u);
  EXPECT_EQ(twice.problems[0].hint, "'q' stands twice");
  const ReadJob unknown = WithTargets(R"(["q_proj", "vv"])");
  ASSERT_EQ(unknown.problems.size(), 1u);
  EXPECT_EQ(unknown.problems[0].hint, "did you mean 'v'?");
}

}  // namespace
}  // namespace trainctl::job
