// That they are read as transformers does is shown by tokenizer_baseline_test.cc and
// sentencepiece_beside_test.py.
#include "worker/rank/tokenizer/added_token_files.h"

#include <gmock/gmock.h>

#include "tests/files/scratch_directory.h"

namespace trainctl::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kConfig[] = "tokenizer_config.json", kMap[] = "special_tokens_map.json",
               kIds[] = "added_tokens.json";

// "id content flags", the flags by their first letters.
std::vector<std::string> Told(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> told;
  for (const AddedToken& token : tokens) {
    std::string flags;
    for (const auto& [is_set, letter] : {std::pair(token.special, 's'),
                                         {token.normalized, 'n'},
                                         {token.lstrip, 'l'},
                                         {token.rstrip, 'r'},
                                         {token.single_word, 'w'}})
      if (is_set) flags += letter;
    told.push_back(std::to_string(token.id) + " " + token.content + " " + flags);
  }
  return told;
}

TokensBeside Read(const std::vector<std::pair<std::string, std::string>>& files,
                  std::span<const DefaultRole> defaults = {}) {
  const ScratchDirectory scratch;
  for (const auto& [name, text] : files) scratch.Write(name, text);
  const auto beside = ReadTokensBeside(scratch.path(), defaults);
  EXPECT_TRUE(beside.ok()) << beside.error().message;
  return beside.ok() ? *beside : TokensBeside{};
}

std::string MessageOf(const std::string& name, const std::string& text) {
  const ScratchDirectory scratch;
  scratch.Write(name, text);
  const auto beside = ReadTokensBeside(scratch.path());
  return beside.ok() ? "accepted" : beside.error().message;
}

TEST(AddedTokenFiles, WithoutFilesThereAreTheDefaultsAlone) {
  const DefaultRole defaults[] = {{"eos_token", "</s>"}, {"bos_token", "<s>"}};
  EXPECT_THAT(Told(Read({}, defaults).named), ElementsAre("-1 <s> s", "-1 </s> s"));
  EXPECT_THAT(Told(Read({{kConfig, R"({"eos_token": null, "bos_token": "<b>"})"}}, defaults).named),
              ElementsAre("-1 <b> s"));
  EXPECT_THAT(Read({}).named, IsEmpty());
}

TEST(AddedTokenFiles, TheListHasIdsAndFlags) {
  const TokensBeside beside = Read({{kConfig, R"({"eos_token": "<e>", "added_tokens_decoder": {
            "10": {"content": "<x>", "lstrip": true, "rstrip": true, "single_word": true},
            "9": {"content": "<y>", "special": true, "normalized": true}, "8": {"content": "<e>"},
            "7": {"content": ""}}})"},
                                    {kMap, R"({"pad_token": "<p>"})"},
                                    {kIds, R"({"<z>": 11})"}});
  EXPECT_THAT(Told(beside.listed), ElementsAre("8 <e> sn", "9 <y> sn", "10 <x> nlrw"));
  EXPECT_THAT(Told(beside.named), ElementsAre("-1 <e> s"));
}

TEST(AddedTokenFiles, WithoutAListTheOlderFilesAreRead) {
  const TokensBeside beside =
      Read({{kConfig, R"({"pad_token": "<c>", "add_bos_token": true, "image_token": "<image>",
                          "extra_special_tokens": {"audio_token": "<audio>"}})"},
            {kMap, R"({"pad_token": {"content": "<p>", "rstrip": true},
                       "additional_special_tokens": ["<q>", {"content": "<r>"}]})"},
            {kIds, R"({"<x>": 11, "<p>": 10})"}});
  EXPECT_THAT(Told(beside.listed), ElementsAre("10 <p> s", "11 <x> n"));
  EXPECT_THAT(Told(beside.named),
              ElementsAre("-1 <p> sr", "-1 <image> s", "-1 <audio> s", "-1 <q> s", "-1 <r> s"));
}

int32_t IdOfA(std::string_view entry) { return entry == "a" ? 0 : -1; }

TEST(AddedTokens, TheListSpeaksBeforeTheTokenizersOwnAndNamesBehind) {
  const std::vector<AddedToken> own = {{.id = 3, .content = "<o>"}, {.id = 4, .content = "<n>"}};
  const TokensBeside beside = {
      .listed = {{.id = 9, .content = "<o>", .lstrip = true}, {.id = 7, .content = "a"}},
      .named = {{.id = -1, .content = "<n>", .rstrip = true}, {.id = -1, .content = "<e>"}}};
  EXPECT_THAT(Told(JoinAddedTokens(own, beside, IdOfA, 3)),
              ElementsAre("3 <o> snl", "4 <n> sn", "0 a sn", "5 <e> sn"));
}

TEST(AddedTokenFiles, WhatIsBrokenIsNamed) {
  EXPECT_THAT(MessageOf(kConfig, "{"), HasSubstr(kConfig));
  EXPECT_THAT(MessageOf(kConfig, "[]"), HasSubstr("[]: expected an object"));
  EXPECT_THAT(MessageOf(kConfig, R"({"bos_token": 3})"),
              HasSubstr("tokenizer_config.json: bos_token: 3: expected a token's text"));
  EXPECT_THAT(MessageOf(kConfig, R"({"bos_token": {"lstrip": true}})"), HasSubstr("bos_token: {"));
  EXPECT_THAT(MessageOf(kConfig, R"({"bos_token": {"content": "a", "lstrip": 1}})"),
              HasSubstr("bos_token: {"));
  EXPECT_THAT(MessageOf(kConfig, R"({"additional_special_tokens": ["<a>", 3]})"),
              HasSubstr("additional_special_tokens: [\"<a>\",3]: expected of each"));
  EXPECT_THAT(MessageOf(kConfig, R"({"additional_special_tokens": "<a>"})"),
              HasSubstr("expected a list of tokens"));
  EXPECT_THAT(MessageOf(kConfig, R"({"added_tokens_decoder": []})"),
              HasSubstr("added_tokens_decoder"));
  EXPECT_THAT(MessageOf(kConfig, R"({"added_tokens_decoder": {"1": {}}})"),
              HasSubstr("added_tokens_decoder.1: {}: expected a token"));
  for (const char* id : {"x", "", "-1", "99999999", "4194304"}) {
    const std::string decoder =
        R"({"added_tokens_decoder": {")" + std::string(id) + R"(": {"content": "a"}}})";
    EXPECT_THAT(MessageOf(kConfig, decoder), HasSubstr("expected the key of an id")) << id;
  }
  EXPECT_THAT(MessageOf(kMap, R"({"pad_token": []})"), AllOf(HasSubstr(kMap), HasSubstr("pad_to")));
  EXPECT_THAT(MessageOf(kIds, R"({"a": -1})"), HasSubstr("added_tokens.json: a: -1"));
  EXPECT_THAT(MessageOf(kIds, R"({"a": "b"})"), HasSubstr("a: \"b\""));
}

}  // namespace
}  // namespace trainctl::data
