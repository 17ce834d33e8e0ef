#include "worker/rank/files/weights.h"

#include <gmock/gmock.h>

#include "tests/files/safetensors_bytes.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string OneTensor(const std::string& name, const std::string& data) {
  const std::string size = std::to_string(data.size());
  return SafetensorsBytes(R"({")" + name + R"(":{"dtype":"U8","shape":[)" + size +
                              R"(],"data_offsets":[0,)" + size + "]}}",
                          data);
}

std::string MessageOf(const ScratchDirectory& scratch) {
  auto weights = WeightFiles::Open(scratch.path());
  return weights.ok() ? "accepted" : weights.error().message;
}

TEST(Weights, ASingleFileIsFound) {
  const ScratchDirectory scratch;
  scratch.Write("model.safetensors", OneTensor("w", "abc"));
  auto weights = WeightFiles::Open(scratch.path());
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->total_bytes(), 3);
  ASSERT_NE(weights->Find("w"), nullptr);
  EXPECT_EQ(weights->Find("w")->shape, std::vector<int64_t>{3});
  EXPECT_EQ(weights->Find("v"), nullptr);
}

TEST(Weights, ShardsAreSeenAsOneSet) {
  const ScratchDirectory scratch;
  scratch.Write("s1.safetensors", OneTensor("a", "first"));
  scratch.Write("s2.safetensors", OneTensor("b", "second"));
  scratch.Write("model.safetensors.index.json",
                R"({"weight_map": {"b": "s2.safetensors", "a": "s1.safetensors"}})");
  auto opened = WeightFiles::Open(scratch.path());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const WeightFiles weights = std::move(opened).value();
  EXPECT_THAT(weights.names(), ElementsAre("a", "b"));
  EXPECT_EQ(weights.total_bytes(), 11);
  weights.Release("b");
  ASSERT_EQ(weights.Runs("b").size(), 1u);
  EXPECT_EQ(Text(weights.Runs("b")[0]), "second");
}

TEST(Weights, NamesThatBeginWithDecoderAreCompleted) {
  const ScratchDirectory scratch;
  scratch.Write("model.safetensors", OneTensor("decoder.norm", "abc"));
  const auto weights = WeightFiles::Open(scratch.path());
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_THAT(weights->names(), ElementsAre("model.decoder.norm"));
  ASSERT_NE(weights->Find("model.decoder.norm"), nullptr);
  EXPECT_EQ(weights->Find("model.decoder.norm")->name, "model.decoder.norm");
  EXPECT_EQ(weights->Find("decoder.norm"), nullptr);
  EXPECT_EQ(Text(weights->Runs("model.decoder.norm")[0]), "abc");
}

TEST(Weights, ANameThatStandsThereCompletedTooIsRefused) {
  const ScratchDirectory scratch;
  scratch.Write("s1.safetensors", OneTensor("decoder.norm", "abc"));
  scratch.Write("s2.safetensors", OneTensor("model.decoder.norm", "abc"));
  scratch.Write("model.safetensors.index.json", R"({"weight_map": {
      "decoder.norm": "s1.safetensors", "model.decoder.norm": "s2.safetensors"}})");
  EXPECT_THAT(MessageOf(scratch), HasSubstr("'model.decoder.norm' stands beside 'decoder.norm'"));
}

TEST(Weights, AMissingShardIsNamed) {
  const ScratchDirectory scratch;
  scratch.Write("model.safetensors.index.json", R"({"weight_map": {"a": "s1.safetensors"}})");
  EXPECT_EQ(WeightFiles::Open(scratch.path()).error().code, base::Code::kNotFound);
  EXPECT_THAT(MessageOf(scratch), HasSubstr("s1.safetensors"));
}

TEST(Weights, ATensorThatIsNotInItsShardIsNamed) {
  const ScratchDirectory scratch;
  scratch.Write("s1.safetensors", OneTensor("a", "first"));
  scratch.Write("s2.safetensors", OneTensor("b", "second"));
  scratch.Write(
      "model.safetensors.index.json",
      R"({"weight_map": {"a": "s2.safetensors", "b": "s2.safetensors", "c": "s1.safetensors"}})");
  EXPECT_THAT(MessageOf(scratch), HasSubstr("tensor 'a' is not in its shard 's2.safetensors'"));
}

TEST(Weights, ATensorInTwoShardsIsNamed) {
  const ScratchDirectory scratch;
  scratch.Write("s1.safetensors", OneTensor("a", "first"));
  scratch.Write("s2.safetensors", OneTensor("a", "second"));
  scratch.Write("model.safetensors.index.json",
                R"({"weight_map": {"a": "s1.safetensors", "b": "s2.safetensors"}})");
  EXPECT_THAT(MessageOf(scratch), HasSubstr("tensor 'a' stands in"));
}

TEST(Weights, AnIndexMustNotReachOutOfItsDirectory) {
  const ScratchDirectory scratch;
  scratch.Write("model.safetensors.index.json", R"({"weight_map": {"a": "../s1.safetensors"}})");
  EXPECT_THAT(MessageOf(scratch), HasSubstr("expected a file name"));
}

TEST(Weights, LitGptsWithoutConfigurationSayWhereItShouldBe) {
  const ScratchDirectory scratch;
  scratch.Write("lit_model.pth", "PK");
  EXPECT_THAT(MessageOf(scratch),
              HasSubstr("LitGPT keeps config.json or model_config.yaml beside"));
}

TEST(Weights, NoWeightsAndNoDirectoryAreNotFound) {
  const ScratchDirectory scratch;
  EXPECT_EQ(WeightFiles::Open(scratch.path()).error().code, base::Code::kNotFound);
  EXPECT_EQ(WeightFiles::Open("/nowhere").error().code, base::Code::kNotFound);
}

}  // namespace
}  // namespace trainctl::files
