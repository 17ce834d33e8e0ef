// A sweep over a seed by which nothing is drawn makes equal jobs, and says so.
#include <gmock/gmock.h>

#include "client/exit_code.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kNoSeed = "note: seed changes nothing: no weight is random";

class SeedNoteTest : public SubmitTest {
 protected:
  // What a sweep of kJob over `key` says.
  std::string Said(const std::string& key, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"submit", File("tiny.json", kJob), "--matrix", key + "=1,2"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = Trainctl(words);
    EXPECT_EQ(ended.code, kExitOk) << ended.err;
    return ended.err;
  }

  void SetDropout(double dropout) {
    job::Inspection inspection = SmallModel(100);
    inspection.model.dropout = dropout;
    v1::InspectResponse response;
    response.set_inspection_json(job::ToJson(inspection));
    coordinator_.inspection = response;
  }
};

TEST_F(SeedNoteTest, WithPretrainedWeightsAndNoDropoutItIsSaid) {
  EXPECT_THAT(Said("seed", {"--model.init", "pretrained"}), HasSubstr(kNoSeed));
  EXPECT_THAT(Said("seed", {"--model.init", "pretrained", "--dry-run"}), HasSubstr(kNoSeed));
  const std::vector<std::string> sweep = {"sweep",    File("tiny.json", kJob), "--matrix",
                                          "seed=1,2", "--model.init",          "pretrained"};
  EXPECT_THAT(Trainctl(sweep).err, HasSubstr(kNoSeed));
}

TEST_F(SeedNoteTest, WhereSomethingIsDrawnItIsNot) {
  EXPECT_THAT(Said("seed"), Not(HasSubstr("changes nothing"))) << "random weights";
  EXPECT_THAT(Said("data.seed", {"--model.init", "pretrained"}), Not(HasSubstr("changes nothing")));
  EXPECT_THAT(Said("seed", {"--model.init", "pretrained", "--lora.r", "8"}),
              Not(HasSubstr("changes nothing")));
  EXPECT_THAT(Said("seed", {"--model.init", "pretrained", "--eval.prompts", "Once",
                            "--eval.temperature", "1"}),
              Not(HasSubstr("changes nothing")));
  SetDropout(0.1);
  EXPECT_THAT(Said("seed", {"--model.init", "pretrained"}), Not(HasSubstr("changes nothing")));
}

TEST_F(SeedNoteTest, OfAModelThatCouldNotBeInspectedNothingIsSaid) {
  coordinator_.inspection = base::Error{base::Code::kUnavailable, "no worker answers"};
  EXPECT_THAT(Said("seed", {"--model.init", "pretrained"}), Not(HasSubstr("changes nothing")));
}

}  // namespace
}  // namespace trainctl::client
