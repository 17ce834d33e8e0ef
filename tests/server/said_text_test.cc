// What a rank makes of a prompt, as it is kept: exactly, and within its bound.
#include <gtest/gtest.h>

#include <string>

#include "server/core/step.h"

namespace trainctl::core {
namespace {

constexpr Now kSaidAt{100'000'000, 100'000'000};

job::RankContinuation KeptText(const std::string& text) {
  State state;
  WorkerHello hello;
  hello.worker.host = "a";
  hello.worker.name = "a/0";
  hello.device_free = true;
  Step(state, hello, kSaidAt);
  Step(state, JobsSubmitted{"r", "", {{job::JobSpec(), job::Inspection(), std::nullopt}}}, kSaidAt);
  job::RankContinuation kept;
  const RankReported report{
      "a/0", {{1}, 1, 0}, 1, job::RankContinuation{.prompt = "Q:\n\tA:", .text = text}};
  for (const Persist& row : Step(state, report, kSaidAt).persist) {
    if (const auto* said = std::get_if<ContinuationRow>(&row)) kept = said->said;
  }
  EXPECT_EQ(kept.prompt, "Q:\n\tA:");
  return kept;
}

TEST(SaidText, KeepsEveryCharacterAndReplacesBytesThatAreNone) {
  const std::string exact = std::string("if a:\r\n\treturn \x1b[1m\u202e") + '\0' + "\n";
  EXPECT_EQ(KeptText(exact).text, exact);
  EXPECT_EQ(KeptText("b\xff\r").text, "b\uFFFD\r");
}

TEST(SaidText, EndsWithinItsBound) {
  constexpr size_t kMost = job::RankContinuation::kMaxTextBytes;
  EXPECT_EQ(KeptText(std::string(kMost, '\n')).text, std::string(kMost, '\n'));
  EXPECT_EQ(KeptText(std::string(2 * kMost, '\n')).text.size(), kMost);
  EXPECT_EQ(KeptText(std::string(2 * kMost, '\xff')).text.size() % 3, 0u) << "whole characters";
  const std::string cut = KeptText("one\n" + std::string(kMost, 'x') + "\ntwo").text;
  EXPECT_EQ(cut.size(), kMost);
  EXPECT_TRUE(cut.ends_with("x…")) << cut.substr(kMost - 10);
}

}  // namespace
}  // namespace trainctl::core
