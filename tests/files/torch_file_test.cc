// Files of torch.save, made by tests/baselines/generate_pickled.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "tests/files/mutate.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/files/state_pickle.h"
#include "worker/rank/files/torch_file.h"
#include "worker/rank/files/weights.h"
#include "worker/rank/files/zip_directory.h"

namespace trainctl::files {
namespace {

using ::testing::HasSubstr;

const std::string kFolder = checkout::File("tests/baselines/pickled/");

// All runs of a tensor, one after another.
std::string BytesOf(const WeightFiles& weights, const std::string& name) {
  std::string bytes;
  for (const std::span<const std::byte> run : weights.Runs(name))
    bytes.append(reinterpret_cast<const char*>(run.data()), run.size());
  return bytes;
}

class PickledWeights : public ::testing::TestWithParam<const char*> {};

TEST_P(PickledWeights, AreThoseOfHuggingFace) {
  const auto expected = SafetensorsFile::Open(kFolder + "expected.safetensors").value();
  const auto weights = WeightFiles::Open(kFolder + GetParam());
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->names().size(), expected.tensors().size());
  int64_t total = 0;
  for (const TensorInfo& info : expected.tensors()) {
    const TensorInfo* found = weights->Find(info.name);
    ASSERT_NE(found, nullptr) << info.name;
    EXPECT_EQ(found->dtype, info.dtype) << info.name;
    EXPECT_EQ(found->shape, info.shape) << info.name;
    const auto bytes = expected.Bytes(info);
    EXPECT_EQ(BytesOf(*weights, info.name),
              std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()))
        << info.name;
    total += info.size_bytes();
    weights->Release(info.name);
  }
  EXPECT_EQ(weights->total_bytes(), total);
}

INSTANTIATE_TEST_SUITE_P(Forms, PickledWeights,
                         ::testing::Values("sharded", "litgpt", "litgpt_by_group"));

std::string Refusal(const std::string& path) {
  const auto file = TorchFile::Open(path);
  return file.ok() ? "accepted" : file.error().message;
}

TEST(TorchFile, APickleThatWouldRunAProgramIsRefusedByName) {
  EXPECT_THAT(Refusal(kFolder + "refused/code.bin"), HasSubstr("'posix.system' is refused"));
}

TEST(TorchFile, ATensorThatIsAViewOfAnotherIsRefusedByName) {
  EXPECT_THAT(Refusal(kFolder + "refused/strided.bin"),
              HasSubstr("tensor 'w' is not stored row by row"));
}

TEST(TorchFile, ACompressedArchiveIsRefused) {
  EXPECT_THAT(Refusal(kFolder + "refused/compressed.bin"), HasSubstr("compressed"));
}

TEST(TorchFile, ACutFileIsRefusedAtEveryLength) {
  const ScratchDirectory scratch;
  const std::string whole = base::ReadFile(kFolder + "litgpt/lit_model.pth", 1 << 20).value();
  for (size_t size = 0; size < whole.size(); size += 97) {
    EXPECT_NE(Refusal(scratch.Write("cut.bin", whole.substr(0, size))), "accepted") << size;
  }
}

// The pickle within a file.
std::string PickleOf(const std::string& path, std::string* file) {
  *file = base::ReadFile(path, 1 << 20).value();
  const std::vector<ZipEntry> entries =
      ReadZipDirectory(std::as_bytes(std::span(*file)), path).value();
  for (const ZipEntry& entry : entries) {
    if (entry.name.ends_with("data.pkl"))
      return {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()};
  }
  return "";
}

TEST(Malformed, ArchivesAreRefusedOrKeepWithinTheirFile) {
  const std::string whole =
      base::ReadFile(kFolder + "sharded/pytorch_model-00001-of-00002.bin", 1 << 20).value();
  std::mt19937_64 random(3);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string bytes = Mutate(whole, &random);
    const auto entries = ReadZipDirectory(std::as_bytes(std::span(bytes)), "m");
    refused += !entries.ok();
    for (const ZipEntry& entry : entries.ok() ? *entries : std::vector<ZipEntry>()) {
      if (entry.bytes.empty()) continue;
      EXPECT_GE(entry.bytes.data(), std::as_bytes(std::span(bytes)).data());
      EXPECT_LE(&entry.bytes.back(), &std::as_bytes(std::span(bytes)).back());
    }
  }
  EXPECT_GT(refused, 400);
}

TEST(Malformed, PicklesAreRefusedOrHoldTensors) {
  std::mt19937_64 random(4);
  for (const char* form : {"sharded/pytorch_model-00001-of-00002.bin", "litgpt/lit_model.pth"}) {
    std::string file;
    const std::string whole = PickleOf(kFolder + form, &file);
    ASSERT_FALSE(whole.empty());
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
      const std::string bytes = Mutate(whole, &random);
      const auto tensors = ReadStatePickle(std::as_bytes(std::span(bytes)), "m");
      refused += !tensors.ok();
      EXPECT_TRUE(tensors.ok() || !tensors.error().message.empty());
    }
    EXPECT_GT(refused, 2000) << form;
  }
}

// What a malicious writer could try.
TEST(Malformed, PicklesThatGrowOrLoopAreRefusedInBoundedTime) {
  const auto refused = [](const std::string& pickle) {
    const auto tensors = ReadStatePickle(std::as_bytes(std::span(pickle)), "m");
    return !tensors.ok();
  };
  std::string deep = ")";
  for (int i = 0; i < 1'000'000; ++i) deep += '\x85';
  EXPECT_TRUE(refused(deep + "."));
  EXPECT_TRUE(refused(std::string(3'000'000, 'N') + "."));
  EXPECT_TRUE(refused("]q" + std::string(1, '\0') + "h" + std::string(1, '\0') +
                      "a."));  // a list that holds itself
  EXPECT_TRUE(refused("r\xff\xff\xff\xff."));
  EXPECT_TRUE(refused(std::string("X\xff\xff\xff\xff") + "a."));
  EXPECT_TRUE(refused(std::string(2'500'000, '(')));
}

}  // namespace
}  // namespace trainctl::files
