#include "worker/rank/files/check_weights.h"

#include <gmock/gmock.h>

#include "common/base/utf8.h"
#include "tests/files/safetensors_bytes.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<job::FileTensor> kExpected = {{"model.a.weight", {2, 3}}, {"model.b.bias", {4}}};
const std::vector<job::FileTensor> kTied = {{"model.embed_tokens.weight", {1, 2}}};

class CheckWeightsTest : public testing::Test {
 protected:
  // Of a file with these entries of its header, whose tensors take so many bytes.
  std::string Fault(const std::string& entries, size_t bytes, bool tied_head = false) {
    scratch_.Write("model.safetensors",
                   SafetensorsBytes("{" + entries + "}", std::string(bytes, '\0')));
    const auto weights = WeightFiles::Open(scratch_.path());
    if (!weights) return "not opened: " + weights.error().message;
    const base::Status checked = CheckWeights(*weights, kExpected, tied_head);
    return checked.ok() ? "" : checked.error().message;
  }

  // Of an embedding of the bytes abcd and of a head, whose entry and bytes are told.
  std::string TiedFault(const std::string& head, const std::string& bytes) {
    const std::string entries =
        R"("model.embed_tokens.weight":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},)"
        R"("lm_head.weight":)";
    scratch_.Write("model.safetensors",
                   SafetensorsBytes("{" + entries + head + "}", "abcd" + bytes));
    const auto weights = WeightFiles::Open(scratch_.path());
    if (!weights) return "not opened: " + weights.error().message;
    const base::Status checked = CheckWeights(*weights, kTied, /*tied_head=*/true);
    return checked.ok() ? "" : checked.error().message;
  }

  const ScratchDirectory scratch_;
  const std::string a_ = R"("model.a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";
  const std::string b_ = R"(,"model.b.bias":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]})";
};

TEST_F(CheckWeightsTest, TensorsOfAnyFloatingTypeFit) { EXPECT_EQ(Fault(a_ + b_, 32), ""); }

TEST_F(CheckWeightsTest, BuffersAndTheSecondNameOfATiedHeadAreTolerated) {
  const std::string more = R"(,"lm_head.weight":{"dtype":"F32","shape":[1],"data_offsets":[32,36]})"
                           R"(,"model.layers.0.self_attn.rotary_emb.inv_freq":)"
                           R"({"dtype":"F32","shape":[1],"data_offsets":[36,40]})";
  EXPECT_EQ(Fault(a_ + b_ + more, 40, /*tied_head=*/true), "");
  EXPECT_THAT(Fault(a_ + b_ + more, 40), HasSubstr("1 superfluous: lm_head.weight"));
}

TEST_F(CheckWeightsTest, ATiedHeadIsTheEmbeddingOnceMore) {
  const std::string same = R"({"dtype":"F16","shape":[1,2],"data_offsets":[4,8]})";
  EXPECT_EQ(TiedFault(same, "abcd"), "");
  EXPECT_THAT(TiedFault(same, "abce"),
              AllOf(HasSubstr("/model.safetensors: weight lm_head.weight is another than "
                              "model.embed_tokens.weight"),
                    HasSubstr("tie_word_embeddings")));
  EXPECT_THAT(TiedFault(R"({"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]})", "abcd"),
              HasSubstr("is another than"));
  EXPECT_THAT(TiedFault(R"({"dtype":"F16","shape":[2,1],"data_offsets":[4,8]})", "abcd"),
              HasSubstr("is another than"));
}

TEST_F(CheckWeightsTest, ATensorThatIsMissingOrSuperfluousIsNamedWithTheFolder) {
  const std::string other = R"(,"model.c":{"dtype":"F32","shape":[2],"data_offsets":[24,32]})";
  EXPECT_THAT(Fault(a_ + other, 32),
              AllOf(HasSubstr(scratch_.path() + ": "), HasSubstr("1 missing: model.b.bias"),
                    HasSubstr("1 superfluous: model.c")));
}

TEST_F(CheckWeightsTest, ALongNameIsCutBetweenCharactersWhereItIsShown) {
  std::string name = "m";
  for (int i = 0; i < 5000; ++i) name += "ü";
  const std::string more = ",\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[32,36]})";
  const std::string message = Fault(a_ + b_ + more, 36);
  EXPECT_THAT(message, HasSubstr("1 superfluous: müüü"));
  EXPECT_THAT(message, HasSubstr("…"));
  EXPECT_LT(message.size(), scratch_.path().size() + 300);
  EXPECT_FALSE(base::FindInvalidUtf8(message));
}

TEST_F(CheckWeightsTest, AnotherShapeIsNamedWithFileTensorAndBothShapes) {
  const std::string b = R"(,"model.b.bias":{"dtype":"BF16","shape":[2,2],"data_offsets":[24,32]})";
  EXPECT_EQ(Fault(a_ + b, 32), scratch_.path() +
                                   "/model.safetensors: weight model.b.bias has shape [2, 2]: "
                                   "config.json makes it [4]");
}

TEST_F(CheckWeightsTest, IntegersAreNoWeights) {
  const std::string b = R"(,"model.b.bias":{"dtype":"I16","shape":[4],"data_offsets":[24,32]})";
  EXPECT_THAT(Fault(a_ + b, 32),
              HasSubstr("weight model.b.bias is of type I16: expected F32, F16 or BF16"));
}

}  // namespace
}  // namespace trainctl::files
