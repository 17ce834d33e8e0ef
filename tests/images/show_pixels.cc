// What worker/rank/images makes of pictures, for a test that asks Pillow and transformers the same.
//
// usage: show_pixels SIDE FILE…    to stdout, of each file: SIDE·SIDE·3 bytes, then as many floats
#include <cstdio>
#include <cstdlib>
#include <string>

#include "worker/rank/images/decode.h"
#include "worker/rank/images/pixels.h"

int main(int argc, char** argv) {
  using namespace trainctl;
  if (argc < 3) return 2;
  const int64_t side = std::atoll(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const auto picture = images::DecodeFile({argv[i]});
    if (!picture) {
      std::fprintf(stderr, "%s\n", picture.error().message.c_str());
      return 1;
    }
    const images::Pixels pixels = images::PixelsOf(*picture, side);
    std::vector<float> normalized(pixels.size());
    images::Normalize(pixels, normalized);
    std::fwrite(pixels.data(), 1, pixels.size(), stdout);
    std::fwrite(normalized.data(), sizeof(float), normalized.size(), stdout);
  }
  return 0;
}
