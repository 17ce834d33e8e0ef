// Pixels that FreeType paints: strokes and fills with smooth edges, and texts in the font that the
// program carries. Pure. Places are those of a page, of which each pixel is kScale² of the paint's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/plot/drawing.h"

struct FT_LibraryRec_;
struct FT_FaceRec_;
struct FT_Outline_;
struct FT_Vector_;

namespace trainctl::client::drawn {

class Paint {
 public:
  static constexpr int kScale = 2;

  // On a white ground.
  Paint(double width, double height);
  Paint(const Paint&) = delete;
  ~Paint();

  void Fill(std::span<const Place> polygon, const std::string& colour);
  void Stroke(std::span<const Place> places, const Pen& pen);
  // In one line; what the page has no room for ends in "…". Nothing is shaped: of scripts that
  // join their letters or run from the right, each letter stands alone.
  void Write(const Words& words, const std::string& colour);

  // In pixels of the paint.
  int width() const { return width_; }
  int height() const { return height_; }
  // Three bytes each, row by row: red, green, blue.
  const std::vector<uint8_t>& pixels() const { return pixels_; }

 private:
  struct Ink;

  FT_Vector_ VectorOf(Place place) const;
  void StrokePiece(std::span<const Place> places, const Pen& pen);
  void Cover(FT_Outline_* outline, const std::string& colour);
  double WidthOf(const std::u32string& text);
  std::u32string Fitted(std::u32string text, double room);

  int width_, height_;
  std::vector<uint8_t> pixels_;
  FT_LibraryRec_* library_ = nullptr;
  FT_FaceRec_* face_ = nullptr;
};

}  // namespace trainctl::client::drawn
