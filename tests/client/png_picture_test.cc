#include "client/plot/png_picture.h"

#include <gmock/gmock.h>

#include <set>
#include <utility>

#include "client/plot/drawn_bars.h"
#include "client/plot/drawn_plot.h"
#include "client/plot/drawn_ways.h"
#include "tests/client/decoded_png.h"

namespace trainctl::client::drawn {
namespace {

using testing::ElementsAre;

DecodedPng Painted(const Drawing& drawing) {
  const base::Result<std::string> png = PngOf(drawing);
  EXPECT_TRUE(png.ok());
  return DecodePng(*png);
}

// How many pixels of a part of the picture are not white.
int InkWithin(const DecodedPng& png, size_t left, size_t top, size_t right, size_t bottom) {
  int ink = 0;
  for (size_t y = top; y < bottom; ++y) {
    for (size_t x = left; x < right; ++x) ink += png.At(x, y) != std::array{255, 255, 255} ? 1 : 0;
  }
  return ink;
}

TEST(PngPicture, HasTwiceThePixelsAndTheirDensity) {
  const DecodedPng png = Painted({"", 30, 20});
  EXPECT_EQ(png.width, 60u);
  EXPECT_EQ(png.height, 40u);
  EXPECT_EQ(png.dots_per_metre, 7559u) << "192 dpi";
  EXPECT_EQ(InkWithin(png, 0, 0, 60, 40), 0);
}

TEST(PngPicture, ACurveIsWhereItsPointsAre) {
  const Plot plot{.title = "",
                  .unit = "",
                  .over_time = false,
                  .log = false,
                  .curves = {{.label = "", .samples = {{0, 0}, {10, 10}}, .not_finite = {}}}};
  const Drawing drawing = DrawingOf(plot);
  const auto* line = std::get_if<PolyLine>(&drawing.shapes[drawing.shapes.size() - 3]);
  ASSERT_NE(line, nullptr);
  ASSERT_EQ(line->places.size(), 2u);
  const DecodedPng png = Painted(drawing);
  for (const double share : {0.1, 0.35, 0.6, 0.9}) {
    const Place from = line->places[0], to = line->places[1];
    const auto x = static_cast<size_t>(2 * (from.x + share * (to.x - from.x)));
    const auto y = static_cast<size_t>(2 * (from.y + share * (to.y - from.y)));
    EXPECT_THAT(png.At(x, y), ElementsAre(0x00, 0x72, 0xb2)) << share;
    EXPECT_NE(png.At(x, y + 5), png.At(x, y)) << share;
  }
}

TEST(PngPicture, EdgesAreSmooth) {
  const DecodedPng png = Painted({"", 20, 20, {Segment{CurvePen(0), {2, 3}, {18, 12}}}});
  std::set<int> shades;
  for (size_t x = 0; x < png.width; ++x) {
    for (size_t y = 0; y < png.height; ++y) shades.insert(png.At(x, y)[0]);
  }
  EXPECT_GT(shades.size(), 8u);
}

TEST(PngPicture, ACurveOfThousandsOfPointsIsPaintedWhole) {
  PolyLine line{CurvePen(1), "", {}};
  for (int i = 0; i < 4000; ++i) line.places.push_back({10 + i * 0.2, i % 2 == 0 ? 10.0 : 90.0});
  const DecodedPng png = Painted({"", 830, 100, {line}});
  for (size_t x = 30; x < 1610; x += 50)
    EXPECT_THAT(png.At(x, 100), ElementsAre(0xd5, 0x5e, 0x00)) << x;
}

TEST(PngPicture, WhereColoursBeginAgainLinesAreDashed) {
  const DecodedPng png = Painted({"", 60, 20, {Segment{CurvePen(kColours), {3, 10}, {57, 10}}}});
  int changes = 0;
  for (size_t x = 1; x < png.width; ++x)
    changes += (png.At(x, 20)[0] < 128) != (png.At(x - 1, 20)[0] < 128) ? 1 : 0;
  EXPECT_EQ(changes, 12) << "54 pixels have six dashes of 6, each with 3 behind";
}

TEST(PngPicture, BarsAndMarksHaveTheirColours) {
  const DecodedPng bars = Painted(DrawingOf("t", {{"time", {{2, "a (j1)", 4, "4 s"}}}}, {}));
  EXPECT_THAT(bars.At(2 * 252, 2 * 80), ElementsAre(0x00, 0x9e, 0x73));
  EXPECT_THAT(bars.At(2 * 708, 2 * 80), ElementsAre(0x00, 0x9e, 0x73))
      << "as long as there is room";
  const DecodedPng marks =
      Painted({"",
               60,
               60,
               {Disc{{10, 10}, 5, "#0072b2"}, Ring{{40, 10}, 9, {Pen::Kind::kMark, "#888", 1.5}},
                Triangle{{30, 30}, {Pen::Kind::kMark, "#c62828", 2}}, Disc{{10, 40}, 5, "#8888"}}});
  EXPECT_THAT(marks.At(20, 20), ElementsAre(0x00, 0x72, 0xb2));
  EXPECT_THAT(marks.At(80, 20), ElementsAre(255, 255, 255)) << "a ring is hollow";
  EXPECT_LT(marks.At(98, 20)[0], 0x99);
  EXPECT_THAT(marks.At(60, 88), ElementsAre(0xc6, 0x28, 0x28)) << "its lower side";
  EXPECT_THAT(marks.At(20, 80), ElementsAre(0xc0, 0xc0, 0xc0)) << "the ground shines through";
}

TEST(PngPicture, WordsOfManyScriptsStandWhereTheyAreAnchored) {
  const auto ink = [](Words::Anchor anchor, const char* text) {
    const DecodedPng png = Painted({"", 100, 20, {Words{{50, 14}, anchor, text}}});
    return std::pair(InkWithin(png, 0, 0, 100, 40), InkWithin(png, 100, 0, 200, 40));
  };
  for (const char* text : {"loss", "потери", "απώλεια", "×−…±"}) {
    EXPECT_EQ(ink(Words::Anchor::kStart, text).first, 0) << text;
    EXPECT_GT(ink(Words::Anchor::kStart, text).second, 50) << text;
    EXPECT_EQ(ink(Words::Anchor::kEnd, text).second, 0) << text;
    EXPECT_GT(ink(Words::Anchor::kMiddle, text).first, 20) << text;
  }
}

// The font that is carried has no CJK and few pictures: each such character is a box, with room of
// its own.
TEST(PngPicture, WhatTheFontLacksIsABoxAndAMarkStandsOnItsLetter) {
  const auto ink = [](const std::string& text, size_t from, size_t to) {
    const DecodedPng png = Painted({"", 200, 20, {Words{{10, 14}, Words::Anchor::kStart, text}}});
    return InkWithin(png, from, 0, to, 40);
  };
  const auto width = [&ink](const std::string& text) {
    size_t last = 400;
    while (last > 20 && ink(text, last - 1, 400) == 0) --last;
    return last - 20;
  };
  const int box = ink("語", 0, 400);
  EXPECT_GT(box, 50);
  EXPECT_NEAR(ink("日本語", 0, 400), 3 * box, 0.2 * box) << "three boxes beside each other";
  EXPECT_EQ(ink("\U0001F9EA", 0, 400), box) << "an emoji";
  EXPECT_GE(width("日本語"), 3 * width("語"));
  EXPECT_LE(width("e\u0301mile"), width("emile") + 2) << "the mark takes no room";
  EXPECT_GT(ink("e\u0301mile", 0, 400), ink("emile", 0, 400)) << "and is there";
}

TEST(PngPicture, WordsOfAnyBytesStayWithinThePicture) {
  const std::string longest(1000, 'W');
  for (const std::string& text : {longest, std::string("\xff\xfe\x1b[2J\0", 7)}) {
    const DecodedPng png = Painted({"", 60, 20, {Words{{10, 14}, Words::Anchor::kStart, text}}});
    EXPECT_GT(InkWithin(png, 20, 0, 120, 40), 50);
    EXPECT_EQ(InkWithin(png, 114, 0, 120, 40), 0) << "it ends in …";
  }
}

TEST(PngPicture, WhatIsTooLargeIsRefused) {
  const base::Result<std::string> png = PngOf({"", 900, 1e6});
  ASSERT_FALSE(png.ok());
  EXPECT_EQ(png.error().code, base::Code::kInvalid);
  EXPECT_THAT(png.error().message, testing::HasSubstr("write .svg"));
}

}  // namespace
}  // namespace trainctl::client::drawn
