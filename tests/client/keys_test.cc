#include "client/keys.h"

#include <gtest/gtest.h>

#include <vector>

namespace trainctl::client {
namespace {

std::vector<KeyPress> Keys(KeyReader* reader, bool last = false) {
  std::vector<KeyPress> keys;
  while (const auto key = reader->Next(last)) keys.push_back(*key);
  return keys;
}

TEST(Keys, AreLettersArrowsAndEnter) {
  KeyReader reader;
  reader.Add("j\x1b[A\x1bOB\r\x1b[5~\x1b[F\x7f\bq");
  const std::vector<KeyPress> expected = {
      {KeyKind::kCharacter, 'j'}, {KeyKind::kUp},        {KeyKind::kDown},
      {KeyKind::kEnter},          {KeyKind::kPageUp},    {KeyKind::kEnd},
      {KeyKind::kBackspace},      {KeyKind::kBackspace}, {KeyKind::kCharacter, 'q'}};
  EXPECT_EQ(Keys(&reader), expected);
}

TEST(Keys, AnArrowThatComesInPiecesIsOneKey) {
  KeyReader reader;
  for (const char* piece : {"\x1b", "["}) {
    reader.Add(piece);
    EXPECT_TRUE(Keys(&reader).empty());
    EXPECT_FALSE(reader.empty());
  }
  reader.Add("B");
  EXPECT_EQ(Keys(&reader), (std::vector<KeyPress>{{KeyKind::kDown}}));
}

TEST(Keys, EscIsAKeyWhereNothingFollows) {
  KeyReader reader;
  reader.Add("\x1b");
  EXPECT_TRUE(Keys(&reader).empty());
  EXPECT_EQ(Keys(&reader, /*last=*/true), (std::vector<KeyPress>{{KeyKind::kEscape}}));
  reader.Add("\x1bq");  // Escape, then q
  EXPECT_EQ(Keys(&reader), (std::vector<KeyPress>{{KeyKind::kEscape}, {KeyKind::kCharacter, 'q'}}));
}

TEST(Keys, WhatNobodyHasAUseForIsNoLetterOfACommand) {
  KeyReader reader;
  reader.Add("\x1b[15~\x1b[1;5C\x1b[200~\x01\xc3\xa9y");  // F5, Ctrl-right, a paste, é
  EXPECT_EQ(Keys(&reader), (std::vector<KeyPress>{{KeyKind::kCharacter, 'y'}}));
  EXPECT_TRUE(reader.empty());
}

TEST(Keys, ASequenceWithoutAnEndIsNotKeptForEver) {
  KeyReader reader;
  reader.Add("\x1b[" + std::string(100, '1'));
  reader.Add("q");
  const std::vector<KeyPress> keys = Keys(&reader);
  ASSERT_FALSE(keys.empty());
  EXPECT_EQ(keys.back(), (KeyPress{KeyKind::kCharacter, 'q'}));
}

}  // namespace
}  // namespace trainctl::client
