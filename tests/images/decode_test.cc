#include "worker/rank/images/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/images/sample_pictures.h"
#include "worker/rank/images/pixels.h"
#include "worker/rank/images/resize.h"

namespace trainctl::images {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Decode, EveryKindIsWhatPillowMakesOfItToTheLastBit) {
  for (const auto& [name, expected] : Samples()) {
    SCOPED_TRACE(name);
    if (!expected.refused.empty() || !CanRead(name)) continue;
    const auto picture = DecodeFile({SamplePath(name)});
    ASSERT_TRUE(picture.ok()) << picture.error().message;
    EXPECT_EQ(picture->width, expected.width);
    EXPECT_EQ(picture->height, expected.height);
    EXPECT_EQ(Fnv1a(picture->rgb), expected.rgb);
    EXPECT_EQ(Fnv1a(PixelsOf(*picture, 224)), expected.pixels);
  }
}

TEST(Decode, WhatIsNotTakenIsRefusedWithPathAndReason) {
  int refused = 0;
  for (const auto& [name, expected] : Samples()) {
    if (expected.refused.empty() || !CanRead(name)) continue;
    const auto picture = DecodeFile({SamplePath(name)});
    ASSERT_FALSE(picture.ok()) << name;
    EXPECT_EQ(picture.error().code, base::Code::kInvalid);
    EXPECT_THAT(picture.error().message,
                AllOf(HasSubstr(name + ": "), HasSubstr(expected.refused)));
    ++refused;
  }
  EXPECT_GT(refused, 7);
}

TEST(Decode, AMissingFileIsNotFound) {
  const auto picture = DecodeFile({"/nowhere/a.png"});
  ASSERT_FALSE(picture.ok());
  EXPECT_EQ(picture.error().code, base::Code::kNotFound);
  EXPECT_THAT(picture.error().message, HasSubstr("/nowhere/a.png"));
}

TEST(DecodeOfABuildWithoutWebp, SaysWhatToInstall) {
  if (CanRead("lossy.webp")) GTEST_SKIP() << "this build has libwebp";
  EXPECT_THAT(DecodeFile({SamplePath("lossy.webp")}).error().message,
              HasSubstr("install libwebp-dev"));
}

TEST(Resized, APictureOfTheRightSizeStaysAsItIs) {
  const Picture picture{2, 1, {1, 2, 3, 250, 251, 252}};
  EXPECT_EQ(Resized(picture, 2, 1).rgb, picture.rgb);
  EXPECT_EQ(Resized(Picture{1, 1, {7, 8, 9}}, 2, 2).rgb,
            (std::vector<uint8_t>{7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9}));
}

TEST(Normalize, ChannelsComeApartWithClipsMeanAndDeviation) {
  std::vector<float> out(6);
  Normalize(std::vector<uint8_t>{0, 255, 0, 255, 0, 255}, out);
  EXPECT_FLOAT_EQ(out[0], -0.48145466F / 0.26862954F);
  EXPECT_FLOAT_EQ(out[1], (1 - 0.48145466F) / 0.26862954F);
  EXPECT_FLOAT_EQ(out[2], (1 - 0.4578275F) / 0.26130258F);
  EXPECT_FLOAT_EQ(out[3], -0.4578275F / 0.26130258F);
  EXPECT_FLOAT_EQ(out[4], -0.40821073F / 0.27577711F);
  EXPECT_FLOAT_EQ(out[5], (1 - 0.40821073F) / 0.27577711F);
}

}  // namespace
}  // namespace trainctl::images
