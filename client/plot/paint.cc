#include "client/plot/paint.h"

#include <freetype/freetype.h>
#include <freetype/ftoutln.h>
#include <freetype/ftstroke.h>
#include <ft2build.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "client/plot/carried_font.h"
#include "client/plot/dashes.h"
#include "client/show/escaping.h"
#include "common/base/check.h"
#include "common/base/utf8.h"

namespace trainctl::client::drawn {
namespace {

constexpr double kUnits = 64;          // of FreeType, in a pixel
constexpr int kTextPixels = 12;        // of the page
constexpr double kTextMargin = 4;      // between a text and the page's edge
constexpr size_t kPlacesAtOnce = 500;  // an outline has 32,767 points at most
constexpr FT_Int32 kOutlineOnly = FT_LOAD_NO_BITMAP | FT_LOAD_NO_HINTING;

FT_Pos UnitsOf(double pixels) { return std::lround(pixels * Paint::kScale * kUnits); }

void CheckFreeType(FT_Error error) { CHECK(error == 0) << "FreeType says " << error; }

std::u32string CodePointsOf(std::string text) {
  base::ReplaceInvalidUtf8(&text);
  std::u32string points;
  std::string_view rest = text;
  while (const std::optional<base::CodePoint> point = base::FirstCodePoint(rest)) {
    points += point->value;
    rest.remove_prefix(point->bytes);
  }
  return points;
}

// "#888", "#8884" or "#0072b2": red, green, blue and opacity.
std::array<uint8_t, 4> ParseColour(const std::string& text) {
  std::string digits;
  for (const char c : text.substr(1)) digits.append(text.size() <= 5 ? 2 : 1, c);
  if (digits.size() == 6) digits += "ff";
  const unsigned long value = std::stoul(digits, nullptr, 16);
  return {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16),
          static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
}

}  // namespace

// What FreeType's rasterizer is handed: rows count from below.
struct Paint::Ink {
  Paint* paint;
  std::array<uint8_t, 4> colour;

  static void OnSpans(int y, int count, const FT_Span* spans, void* user) {
    const Ink& ink = *static_cast<Ink*>(user);
    for (const FT_Span& span : std::span(spans, static_cast<size_t>(count))) {
      for (int i = 0; i < span.len; ++i) ink.Blend(span.x + i, y, span.coverage);
    }
  }

  void Blend(int x, int y, int coverage) const {
    const int row = paint->height_ - 1 - y;
    uint8_t* pixel =
        &paint->pixels_[3 * (static_cast<size_t>(row) * static_cast<size_t>(paint->width_) +
                             static_cast<size_t>(x))];
    const int opacity = coverage * colour[3];
    for (size_t i = 0; i < 3; ++i) {
      const int mixed = pixel[i] * (255 * 255 - opacity) + colour[i] * opacity;
      pixel[i] = static_cast<uint8_t>((mixed + 255 * 255 / 2) / (255 * 255));
    }
  }
};

Paint::Paint(double width, double height)
    : width_(kScale * static_cast<int>(std::ceil(width))),
      height_(kScale * static_cast<int>(std::ceil(height))),
      pixels_(3 * static_cast<size_t>(width_) * static_cast<size_t>(height_), 255) {
  CheckFreeType(FT_Init_FreeType(&library_));
  const std::span<const uint8_t> font = CarriedFont();
  CheckFreeType(FT_New_Memory_Face(library_, font.data(), static_cast<FT_Long>(font.size()),
                                   /*face_index=*/0, &face_));
  CheckFreeType(FT_Set_Pixel_Sizes(face_, 0, kTextPixels * kScale));
}

Paint::~Paint() { FT_Done_FreeType(library_); }

void Paint::Cover(FT_Outline_* outline, const std::string& colour) {
  Ink ink{this, ParseColour(colour)};
  FT_Raster_Params params{};
  params.flags = FT_RASTER_FLAG_AA | FT_RASTER_FLAG_DIRECT | FT_RASTER_FLAG_CLIP;
  params.gray_spans = &Ink::OnSpans;
  params.user = &ink;
  params.clip_box = {0, 0, width_, height_};
  CheckFreeType(FT_Outline_Render(library_, outline, &params));
}

FT_Vector_ Paint::VectorOf(Place place) const {
  return {UnitsOf(place.x), height_ * static_cast<FT_Pos>(kUnits) - UnitsOf(place.y)};
}

void Paint::Fill(std::span<const Place> polygon, const std::string& colour) {
  std::vector<FT_Vector> points;
  for (const Place& place : polygon) points.push_back(VectorOf(place));
  std::vector<char> tags(points.size(), FT_CURVE_TAG_ON);
  auto end = static_cast<short>(points.size() - 1);
  FT_Outline outline{};
  outline.n_contours = 1;
  outline.n_points = static_cast<short>(points.size());
  outline.points = points.data();
  outline.tags = tags.data();
  outline.contours = &end;
  Cover(&outline, colour);
}

// Each piece begins where the one before ends.
void Paint::Stroke(std::span<const Place> places, const Pen& pen) {
  if (pen.dashed) {
    Pen whole = pen;
    whole.dashed = false;
    for (const std::vector<Place>& dash : DashesOf(places)) Stroke(dash, whole);
    return;
  }
  for (size_t at = 0; at + 1 < places.size(); at += kPlacesAtOnce)
    StrokePiece(places.subspan(at, std::min(kPlacesAtOnce + 1, places.size() - at)), pen);
}

void Paint::StrokePiece(std::span<const Place> places, const Pen& pen) {
  FT_Stroker stroker = nullptr;
  CheckFreeType(FT_Stroker_New(library_, &stroker));
  const bool is_curve = pen.kind == Pen::Kind::kCurve;
  FT_Stroker_Set(stroker, UnitsOf(pen.width / 2),
                 is_curve ? FT_STROKER_LINECAP_ROUND : FT_STROKER_LINECAP_BUTT,
                 FT_STROKER_LINEJOIN_ROUND, /*miter_limit=*/0);
  FT_Vector at = VectorOf(places.front());
  CheckFreeType(FT_Stroker_BeginSubPath(stroker, &at, /*open=*/1));
  for (const Place& place : places.subspan(1)) {
    at = VectorOf(place);
    CheckFreeType(FT_Stroker_LineTo(stroker, &at));
  }
  CheckFreeType(FT_Stroker_EndSubPath(stroker));
  FT_UInt points = 0, contours = 0;
  CheckFreeType(FT_Stroker_GetCounts(stroker, &points, &contours));
  FT_Outline outline;
  CheckFreeType(FT_Outline_New(library_, points, static_cast<FT_Int>(contours), &outline));
  outline.n_points = outline.n_contours = 0;
  FT_Stroker_Export(stroker, &outline);
  Cover(&outline, pen.colour);
  FT_Outline_Done(library_, &outline);
  FT_Stroker_Done(stroker);
}

double Paint::WidthOf(const std::u32string& text) {
  double width = 0;
  for (const char32_t point : text) {
    CheckFreeType(FT_Load_Char(face_, point, kOutlineOnly));
    width += static_cast<double>(face_->glyph->advance.x);
  }
  return width / kUnits / kScale;
}

std::u32string Paint::Fitted(std::u32string text, double room) {
  if (WidthOf(text) <= room) return text;
  while (!text.empty() && WidthOf(text + U"…") > room) text.pop_back();
  return text + U"…";
}

void Paint::Write(const Words& words, const std::string& colour) {
  const double right = static_cast<double>(width_) / kScale - words.at.x;
  const double room = words.anchor == Words::Anchor::kStart ? right
                      : words.anchor == Words::Anchor::kEnd ? words.at.x
                                                            : 2 * std::min(words.at.x, right);
  const std::u32string text = Fitted(CodePointsOf(Escaped(words.text)), room - kTextMargin);
  const double width = WidthOf(text);
  Place at = words.at;
  if (words.anchor != Words::Anchor::kStart)
    at.x -= words.anchor == Words::Anchor::kEnd ? width : width / 2;
  FT_Vector origin = VectorOf(at);
  for (const char32_t point : text) {
    CheckFreeType(FT_Load_Char(face_, point, kOutlineOnly));
    const FT_GlyphSlot glyph = face_->glyph;
    FT_Outline_Translate(&glyph->outline, origin.x, origin.y);
    Cover(&glyph->outline, colour);
    origin.x += glyph->advance.x;
  }
}

}  // namespace trainctl::client::drawn
