#include "worker/rank/data/token_file.h"

#include <gmock/gmock.h>

#include <array>

#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

template <class Word>
std::string Raw(std::vector<Word> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Word)};
}

std::string Header(int32_t magic, int32_t version, int32_t count) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return Raw(header);
}

// The tokens, or the error's message, of a file with this content.
std::pair<std::vector<int64_t>, std::string> ReadTokens(const std::string& content) {
  const ScratchDirectory scratch;
  auto tokens = ReadTokenFile(files::MappedFile::Open(scratch.Write("d.bin", content)).value());
  if (!tokens) return {{}, tokens.error().message};
  std::vector<int64_t> all;
  for (int64_t i = 0; i < tokens->size(); ++i) all.push_back((*tokens)[i]);
  return {all, ""};
}

TEST(TokenFile, RawWordsAreNanoGpts) {
  EXPECT_THAT(ReadTokens(Raw<uint16_t>({1, 65535, 7})).first, testing::ElementsAre(1, 65535, 7));
}

TEST(TokenFile, LlmcsHeaderSaysTheWidth) {
  EXPECT_THAT(ReadTokens(Header(20240520, 1, 2) + Raw<uint16_t>({5, 50256})).first,
              testing::ElementsAre(5, 50256));
  EXPECT_THAT(ReadTokens(Header(20240801, 7, 2) + Raw<uint32_t>({5, 128000})).first,
              testing::ElementsAre(5, 128000));
}

TEST(TokenFile, SizesThatDoNotFitAreRefused) {
  EXPECT_THAT(ReadTokens("abc").second, testing::HasSubstr("3 bytes, expected an even number"));
  EXPECT_THAT(ReadTokens(Header(20240520, 1, 3) + Raw<uint16_t>({5, 6})).second,
              testing::HasSubstr("counts 3 tokens"));
  EXPECT_THAT(ReadTokens(Header(20240520, 1, -1)).second, testing::HasSubstr("counts -1 tokens"));
  EXPECT_THAT(ReadTokens(Header(20240801, 1, 0)).second,
              testing::HasSubstr("version 1 of llm.c's format, expected 7"));
}

TEST(TokenFile, AnEmptyFileHasNoTokens) { EXPECT_THAT(ReadTokens("").first, testing::IsEmpty()); }

}  // namespace
}  // namespace trainctl::data
