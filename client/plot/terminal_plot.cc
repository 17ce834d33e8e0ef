#include "client/plot/terminal_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "client/plot/dots_of_line.h"
#include "client/plot/drawing.h"
#include "client/plot/kitty_picture.h"
#include "client/plot/raster.h"
#include "client/plot/sixel_picture.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/show/text_table.h"

namespace trainctl::client {
namespace {

constexpr int kNarrowest = 40;
constexpr int kColumnsATick = 16, kLinesATick = 4;

constexpr Style kStyles[] = {Style::kGood,   Style::kWarning, Style::kBad,
                             Style::kStrong, Style::kPlain,   Style::kFaint};

Style StyleOf(size_t curve) { return kStyles[curve % std::size(kStyles)]; }

// "a" … "z", then again.
char LetterOf(size_t curve) { return static_cast<char>('a' + curve % 26); }

// In pictures.
Rgb ColourOfCurve(size_t curve) { return ParseRgb(drawn::ColourOf(curve)); }

std::string InColourOfCurve(const std::string& text, size_t curve) {
  const Rgb rgb = ColourOfCurve(curve);
  std::string styled(1, kOwnEscape);
  styled += "[38;2;" + std::to_string(rgb[0]) + ";" + std::to_string(rgb[1]) + ";" +
            std::to_string(rgb[2]) + "m" + text;
  return styled + kOwnEscape + "[0m";
}

// How a point of a curve is shown.
struct Look {
  bool picture = false;
  bool braille = false;
  bool letters = false;
  bool colour = false;
};

// Characters of 2 × 4 dots in Braille, else of one.
class Canvas {
 public:
  Canvas(int width, int height, Look look)
      : width_(width),
        height_(height),
        look_(look),
        cells_(static_cast<size_t>(width) * static_cast<size_t>(height)) {}

  int dots_across() const { return width_ * (look_.braille ? 2 : 1); }
  int dots_down() const { return height_ * (look_.braille ? 4 : 1); }

  // Dots are counted from the upper left.
  void Line(int x, int y, int to_x, int to_y, size_t curve) {
    DotsOfLine(x, y, to_x, to_y, [&](int dot_x, int dot_y) { Dot(dot_x, dot_y, curve); });
  }

  std::string Row(int row) const {
    std::string text, run;
    size_t curve = 0;
    const auto flush = [&] {
      text += Styled(run, StyleOf(curve), look_.colour && run != " ");
      run.clear();
    };
    for (int column = 0; column < width_; ++column) {
      const Cell& cell = cells_[Place(column, row)];
      const std::string character = Character(cell);
      if (cell.dots == 0 || cell.curve != curve) flush();
      curve = cell.curve;
      run += character;
      if (cell.dots == 0) flush();
    }
    flush();
    return text;
  }

 private:
  struct Cell {
    uint8_t dots = 0;  // as Unicode numbers those of a Braille character
    size_t curve = 0;  // that was drawn last
  };

  size_t Place(int column, int row) const {
    return static_cast<size_t>(row) * static_cast<size_t>(width_) + static_cast<size_t>(column);
  }

  void Dot(int x, int y, size_t curve) {
    static constexpr uint8_t kBits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    const int column = look_.braille ? x / 2 : x, row = look_.braille ? y / 4 : y;
    if (column < 0 || column >= width_ || row < 0 || row >= height_) return;
    Cell& cell = cells_[Place(column, row)];
    cell.dots = static_cast<uint8_t>(cell.dots | (look_.braille ? kBits[y % 4][x % 2] : 1));
    cell.curve = curve;
  }

  std::string Character(const Cell& cell) const {
    if (cell.dots == 0) return " ";
    if (look_.letters) return std::string(1, LetterOf(cell.curve));
    if (!look_.braille) return "*";
    const unsigned code = 0x2800u + cell.dots;
    return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
  }

  const int width_, height_;
  const Look look_;
  std::vector<Cell> cells_;
};

// The same of pixels. Ticks are labelled at the middle of characters: so are the curves' ends.
class Picture {
 public:
  Picture(int width, int height, const TerminalPlotOptions& options)
      : cell_width_(options.cell_width),
        cell_height_(options.cell_height),
        raster_(width * cell_width_, height * cell_height_) {}

  int dots_across() const { return raster_.width() - cell_width_; }
  int dots_down() const { return raster_.height() - cell_height_; }
  void Line(int x, int y, int to_x, int to_y, size_t curve) {
    const int right = cell_width_ / 2, down = cell_height_ / 2;
    raster_.Line(x + right, y + down, to_x + right, to_y + down, ColourOfCurve(curve));
  }
  const Raster& raster() const { return raster_; }

 private:
  const int cell_width_, cell_height_;
  Raster raster_;
};

template <class Surface>
void Draw(const Plot& plot, const Axis& x, const Axis& y, Surface* canvas) {
  const int right = canvas->dots_across() - 1, bottom = canvas->dots_down() - 1;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    int last_x = -1, last_y = 0;
    const std::vector<Sample> samples =
        Downsample(plot.curves[i].samples, x, static_cast<size_t>(right) + 1);
    for (const Sample& sample : samples) {
      if (plot.log && sample.y <= 0) continue;
      const int dot_x = static_cast<int>(std::lround(x.Place(sample.x) * right));
      const int dot_y = static_cast<int>(std::lround((1 - y.Place(sample.y)) * bottom));
      if (last_x < 0) last_x = dot_x, last_y = dot_y;
      canvas->Line(last_x, last_y, dot_x, dot_y, i);
      last_x = dot_x, last_y = dot_y;
    }
  }
}

std::string RightAligned(const std::string& text, int width) {
  return std::string(static_cast<size_t>(std::max(0, width - DisplayWidth(text))), ' ') + text;
}

// Labels under their ticks; one that would meet the one before is left out.
std::string TicksText(const Plot& plot, const Axis& x, int gutter, int width) {
  std::string text(static_cast<size_t>(gutter), ' ');
  for (const double tick : x.ticks) {
    const std::string label = TickOfX(plot, tick);
    const int at = gutter + static_cast<int>(std::lround(x.Place(tick) * (width - 1)));
    const int begin = std::clamp(at - DisplayWidth(label) / 2, 0,
                                 std::max(0, gutter + width - DisplayWidth(label)));
    const int used = DisplayWidth(text);
    if (begin < used && used > gutter) continue;
    text += RightAligned("", begin - used) + label + " ";
  }
  return text.erase(text.find_last_not_of(' ') + 1) + "\n";
}

std::string Legend(const Plot& plot, const Look& look, int width) {
  std::string text;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    const std::string mark = look.letters ? std::string(1, LetterOf(i)) : look.braille ? "⣀⣀" : "*";
    const std::string end = EndText(plot, curve), last = (end.empty() ? "" : ": ") + end;
    text += "  " +
            (look.picture ? InColourOfCurve("━━", i) : Styled(mark, StyleOf(i), look.colour)) +
            " " + Truncate(Escaped(curve.label), width - 8 - DisplayWidth(last)) + last + "\n";
  }
  return text;
}

std::string Move(int by, char direction) {
  return std::string(1, kOwnEscape) + "[" + std::to_string(by) + direction;
}

// Sixels leave the cursor where the terminal likes: it is kept, and taken back.
std::string Sent(const Raster& raster, int columns, int rows, Graphics graphics) {
  if (graphics == Graphics::kKitty) return KittyPicture(raster, columns, rows);
  const std::string escape(1, kOwnEscape);
  return escape + "7" + SixelPicture(raster) + escape + "8";
}

// The cursor stands below the axis, and comes back there.
std::string PictureAbove(const Plot& plot, const Axis& x, const Axis& y, int gutter, int width,
                         int height, const TerminalPlotOptions& options) {
  Picture picture(width, height, options);
  Draw(plot, x, y, &picture);
  return Move(height + 1, 'A') + Move(gutter, 'C') +
         Sent(picture.raster(), width, height, options.graphics) + Move(height + 1, 'B') +
         kOwnEscape + "\r";
}

}  // namespace

std::string TerminalPlot(const Plot& plot, const TerminalPlotOptions& options) {
  const bool is_picture = options.graphics != Graphics::kCharacters;
  const bool letters = plot.curves.size() > 1 && !options.colour && !is_picture;
  const Look look{.picture = is_picture,
                  .braille = options.unicode && !letters,
                  .letters = letters || (plot.curves.size() > 1 && !options.unicode),
                  .colour = options.colour};
  const int height = std::max(kLowestPlot, options.height);
  const Axis y = AxisOfY(plot, std::max(2, height / kLinesATick));
  const std::vector<std::string> ticks = TicksOfY(plot, y);
  int label_width = 0;
  for (const std::string& tick : ticks) label_width = std::max(label_width, DisplayWidth(tick));
  const int gutter = label_width + 2;
  const int width = std::max(kNarrowest, options.width) - gutter;
  const Axis x = AxisOfX(plot, std::max(2, width / kColumnsATick));
  Canvas canvas(width, height, look);
  if (!is_picture) Draw(plot, x, y, &canvas);
  std::vector<std::string> labels(static_cast<size_t>(height));
  for (size_t i = 0; i < ticks.size(); ++i) {
    const auto row = static_cast<size_t>(std::lround((1 - y.Place(y.ticks[i])) * (height - 1)));
    labels[row] = ticks[i];
  }
  std::string text = Escaped(plot.title) + "\n";
  for (int row = 0; row < height; ++row) {
    const std::string& label = labels[static_cast<size_t>(row)];
    const char* line =
        options.unicode ? (label.empty() ? " │" : " ┤") : (label.empty() ? " |" : " +");
    text += RightAligned(label, label_width) + line + canvas.Row(row);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  text += RightAligned("", label_width) + (options.unicode ? " └" : " +");
  for (int i = 0; i < width; ++i) text += options.unicode ? "─" : "-";
  text += "\n";
  if (is_picture) text += PictureAbove(plot, x, y, gutter, width, height, options);
  return text + TicksText(plot, x, gutter, width) + Legend(plot, look, options.width);
}

}  // namespace trainctl::client
