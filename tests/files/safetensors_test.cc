#include "worker/rank/files/safetensors.h"

#include <gmock/gmock.h>

#include "tests/files/safetensors_bytes.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/files/json_text.h"
#include "worker/rank/files/zip_directory.h"

namespace trainctl::files {
namespace {

using testing::HasSubstr;

constexpr char kTwoTensors[] =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[1],"data_offsets":[6,10]},)"
    R"("a":{"dtype":"BF16","shape":[1,3],"data_offsets":[0,6]}}  )";

std::string MessageOf(const std::string& header, const std::string& data) {
  const std::string file = SafetensorsBytes(header, data);
  auto parsed = ParseSafetensorsHeader(std::as_bytes(std::span(file)), "m.safetensors");
  return parsed.ok() ? "accepted" : parsed.error().message;
}

TEST(Safetensors, TensorsComeInTheOrderOfTheirBytes) {
  const ScratchDirectory scratch;
  auto file = SafetensorsFile::Open(
      scratch.Write("m.safetensors", SafetensorsBytes(kTwoTensors, "aaaaaabbbb")));
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 2u);
  const TensorInfo& a = file->tensors()[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, DType::kBF16);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(Text(file->Bytes(a)), "aaaaaa");
  EXPECT_EQ(Text(file->Bytes(*file->Find("b"))), "bbbb");
  EXPECT_EQ(file->Find("c"), nullptr);
  EXPECT_EQ(file->metadata().at("format"), "pt");
}

TEST(Safetensors, ReleasedBytesCanBeReadAgain) {
  const ScratchDirectory scratch;
  auto file = SafetensorsFile::Open(
      scratch.Write("m.safetensors", SafetensorsBytes(kTwoTensors, "aaaaaabbbb")));
  file->AdviseSequential();
  file->Release(file->tensors()[0]);
  EXPECT_EQ(Text(file->Bytes(file->tensors()[0])), "aaaaaa");
}

TEST(Safetensors, SpansOutliveAMoveOfTheFile) {
  const ScratchDirectory scratch;
  auto file = SafetensorsFile::Open(
      scratch.Write("m.safetensors", SafetensorsBytes(kTwoTensors, "aaaaaabbbb")));
  const auto bytes = file->Bytes(*file->Find("b"));
  const SafetensorsFile moved = std::move(file).value();
  EXPECT_EQ(Text(bytes), "bbbb");
  EXPECT_EQ(Text(moved.Bytes(*moved.Find("b"))), "bbbb");
}

TEST(Safetensors, AScalarAndAnEmptyTensorAreTensors) {
  const std::string header =
      R"({"s":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"e":{"dtype":"F32","shape":[0,5],"data_offsets":[8,8]}})";
  EXPECT_EQ(MessageOf(header, "12345678"), "accepted");
}

TEST(Safetensors, AMissingFileIsNotFound) {
  EXPECT_EQ(SafetensorsFile::Open("/nowhere/m.safetensors").error().code, base::Code::kNotFound);
}

TEST(Safetensors, ADirectoryIsNoFile) {
  EXPECT_EQ(SafetensorsFile::Open("/tmp").error().code, base::Code::kInvalid);
}

TEST(Safetensors, FaultsAreNamedWithFileAndTensor) {
  const auto tensor = [](const std::string& fields) { return R"({"w":{)" + fields + "}}"; };
  const std::vector<std::array<std::string, 3>> cases = {
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,7])"), "1234567", "do not fit shape"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "12345678", "a hole"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "12345", "left over"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), "1234", "complete"},
      {tensor(R"("dtype":"F3","shape":[1],"data_offsets":[0,4])"), "1234", "unknown dtype \"F3\""},
      {tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), "1234", "shape must be"},
      {tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"), "",
       "do not fit shape"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615])"), "1234",
       "data_offsets must be"},
      {tensor(R"("dtype":"F32","shape":[1])"), "1234", "expected an object of"},
      {R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"v":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       "123", "an overlap"},
      {R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       "12", "twice"},
      {R"({"__metadata__":{"format":1}})", "", "__metadata__"},
      {R"([])", "", "not a JSON object"},
      {R"({"w")", "", "not JSON"},
  };
  for (const auto& [header, data, expected] : cases) {
    EXPECT_THAT(MessageOf(header, data), HasSubstr("m.safetensors")) << header;
    EXPECT_THAT(MessageOf(header, data), HasSubstr(expected)) << header;
  }
}

TEST(Safetensors, APointerOfGitLfsIsToldFromAFile) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n";
  const auto bytes = std::as_bytes(std::span(pointer));
  EXPECT_EQ(ParseSafetensorsHeader(bytes, "m").error().message,
            "m: a pointer of Git LFS in place of the file: git lfs pull");
  EXPECT_THAT(ReadZipDirectory(bytes, "m").error().message, HasSubstr("Git LFS"));
  EXPECT_THAT(ParseJsonText(pointer, "m").error().message, HasSubstr("Git LFS"));
}

TEST(Safetensors, AHeaderLengthBeyondTheFileIsRefused) {
  const std::string short_file = "1234";
  EXPECT_THAT(ParseSafetensorsHeader(std::as_bytes(std::span(short_file)), "m").error().message,
              HasSubstr("too few"));
  const std::string beyond = SafetensorsBytes("{}", "").replace(0, 1, "\x03");
  EXPECT_THAT(ParseSafetensorsHeader(std::as_bytes(std::span(beyond)), "m").error().message,
              HasSubstr("complete"));
  const std::string huge = std::string(8, '\xFF') + "{}";
  EXPECT_THAT(ParseSafetensorsHeader(std::as_bytes(std::span(huge)), "m").error().message,
              HasSubstr("not a safetensors file"));
}

}  // namespace
}  // namespace trainctl::files
