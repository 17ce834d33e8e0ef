// Damaged pictures are errors with a message, or pictures: never crashes (the sanitizers watch).
#include <gtest/gtest.h>

#include "tests/files/mutate.h"
#include "tests/images/sample_pictures.h"
#include "worker/rank/images/decode.h"

namespace trainctl::images {
namespace {

TEST(Malformed, DamagedPicturesAreRefusedOrRead) {
  constexpr int kRounds = 60;
  std::mt19937_64 random(6);
  int refused = 0, read = 0;
  for (const auto& [name, expected] : Samples()) {
    const std::string whole = SampleBytes(name);
    for (int round = 0; round < kRounds; ++round) {
      const std::string damaged = Mutate(whole, &random);
      const auto picture = Decode(std::as_bytes(std::span(damaged)));
      if (picture.ok()) {
        ++read;
        EXPECT_EQ(std::ssize(picture->rgb), picture->width * picture->height * 3);
      } else {
        ++refused;
        EXPECT_FALSE(picture.error().message.empty());
      }
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(read, 50);
}

TEST(Malformed, ABeginningOfAPictureIsRefused) {
  for (const char* name : {"ycc_444.jpg", "rgb.png", "interlaced.png", "lossless.webp"}) {
    const std::string whole = SampleBytes(name);
    for (size_t bytes = 0; bytes + 20 < whole.size(); ++bytes) {
      const auto picture = Decode(std::as_bytes(std::span(whole).first(bytes)));
      EXPECT_FALSE(picture.ok()) << name << " cut after " << bytes;
    }
  }
}

}  // namespace
}  // namespace trainctl::images
