#include "worker/rank/files/safetensors_writer.h"

#include <gmock/gmock.h>

#include "common/base/file.h"
#include "tests/files/safetensors_bytes.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/files/safetensors.h"

namespace trainctl::files {
namespace {

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

const std::vector<TensorInfo> kTensors = {{.name = "z", .dtype = DType::kI32, .shape = {2}},
                                          {.name = "a\n\"é", .dtype = DType::kU8, .shape = {3}}};

TEST(SafetensorsWriter, WhatIsWrittenInPiecesIsReadBack) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/m.safetensors";
  auto writer = SafetensorsWriter::Create(path, kTensors);
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  EXPECT_EQ(writer->total_bytes(), 11);
  for (const char* piece : {"1", "23456", "", "78abc"})
    ASSERT_TRUE(writer->Append(Bytes(piece)).ok());
  ASSERT_TRUE(writer->Finish().ok());
  auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors()[0].name, "z");
  EXPECT_EQ(Text(file->Bytes(file->tensors()[0])), "12345678");
  EXPECT_EQ(Text(file->Bytes(*file->Find("a\n\"é"))), "abc");
  EXPECT_EQ(file->metadata().at("format"), "pt");
}

TEST(SafetensorsWriter, TensorsAreAlignedToEightBytes) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/m.safetensors";
  auto writer = SafetensorsWriter::Create(path, {{.name = "w", .dtype = DType::kU8, .shape = {1}}});
  ASSERT_TRUE(writer->Append(Bytes("x")).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(base::ReadFile(path, 1 << 20).value().size() % 8, 1u);
}

TEST(SafetensorsWriter, UntilFinishNothingStandsUnderTheName) {
  const ScratchDirectory scratch;
  const std::string path = scratch.Write("m.safetensors", "the old file");
  {
    auto writer = SafetensorsWriter::Create(path, kTensors);
    ASSERT_TRUE(writer->Append(Bytes("1234")).ok());
    EXPECT_EQ(base::ReadFile(path, 100).value(), "the old file");
  }
  EXPECT_EQ(base::ReadFile(path, 100).value(), "the old file");
  const std::filesystem::directory_iterator files(scratch.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(SafetensorsWriter, ImpossibleDeclarationsAreRefused) {
  const ScratchDirectory scratch;
  const auto message = [&](std::vector<TensorInfo> tensors) {
    return SafetensorsWriter::Create(scratch.path() + "/m", std::move(tensors)).error().message;
  };
  EXPECT_THAT(message({{.name = "w", .shape = {1}}, {.name = "w", .shape = {1}}}),
              testing::HasSubstr("'w' stands twice"));
  EXPECT_THAT(message({{.name = "w", .shape = {int64_t{1} << 62}}}),
              testing::HasSubstr("impossible shape"));
}

TEST(SafetensorsWriter, AMissingFolderIsNotFound) {
  EXPECT_EQ(SafetensorsWriter::Create("/nowhere/m.safetensors", kTensors).error().code,
            base::Code::kNotFound);
}

TEST(SafetensorsWriterDeathTest, MoreBytesThanDeclaredAreTheProgrammersError) {
  const ScratchDirectory scratch;
  auto writer = SafetensorsWriter::Create(scratch.path() + "/m", kTensors);
  EXPECT_DEATH((void)writer->Append(Bytes("123456789012")), "12 of 11 bytes");
  EXPECT_DEATH((void)writer->Finish(), "0 of 11 bytes");
}

}  // namespace
}  // namespace trainctl::files
