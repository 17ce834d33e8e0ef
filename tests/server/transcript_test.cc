// The core's behaviour as text: each file of transcripts/ is a sequence of commands (scenario.h),
// each group followed by "----" and by what the core answered. UPDATE_GOLDEN=1 rewrites the
// answers; then the diff is what is reviewed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/checkout.h"
#include "tests/server/scenario.h"

namespace trainctl::core {
namespace {

const std::filesystem::path kFolder = checkout::File("tests/server/transcripts");

std::vector<std::string> Transcripts() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool IsCommand(const std::string& line) { return !line.empty() && line[0] != '#'; }

// The transcript with the answers that the core gives.
std::string Replay(const std::string& transcript) {
  Scenario scenario;
  std::ostringstream out;
  std::string answers;
  bool in_answer = false;
  std::istringstream in(transcript);
  for (std::string line; std::getline(in, line);) {
    if (line == "----") {
      out << "----\n" << std::exchange(answers, "");
      in_answer = true;
    } else if (line.empty()) {
      out << "\n";
      in_answer = false;
    } else if (!in_answer) {
      out << line << "\n";
      if (IsCommand(line)) answers += scenario.Run(line);
    }
  }
  return out.str();
}

class Transcript : public testing::TestWithParam<std::string> {};

TEST_P(Transcript, IsWhatTheCoreDoes) {
  const std::filesystem::path path = kFolder / (GetParam() + ".txt");
  const std::string expected = ReadAll(path);
  const std::string actual = Replay(expected);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path) << actual;
  EXPECT_EQ(actual, std::getenv("UPDATE_GOLDEN") != nullptr ? actual : expected) << path;
}

INSTANTIATE_TEST_SUITE_P(Server, Transcript, testing::ValuesIn(Transcripts()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace trainctl::core
