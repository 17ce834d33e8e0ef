// When plot draws pixels: what the terminal says of itself, and what --graphics asks for.
#include "client/exit_code.h"
#include "client/tty_question.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

TEST(TtyQuestion, ATerminalTellsOfSixelsByTheNumberFour) {
  EXPECT_TRUE(TellsOfSixels("\x1b[?62;4;22c"));
  EXPECT_TRUE(TellsOfSixels("\x1b[?4c"));
  EXPECT_TRUE(TellsOfSixels("cc\x1b[?62;4c")) << "somebody types";
  EXPECT_TRUE(TellsOfSixels("\x1b[?62;4cls"));
  EXPECT_FALSE(TellsOfSixels("\x1b[?64;14;22c"));
  EXPECT_FALSE(TellsOfSixels("\x1b[?1;2c"));
  EXPECT_FALSE(TellsOfSixels("\x1b[?62;4"));
  EXPECT_FALSE(TellsOfSixels(""));
}

class PlotGraphics : public ClientTest {
 protected:
  PlotGraphics() {
    coordinator_.jobs = {RunningJob("j1", "full")};
    for (const int64_t step : {0, 1}) {
      v1::MetricPoint& point = coordinator_.job_points["j1"].emplace_back();
      point.set_name("loss");
      point.set_step(step);
      point.set_value(4.0 - static_cast<double>(step));
    }
  }
};

TEST_F(PlotGraphics, PixelsAreDrawnWhereTheyAreAskedForOrTheTerminalShowsThem) {
  struct {
    const char* options;
    bool kitty, sixel;  // that the terminal shows
    int cell_width, lines;
    std::string drawn;  // kitty, sixel or none
    bool asked;
  } const kCases[] = {
      {"auto", false, true, 8, 40, "sixel", true},
      {"auto", false, false, 8, 40, "none", true},
      {"auto", false, true, 0, 40, "none", false},
      {"auto", false, true, 8, 20, "none", false},
      {"auto", true, true, 8, 40, "kitty", false},
      {"auto --ascii", true, true, 8, 40, "none", false},
      {"none", true, true, 8, 40, "none", false},
      {"kitty", false, true, 8, 40, "kitty", false},
      {"sixel", true, false, 0, 40, "sixel", false},
      {"sixel -o table", true, false, 0, 40, "sixel", false},
  };
  for (const auto& one : kCases) {
    bool asked = false;
    surroundings_.out_terminal = {.is_terminal = true,
                                  .interactive = true,
                                  .pictures = one.kitty,
                                  .cell_width = one.cell_width,
                                  .cell_height = 2 * one.cell_width,
                                  .layout = {.width = 80, .colour = true},
                                  .height = one.lines};
    surroundings_.shows_sixels = [&] { return asked = true, one.sixel; };
    std::istringstream options(one.options);
    std::vector<std::string> words = {"plot", "full", "--graphics"};
    for (std::string word; options >> word;) words.push_back(word);
    const Ended ended = Trainctl(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "") << one.options;
    const bool kitty = ended.out.find("\x1b_G") != std::string::npos;
    const bool sixel = ended.out.find("\x1bP") != std::string::npos;
    EXPECT_EQ(kitty ? "kitty" : sixel ? "sixel" : "none", one.drawn) << one.options;
    EXPECT_EQ(asked, one.asked) << one.options << " " << one.cell_width;
  }
}

TEST_F(PlotGraphics, ATerminalThatDoesNotAnswerIsNoted) {
  surroundings_.out_terminal = {.is_terminal = true,
                                .interactive = true,
                                .cell_width = 8,
                                .cell_height = 16,
                                .layout = {.width = 80, .colour = true},
                                .height = 40};
  surroundings_.shows_sixels = [] { return std::nullopt; };
  const Ended ended = Trainctl({"plot", "full"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out.find("\x1bP"), std::string::npos);
  EXPECT_EQ(ended.err,
            "note: drawn with characters: the terminal did not say whether it shows pixels "
            "(--graphics none does not ask)\n");
}

TEST_F(PlotGraphics, PixelsThatCannotBeDrawnAreRefusedOrNoted) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"sixel", "--ascii"},
                                             {"kitty", "--ascii"},
                                             {"sixel", "-o", "svg"},
                                             {"kitty", "-o", "json"},
                                             {"sixel", "-o", "/nowhere.svg"},
                                             {"sixels"}}) {
    std::vector<std::string> line = {"plot", "full", "--graphics"};
    line.insert(line.end(), words.begin(), words.end());
    const Ended ended = Trainctl(line);
    EXPECT_EQ(ended.code, kExitUsage) << words.back();
    EXPECT_EQ(ended.err.find("trainctl: --graphics " + words.front()), 0u) << ended.err;
  }
  surroundings_.out_terminal.height = 20;
  const Ended low = Trainctl({"plot", "full", "--graphics", "sixel"});
  EXPECT_EQ(low.code, 0);
  EXPECT_EQ(low.err,
            "note: drawn with characters: the terminal is too low for sixel pixels of 20 lines\n");
}

}  // namespace
}  // namespace trainctl::client
