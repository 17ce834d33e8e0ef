// Files that are refused, each with the place that the refusal must name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

struct Case {
  const char* name;
  std::string text;
  const char* path;
  int line;
  const char* expected;  // a part of it
  const char* hint;      // a part of it
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

// A valid job in which one line (4) was added at the top, or within train (6).
std::string WithTop(const std::string& member) {
  return "{\n\"version\": 1, \"model\": {\"path\": \"m\"},\n\"data\": {\"path\": \"d\"},\n" +
         member + ",\n\"train\": {\"micro_batch_size\": 1}\n}";
}
std::string WithTrain(const std::string& member) {
  return "{\n\"version\": 1,\n\"model\": {\"path\": \"m\"},\n\"data\": {\"path\": \"d\"}, "
         "\"train\": {\n\"micro_batch_size\": 4,\n" +
         member + "}}";
}

const Case kCases[] = {
    {"NotJson", "{\n\"version\": 1\n\"model\"}", "version", 3, "valid JSON",
     "unexpected string literal"},
    {"Empty", "", "(file)", 1, "valid JSON", ""},
    {"CutInAList", "{\n\"version\": 1, \"lora\": {\"targets\": [\"q\",\n", "(file)", 2,
     "valid JSON",
     "still open: the '[' of line 2, column 35, the '{' of line 2, column 23, the '{' of line 1, "
     "column 1"},
    {"CutInAString", "{\"version\": 1,\n\"name\": \"ti\n", "(file)", 2, "valid JSON",
     "still open: the string of line 2, column 9, the '{' of line 1, column 1"},
    {"QuoteMissing", "{\"version\": 1,\n\"name\": \"tiny,\n\"devices\": 1}", "name", 2,
     "valid JSON", "the string of line 2, column 9 has no end in its line"},
    {"NotAnObject", "[1]", "(file)", 1, "an object of settings", ""},
    {"DuplicateKey", WithTop("\"devices\": 1, \"devices\": 2"), "devices", 4, "each key once",
     "line 4"},
    {"InvalidUtf8", WithTop("\"notes\": \"\xff\""), "notes", 4, "valid JSON", "UTF-8"},
    {"NumberOverflow", WithTop("\"optimizer\": {\"lr\": 1e999}"), "optimizer.lr", 4,
     "a number that a double can hold", ""},
    {"IntegerOverflow", WithTop("\"seed\": 99999999999999999999"), "seed", 4, "an integer from 0",
     ""},
    {"TooDeep", WithTop("\"tags\": " + std::string(100, '[')),
     "tags[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0…", 4, "64 nested", ""},
    {"TooLong", WithTop("\"notes\": \"" + std::string(1 << 20, 'x') + "\""), "(file)", 0,
     "at most 1048576 bytes", ""},
    {"NameTooLong", WithTop("\"name\": \"" + std::string(5000, 'x') + "\""), "name", 4, "a string",
     "too long: 5000 bytes, at most 128"},
    {"UnknownKey", WithTop("\"precisoin\": \"32-true\""), "precisoin", 4, "a key of a job",
     "'precision'"},
    {"UnknownKeyOfASection", WithTrain("\"max_step\": 1"), "train.max_step", 6,
     "a key of \"train\"", "'max_steps'"},
    {"KeyOfAnotherSection", WithTop("\"epochs\": 1"), "epochs", 4, "a key of a job",
     "'train.epochs'"},
    {"DottedKey", WithTop("\"train.epochs\": 1"), "train.epochs", 4, "nested objects", ""},
    {"WrongType", WithTop("\"devices\": \"four\""), "devices", 4, "an integer from 1 to 4096", ""},
    {"NotAWholeNumber", WithTop("\"devices\": 1.5"), "devices", 4, "an integer", ""},
    {"NullWhereNoneIs", WithTop("\"devices\": null"), "devices", 4, "an integer", ""},
    {"BoolIsNoNumber", WithTrain("\"epochs\": true"), "train.epochs", 6, "an integer", ""},
    {"SectionThatIsNoObject", WithTop("\"output\": 3"), "output", 4, "an object", ""},
    {"OutOfRange", WithTop("\"devices\": 0"), "devices", 4, "an integer from 1", ""},
    {"FractionOfOne", WithTop("\"eval\": {}, \"optimizer\": {\"betas\": [0.9, 1]}"),
     "optimizer.betas", 4, "from 0 to below 1", ""},
    {"ListOfThree", WithTop("\"optimizer\": {\"betas\": [0.9, 0.9, 0.9]}"), "optimizer.betas", 4,
     "a list of two", ""},
    {"UnknownName", WithTop("\"precision\": \"bf16-tru\""), "precision", 4,
     "\"32-true\", \"bf16-true\" or \"bf16-mixed\"", "'bf16-true'"},
    {"SizeWithoutUnit", WithTop("\"resources\": {\"gpu_memory_limit\": 80}"),
     "resources.gpu_memory_limit", 4, "a size such as \"80GB\"", ""},
    {"DurationWithoutUnit", WithTop("\"resources\": {\"time_limit\": \"90\"}"),
     "resources.time_limit", 4, "a duration such as", ""},
    {"SizeThatCouldBeAnything", WithTop("\"resources\": {\"gpu_memory_limit\": \"80\"}"),
     "resources.gpu_memory_limit", 4, "a size such as", ""},
    {"NoDuration", WithTop("\"resources\": {\"step_timeout\": null}"), "resources.step_timeout", 4,
     "a duration such as", ""},
    {"TagThatIsNoString", WithTop("\"tags\": {\"lab\": 2}"), "tags", 4, "an object of strings", ""},
    {"NewerVersion",
     "{\"version\": 2,\n\"model\": {\"path\": \"m\"}, \"data\": {\"path\": \"d\"}, \"train\": "
     "{\"micro_batch_size\": 1}}",
     "version", 1, "1", ""},
    {"MissingKey",
     "{\"version\": 1,\n\"model\": {},\n\"data\": {\"path\": \"d\"}, \"train\": "
     "{\"micro_batch_size\": 1}}",
     "model.path", 2, "a path", "required"},
    {"MissingSection",
     "{\"version\": 1,\n\"model\": {\"path\": \"m\"}, \"train\": {\"micro_batch_size\": 1}}",
     "data.path", 1, "a path", "required"},
    {"EmptyPath", WithTop("\"output\": {\"dir\": \"\"}"), "output.dir", 4, "a path", ""},
    {"BothOfAPair", WithTrain("\"global_batch_size\": 8,\n\"accumulate_grad_batches\": 2"),
     "train.accumulate_grad_batches", 7, "only one of", ""},
    {"IndivisibleBatch", WithTrain("\"global_batch_size\": 10"), "train.global_batch_size", 6,
     "a multiple", "8 or 12"},
    {"SingleOnTwoDevices", WithTop("\"devices\": 2,\n\"strategy\": \"single\""), "strategy", 5,
     "\"auto\", \"ddp\" or \"fsdp\"", "devices to 1"},
    {"SaveWithoutFolder", WithTop("\"output\": {\n\"save\": \"final\"}"), "output.dir", 4,
     "a folder", "nowhere to save"},
    {"NameLikeAnId", WithTop("\"name\": \"j12\""), "name", 4, "not of the form j1", ""},
    {"NameWithASlash", WithTop("\"name\": \"a/b\""), "name", 4, "without '/'", ""},
    {"UnknownConstraint",
     WithTop("\"resources\": {\"constraints\": {\n\"gpu.memroy\": \">=40GiB\"}}"),
     "resources.constraints.gpu.memroy", 5, "one of gpu.memory", ""},
    {"ConstraintWithoutUnit",
     WithTop("\"resources\": {\"constraints\": {\n\"gpu.memory\": \"40GiB\"}}"),
     "resources.constraints.gpu.memory", 5, "an operator and a size", ""},
    {"NoStepToProfile", WithTop("\"profile\": {\"steps\": 0}"), "profile.steps", 4, "from 1 to 100",
     ""},
    {"ProfileOfTooManySteps", WithTop("\"profile\": {\"steps\": 101}"), "profile.steps", 4,
     "from 1 to 100", ""},
    {"ProfileThatSkipsLessThanNothing", WithTop("\"profile\": {\"skip\": -1}"), "profile.skip", 4,
     "0", ""},
};

class Malformed : public testing::TestWithParam<Case> {};

TEST_P(Malformed, IsRefusedWithItsPlace) {
  const Case& c = GetParam();
  const ReadJob read = Read(c.text);
  EXPECT_FALSE(read.job);
  ASSERT_FALSE(read.problems.empty());
  const Problem& problem = read.problems.front();
  const std::string all = Format(read.problems, "job.json");
  EXPECT_EQ(read.problems.size(), 1u) << all;
  EXPECT_EQ(problem.path, c.path) << all;
  EXPECT_EQ(problem.line, c.line) << all;
  EXPECT_THAT(problem.expected, testing::HasSubstr(c.expected)) << all;
  EXPECT_THAT(problem.hint, testing::HasSubstr(c.hint)) << all;
}

INSTANTIATE_TEST_SUITE_P(Files, Malformed, testing::ValuesIn(kCases),
                         [](const auto& refused) { return std::string(refused.param.name); });

TEST(MalformedFiles, AllProblemsAreListedInTheOrderOfTheirLines) {
  const ReadJob read = Read(
      "{\"version\": 1, \"model\": {\"path\": \"m\"},\n\"devices\": 0,\n\"train\": "
      "{\"micro_batch_size\": 4,\n\"global_batch_size\": 6,\n"
      "\"epoch\": 1},\n\"strategy\": \"fdsp\"}");
  std::vector<std::string> paths;
  for (const Problem& problem : read.problems) paths.push_back(problem.path);
  EXPECT_THAT(paths, testing::ElementsAre("data.path", "devices", "train.global_batch_size",
                                          "train.epoch", "strategy"));
}

TEST(MalformedFiles, AProblemReadsAsOneLine) {
  EXPECT_EQ(Format(Read(WithTop("\"precision\": \"bf16-tru\"")).problems, "job.json"),
            "job.json:4: precision: \"bf16-tru\": expected \"32-true\", \"bf16-true\" or "
            "\"bf16-mixed\"; did you mean 'bf16-true'?");
}

TEST(MalformedFiles, AWordOfAListIsCorrectedToo) {
  EXPECT_EQ(Format(Read(WithTop("\"track\": [\"tensorbord\"]")).problems, "job.json"),
            "job.json:4: track: [\"tensorbord\"]: expected a list of some of \"tensorboard\"; did "
            "you mean 'tensorboard'?");
}

TEST(MalformedFiles, LongValuesAreShortened) {
  const ReadJob read = Read(WithTop("\"precision\": \"" + std::string(1000, 'x') + "\""));
  EXPECT_LE(read.problems.at(0).value.size(), 60u);
}

}  // namespace
}  // namespace trainctl::job
