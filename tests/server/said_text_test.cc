// What a rank makes of a prompt, as it is kept: with its lines, and within its bound.
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

TEST(SaidText, KeepsLinesAndTabsAndNothingElseThatATerminalObeys) {
  EXPECT_EQ(KeptText(" one\n\ttwo\n").text, " one\n\ttwo\n");
  EXPECT_EQ(KeptText("a\x1b[1m\nb\xff\r").text, "a?[1m\nb??");
}

TEST(SaidText, EndsWithinItsBound) {
  constexpr size_t kMost = job::RankContinuation::kMaxTextBytes;
  EXPECT_EQ(KeptText(std::string(kMost, '\n')).text, std::string(kMost, '\n'));
  EXPECT_EQ(KeptText(std::string(2 * kMost, '\n')).text.size(), kMost);
  const std::string cut = KeptText("one\n" + std::string(kMost, 'x') + "\ntwo").text;
  EXPECT_EQ(cut.size(), kMost);
  EXPECT_TRUE(cut.ends_with("x…")) << cut.substr(kMost - 10);
}

}  // namespace
}  // namespace trainctl::core
