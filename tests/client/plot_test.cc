#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "client/exit_code.h"
#include "client/plot/curve.h"
#include "client/plot/drawn_plot.h"
#include "client/plot/svg.h"
#include "client/plot/terminal_plot.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/show/output.h"
#include "tests/client/client_test.h"
#include "tests/client/decoded_png.h"
#include "tests/client/golden.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

Plot Falling(int steps) {
  Plot plot{.title = "training loss"};
  for (const char* name : {"full (j1)", "lora (j2)"}) {
    Curve& curve = plot.curves.emplace_back();
    curve.label = name;
    for (int step = 0; step < steps; ++step) {
      const double at = step, tempo = plot.curves.size() == 1 ? 10 : 30;
      curve.samples.push_back({at, 1 + 3 * std::exp(-at / tempo)});
    }
  }
  return plot;
}

TEST(Downsample, ASpikeOfOneSampleStays) {
  std::vector<Sample> samples;
  for (int i = 0; i < 1'000'000; ++i) samples.push_back({static_cast<double>(i), 1});
  samples[765'432].y = 99;
  samples[123'456].y = -5;
  const std::vector<Sample> kept =
      Downsample(samples, {.low = 0, .high = 999'999}, /*buckets=*/100);
  EXPECT_LE(kept.size(), 400u);
  const auto has = [&](double y) {
    return std::ranges::any_of(kept, [y](const Sample& sample) { return sample.y == y; });
  };
  EXPECT_TRUE(has(99));
  EXPECT_TRUE(has(-5));
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &Sample::x));
  EXPECT_EQ(kept.front().x, 0);
  EXPECT_EQ(kept.back().x, 999'999);
}

// What kitty's graphics are made of: the keys of the first piece, and the bytes of all.
struct SentPicture {
  std::map<std::string, std::string> keys;
  std::vector<uint8_t> pixels;
};

SentPicture PictureIn(const std::string& text) {
  SentPicture sent;
  std::string payload;
  for (size_t at = 0; (at = text.find("\x1b_G", at)) != std::string::npos;) {
    const size_t end = text.find("\x1b\\", at), semicolon = text.find(';', at);
    std::istringstream keys(text.substr(at + 3, semicolon - at - 3));
    for (std::string key; std::getline(keys, key, ',');)
      sent.keys.emplace(key.substr(0, 1), key.substr(2));
    payload += text.substr(semicolon + 1, end - semicolon - 1);
    at = end;
  }
  std::string bytes;
  uint32_t value = 0;
  int bits = 0;
  for (const char c : payload.substr(0, payload.find('='))) {
    static const std::string kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    value = value << 6 | static_cast<uint32_t>(kDigits.find(c));
    if ((bits += 6) >= 8) bytes += static_cast<char>(value >> (bits -= 8) & 255);
  }
  uLongf size = 4 * std::stoul(sent.keys["s"]) * std::stoul(sent.keys["v"]);
  sent.pixels.resize(size);
  EXPECT_EQ(::uncompress(sent.pixels.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                         bytes.size()),
            Z_OK);
  EXPECT_EQ(size, sent.pixels.size());
  return sent;
}

// What a terminal makes of sixels: pixels by column and row; those that nothing was drawn on are
// absent.
struct SixelScreen {
  std::map<std::pair<int, int>, std::vector<int>> pixels;  // colours in percent
  std::string declared;                                    // "1;1;910;400"
};

SixelScreen SixelsIn(const std::string& text) {
  const std::string start = "\x1bP0;1;0q\"";
  SixelScreen screen;
  std::map<int, std::vector<int>> palette;
  size_t at = text.find(start);
  EXPECT_NE(at, std::string::npos);
  at += start.size();
  const auto number = [&] {
    int value = 0;
    while (text[at] >= '0' && text[at] <= '9') value = 10 * value + (text[at++] - '0');
    return value;
  };
  while (text[at] != '#') screen.declared += text[at++];
  int x = 0, y = 0, colour = -1, times = 1;
  while (text[at] != '\x1b') {
    const char c = text[at++];
    if (c == '#') {
      colour = number();
      std::vector<int> parts;
      while (text[at] == ';') ++at, parts.push_back(number());
      if (!parts.empty()) {
        EXPECT_EQ(parts.size(), 4u);
        EXPECT_EQ(parts[0], 2) << "red, green, blue";
        palette[colour] = {parts.begin() + 1, parts.end()};
      }
    } else if (c == '!') {
      times = number();
    } else if (c == '$') {
      x = 0;
    } else if (c == '-') {
      x = 0, y += 6;
    } else {
      EXPECT_TRUE(c >= '?' && c <= '~') << c;
      for (; times > 0; --times, ++x) {
        for (int bit = 0; bit < 6; ++bit) {
          if ((c - '?') >> bit & 1) screen.pixels[{x, y + bit}] = palette.at(colour);
        }
      }
      times = 1;
    }
  }
  EXPECT_EQ(text.substr(at, 2), "\x1b\\");
  return screen;
}

// Kitty's picture of the same size is what it must be, pixel by pixel.
TEST(TerminalPlot, SixelsAreThePixelsOfThePicture) {
  const TerminalPlotOptions kitty{
      .width = 100, .height = 20, .colour = true, .graphics = Graphics::kKitty};
  TerminalPlotOptions sixel = kitty;
  sixel.graphics = Graphics::kSixel;
  std::ostringstream as_kitty, as_sixel;
  EscapingStream(&as_kitty, EscapingBuffer::Kind::kOwn) << TerminalPlot(Falling(100), kitty);
  EscapingStream(&as_sixel, EscapingBuffer::Kind::kOwn) << TerminalPlot(Falling(100), sixel);
  const SentPicture sent = PictureIn(as_kitty.str());
  const SixelScreen screen = SixelsIn(as_sixel.str());
  const int width = std::stoi(sent.keys.at("s")), height = std::stoi(sent.keys.at("v"));
  EXPECT_EQ(screen.declared, "1;1;" + sent.keys.at("s") + ";" + sent.keys.at("v"));
  size_t drawn = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const uint8_t* pixel = &sent.pixels[4 * static_cast<size_t>(y * width + x)];
      if (pixel[3] == 0) continue;
      ++drawn;
      const auto found = screen.pixels.find({x, y});
      ASSERT_NE(found, screen.pixels.end()) << x << " " << y;
      for (size_t i = 0; i < 3; ++i) ASSERT_NEAR(found->second[i] * 2.55, pixel[i], 1.5);
    }
  }
  EXPECT_GT(drawn, 1000u);
  EXPECT_EQ(screen.pixels.size(), drawn) << "the rest is the terminal's own ground";
  EXPECT_NE(as_sixel.str().find("\x1b"
                                "7\x1bP"),
            std::string::npos)
      << "the cursor is kept";
  EXPECT_LT(as_sixel.str().size(), 60'000u) << "for slow lines";
}

TEST(TerminalPlot, SixelsAreAsLargeAsTheTerminalsCharacters) {
  const std::string text = TerminalPlot(Falling(100), {.width = 100,
                                                       .height = 20,
                                                       .graphics = Graphics::kSixel,
                                                       .cell_width = 7,
                                                       .cell_height = 15});
  std::ostringstream terminal;
  EscapingStream(&terminal, EscapingBuffer::Kind::kOwn) << text;
  const SixelScreen screen = SixelsIn(terminal.str());
  EXPECT_TRUE(screen.declared.ends_with(";300")) << screen.declared;
}

TEST(TerminalPlot, WherePicturesAreShownCurvesArePixels) {
  std::ostringstream terminal;
  const Plot plot = Falling(100);
  EscapingStream(&terminal, EscapingBuffer::Kind::kOwn) << TerminalPlot(
      plot, {.width = 100, .height = 20, .colour = true, .graphics = Graphics::kKitty});
  const SentPicture sent = PictureIn(terminal.str());
  EXPECT_EQ(sent.keys.at("r"), "20");
  EXPECT_EQ(sent.keys.at("C"), "1") << "the cursor stays";
  EXPECT_EQ(std::stoi(sent.keys.at("c")) * 10, std::stoi(sent.keys.at("s")));
  const size_t width = std::stoul(sent.keys.at("s"));
  const auto pixel = [&](size_t x, size_t y) {
    const uint8_t* at = &sent.pixels[4 * (y * width + x)];
    return std::vector<int>(at, at + 4);
  };
  EXPECT_EQ(pixel(width - 1, 0)[3], 0) << "the upper right is the terminal's own ground";
  EXPECT_EQ(pixel(5, 10), (std::vector<int>{0xd5, 0x5e, 0x00, 255}))
      << "both begin at 4, labelled in the middle of this line";
  int blue = 0;
  for (size_t y = 0; y < 400; ++y)
    blue += pixel(width / 4, y) == std::vector<int>{0, 0x72, 0xb2, 255};
  EXPECT_GE(blue, 3) << "the first curve passes here";
  EXPECT_NE(terminal.str().find("\x1b[38;2;0;114;178m━━\x1b[0m full (j1)"), std::string::npos);
  EXPECT_EQ(terminal.str().find("⣀"), std::string::npos);
  EXPECT_LT(terminal.str().size(), 40'000u) << "for slow lines";
}

TEST(TerminalPlot, APictureGoesThroughPieceByPiece) {
  std::ostringstream whole, bytewise;
  const std::string text = TerminalPlot(
      Falling(100), {.width = 100, .height = 20, .colour = true, .graphics = Graphics::kKitty});
  EscapingStream(&whole, EscapingBuffer::Kind::kOwn) << text;
  {
    EscapingStream stream(&bytewise, EscapingBuffer::Kind::kOwn);
    for (const char byte : text) stream << byte;
  }
  EXPECT_EQ(whole.str(), bytewise.str());
  EXPECT_EQ(whole.str().find("\uFFFD"), std::string::npos);
  EXPECT_EQ(Escaped("\xff_Ga=T,t=f;L2V0Yy9wYXNzd2Q=\xff\\").find('\x1b'), std::string::npos)
      << "a file that the terminal would read";
}

TEST(Axis, TicksAreRoundNumbersAndYEndsOnThem) {
  Plot plot{.curves = {{"a", {{0, 0.83}, {97, 4.1}}}}};
  EXPECT_EQ(AxisOfY(plot, 5).ticks, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(AxisOfX(plot, 5).ticks, (std::vector<double>{19, 39, 59, 79}));
  plot.unit = "bytes";
  plot.curves[0].samples = {{0, 0}, {1, 3.5 * (1 << 30)}};
  EXPECT_EQ(TickOfY(plot, AxisOfY(plot, 5).ticks[1]), "1.00 GiB");
  plot.over_time = true;
  plot.curves[0].samples = {{0, 1}, {3000, 2}};
  EXPECT_EQ(TickOfX(plot, AxisOfX(plot, 6).ticks[1]), "10:00");
}

TEST(Axis, TicksHaveDistinctLabels) {
  const auto labels = [](double low, double high, const char* unit, bool log = false) {
    const Plot plot{.unit = unit, .log = log, .curves = {{"a", {{0, low}, {1, high}}}}};
    return TicksOfY(plot, AxisOfY(plot, 5));
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(labels(1, 3, ""), (Texts{"1", "1.5", "2", "2.5", "3"}));
  EXPECT_EQ(labels(2.00001, 2.00005, ""),
            (Texts{"2.00001", "2.00002", "2.00003", "2.00004", "2.00005"}));
  EXPECT_EQ(labels(1234.1, 1234.3, ""),
            (Texts{"1234.10", "1234.15", "1234.20", "1234.25", "1234.30"}));
  EXPECT_EQ(labels(0.0101, 0.0103, "s"),
            (Texts{"10.10 ms", "10.15 ms", "10.20 ms", "10.25 ms", "10.30 ms"}));
  EXPECT_EQ(labels(3600.5, 3602.5, "s").size(), 5u);
  const double gib = 1 << 30;
  EXPECT_EQ(labels(gib, gib * 1.004, "bytes").front(), "1.000 GiB");
  for (const bool log : {false, true}) {
    const Texts texts = labels(0.0001, 0.0003, "s", log);
    EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size());
  }
}

TEST(Axis, ALogarithmicOneHasPowersAndWhatIsBetween) {
  const Plot plot{.log = true, .curves = {{"a", {{0, 0.3}, {1, 40}, {2, 0}, {3, -1}}}}};
  const Axis axis = AxisOfY(plot, 10);
  EXPECT_EQ(axis.low, 0.2);
  EXPECT_EQ(axis.high, 50);
  EXPECT_EQ(axis.ticks.size(), 8u);
  EXPECT_NEAR(axis.Place(std::sqrt(0.2 * 50)), 0.5, 1e-9);
}

// As status, describe and logs do; points are numbered from 0.
TEST(Axis, OfStepsCountsThoseThatAreDone) {
  const Plot plot{.curves = {{.label = "a", .samples = {{0, 2}}, .not_finite = {{7, NAN}}}}};
  const Axis x = AxisOfX(plot, 10);
  EXPECT_EQ(x.low, 0);
  EXPECT_EQ(TickOfX(plot, x.low), "1") << "the first point is there when one step is done";
  EXPECT_EQ(TickOfX(plot, x.ticks.back()), "8");
  EXPECT_EQ(EndText(plot, plot.curves[0]), "nan from step 8");
}

TEST(Axis, OfOneValueHasRoomAroundIt) {
  const Plot plot{.curves = {{"a", {{7, 2}}}}};
  const Axis y = AxisOfY(plot, 4), x = AxisOfX(plot, 4);
  EXPECT_LT(y.low, 2);
  EXPECT_GT(y.high, 2);
  EXPECT_LT(x.low, x.high);
}

TEST(TerminalPlot, InBraille) {
  Plot plot = Falling(100);
  plot.curves.resize(1);
  ExpectGolden("plot.txt", TerminalPlot(plot, {.width = 60, .height = 10}));
}

TEST(TerminalPlot, InAsciiCurvesAreLetters) {
  const std::string text =
      TerminalPlot(Falling(100), {.width = 60, .height = 10, .unicode = false});
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << text;
  ExpectGolden("plot-ascii.txt", text);
}

TEST(TerminalPlot, ColoursDoNotCountAsWidth) {
  const TerminalPlotOptions plain{.width = 60, .height = 6}, colour{60, 6, true};
  Plot plot = Falling(100);
  plot.curves.resize(1);
  std::string text = TerminalPlot(plot, colour);
  EXPECT_NE(text.find("\xff[32m"), std::string::npos);
  for (const char* code : {"\xff[32m", "\xff[0m"}) {
    for (size_t at = text.find(code); at != std::string::npos; at = text.find(code))
      text.erase(at, std::string(code).size());
  }
  EXPECT_EQ(text, TerminalPlot(plot, plain));
}

TEST(SvgPlot, IsOneElementWhoseTextsAreEscaped) {
  Plot plot = Falling(100);
  plot.curves[0].label = "<script>alert(1)</script> & \"x\" \x1b[2J";
  const std::string svg = drawn::SvgOf(drawn::DrawingOf(plot));
  EXPECT_EQ(svg.find("<svg xmlns="), 0u);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot; \\u001b[2J"),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("<polyline class=\"c\" stroke=\"#0072b2\" points=\"90.0,"), std::string::npos);
  EXPECT_EQ(svg.find("http", svg.find("2000/svg")), std::string::npos) << "nothing is loaded";
}

TEST(SvgPlot, ACurveOfOnePointIsADot) {
  const std::string dot = "r=\"3.0\" fill=\"#0072b2\"/>";
  Plot plot{.curves = {{.label = "a", .samples = {{7, 2}}, .not_finite = {}}}};
  EXPECT_NE(drawn::SvgOf(drawn::DrawingOf(plot)).find(dot), std::string::npos);
  plot.curves[0].samples.push_back({8, 1});
  EXPECT_EQ(drawn::SvgOf(drawn::DrawingOf(plot)).find("<circle"), std::string::npos);
}

v1::MetricPoint CurvePoint(const std::string& name, int64_t step, double value, int64_t rank = -1,
                           const std::string& phase = "") {
  v1::MetricPoint point;
  point.set_name(name);
  point.set_step(step);
  point.set_value(value);
  point.set_time(950'000'000 + 2'000'000 * step);
  if (rank >= 0) point.set_rank(rank);
  point.set_phase(phase);
  return point;
}

class PlotTest : public ClientTest {
 protected:
  PlotTest() {
    coordinator_.jobs = {RunningJob("j1", "full"), FinishedJob("j2", "lora", "SUCCEEDED")};
    coordinator_.job_points["j1"] = {CurvePoint("loss", 0, 4), CurvePoint("loss", 1, NAN),
                                     CurvePoint("loss", 2, 2), CurvePoint("val_loss", 1, 3)};
    coordinator_.job_points["j2"] = {CurvePoint("loss", 0, 5), CurvePoint("loss", 1, 3)};
    const char* name = "memory_allocated_bytes";
    for (const int64_t rank : {0, 1}) {
      for (const int64_t step : {0, 1}) {
        coordinator_.job_points["j1"].push_back(CurvePoint(
            name, step, 100.0 * static_cast<double>(rank + step), rank, "after_forward"));
      }
      for (const int64_t step : {0, 1}) {
        coordinator_.job_points["j1"].push_back(CurvePoint(name, step, 50, rank, "before_forward"));
      }
    }
  }

  Json Curves(std::vector<std::string> words) {
    words.insert(words.begin(), "plot");
    words.insert(words.end(), {"-o", "json"});
    const Ended ended = Trainctl(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return Json::parse(ended.out);
  }
};

TEST_F(PlotTest, SeveralJobsAreOverlaid) {
  const Json json = Curves({"full", "lora"});
  EXPECT_EQ(json["title"], "training loss");
  EXPECT_EQ(json["curves"][0], (Json{{"label", "full (j1)"},
                                     {"points", Json::parse("[[0.0, 4.0], [2.0, 2.0]]")},
                                     {"not_finite", Json::parse("[1.0]")}}));
  EXPECT_EQ(json["curves"][1]["label"], "lora (j2)");
  EXPECT_NE(Trainctl({"plot", "full", "lora"}).out.find("a full (j1): 2 at the end"),
            std::string::npos);
}

TEST_F(PlotTest, AFileHasThePictureAndIsNotReplacedUnasked) {
  ScratchFolder folder;
  const std::string file = folder / "loss.svg";
  const Ended ended = Trainctl({"plot", "j1", "-o", file});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(folder.Read("loss.svg"), Trainctl({"plot", "j1", "-o", "svg"}).out);
  ExpectGolden("plot.svg", folder.Read("loss.svg"));
  EXPECT_EQ(Trainctl({"plot", "j1", "-o", file}).code, kExitFailure);
  EXPECT_EQ(Trainctl({"plot", "j1", "-o", file, "--overwrite"}).code, 0);
  EXPECT_EQ(Trainctl({"plot", "j1", "-o", "loss.gif"}).code, kExitUsage);
}

TEST_F(PlotTest, APngIsDrawnWithoutAnyOtherProgram) {
  ScratchFolder folder;
  const Ended ended = Trainctl({"plot", "j1", "-o", folder / "loss.png"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const DecodedPng png = DecodePng(folder.Read("loss.png"));
  EXPECT_EQ(png.width, 1800u) << "two pixels for each of the SVG's";
  EXPECT_EQ(png.height, 864u);
  EXPECT_EQ(Trainctl({"plot", "j1", "-o", folder / "loss.png"}).code, kExitFailure);
}

TEST_F(PlotTest, WhatDivergedIsSaidAndAsLongAsItsRun) {
  coordinator_.job_points["j2"] = {CurvePoint("loss", 0, 5), CurvePoint("loss", 1, NAN),
                                   CurvePoint("loss", 40, NAN)};
  const std::string text = Trainctl({"plot", "full", "lora"}).out;
  EXPECT_NE(text.find("full (j1): 2 at the end, no number at 1 point\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("lora (j2): nan from step 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 40\n"), std::string::npos) << "the axis goes on to the last step\n" << text;
  EXPECT_NE(Trainctl({"plot", "lora", "-o", "svg"}).out.find("nan from step 2"), std::string::npos);
  EXPECT_NE(Trainctl({"plot", "lora", "--time"}).out.find("nan from 0:02"), std::string::npos);
}

TEST_F(PlotTest, ARankThatIsNotThereIsSaid) {
  const Ended ended = Trainctl({"plot", "full", "--rank", "7"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_TRUE(ended.err.find("full (j1) has no rank 7: it has ") != std::string::npos) << ended.err;
  const Ended one_of_two = Trainctl({"plot", "full", "lora", "--rank", "1", "--metric", "loss"});
  EXPECT_EQ(one_of_two.code, 0) << one_of_two.err;
}

TEST_F(PlotTest, AJobThatIsNamedTwiceStandsOnce) {
  const Ended ended = Trainctl({"plot", "full", "j1", "-o", "json"});
  EXPECT_EQ(ended.err, "note: full (j1) is named more than once, and stands once\n");
  EXPECT_EQ(Json::parse(ended.out)["curves"].size(), 1u);
}

TEST_F(PlotTest, AHeightThatShowsNothingIsRefused) {
  const Ended ended = Trainctl({"plot", "full", "--height", "1"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_EQ(
      ended.err,
      "trainctl: --height 1: expected a whole number from 4 to 200; see: trainctl plot --help\n");
}

TEST_F(PlotTest, AHeightThatNoTerminalHasIsRefused) {
  const Ended ended = Trainctl({"plot", "full", "--height", "100000"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("expected a whole number from 4 to 200"), std::string::npos)
      << ended.err;
}

TEST_F(PlotTest, MetricsOfOneUnitAreDrawnTogetherOverTime) {
  const Json json = Curves({"full", "--metric", "loss,val_loss", "--time"});
  EXPECT_EQ(json["x"], "seconds");
  EXPECT_EQ(json["curves"][0]["points"][1], Json::parse("[4.0, 2.0]"));
  EXPECT_EQ(json["curves"][1]["label"], "full (j1), val_loss");
  EXPECT_EQ(Trainctl({"plot", "full", "--metric", "loss,step_seconds"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"plot", "full", "--metric", "los"}).code, kExitUsage);
}

TEST_F(PlotTest, EachRankHasACurveOfTheLargestPhase) {
  const Json json = Curves({"full", "--metric", "memory_allocated_bytes"});
  ASSERT_EQ(json["curves"].size(), 2u);
  EXPECT_EQ(json["curves"][0]["label"], "full (j1), rank 0");
  EXPECT_EQ(json["curves"][0]["points"], Json::parse("[[0.0, 50.0], [1.0, 100.0]]"));
  EXPECT_EQ(json["curves"][1]["points"], Json::parse("[[0.0, 100.0], [1.0, 200.0]]"));
  EXPECT_EQ(Curves({"full", "--metric", "memory_allocated_bytes", "--rank", "1"})["curves"].size(),
            1u);
}

TEST_F(PlotTest, AJobWithoutPointsIsNotedAndNothingAtAllIsNotFound) {
  const Ended one = Trainctl({"plot", "full", "lora", "--metric", "val_loss"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.err, "note: lora (j2) has no points of validation loss\n");
  EXPECT_EQ(Trainctl({"plot", "lora", "--metric", "val_loss"}).code, kExitNotFound);
}

TEST_F(PlotTest, IsAsWideAsTheTerminalAndAPictureToo) {
  SetTerminal(50);
  std::istringstream lines(Trainctl({"plot", "full"}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 50) << line;
  EXPECT_EQ(Trainctl({"plot", "full", "-o", "svg"}).out.find("<svg "), 0u);
  EXPECT_EQ(Trainctl({"plot", "full", "-o", "png"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"plot", "full", "--log", "--ascii"}).code, 0);
}

}  // namespace
}  // namespace trainctl::client
