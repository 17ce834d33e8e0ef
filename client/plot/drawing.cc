#include "client/plot/drawing.h"

namespace trainctl::client::drawn {
namespace {

// Okabe and Ito's palette.
constexpr const char* kPalette[kColours] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                            "#e69f00", "#56b4e9", "#999999"};
constexpr double kCurveWidth = 1.6;

}  // namespace

const char* ColourOf(size_t n) { return kPalette[n % kColours]; }

Pen CurvePen(size_t n) { return {Pen::Kind::kCurve, ColourOf(n), kCurveWidth, n >= kColours}; }

}  // namespace trainctl::client::drawn
