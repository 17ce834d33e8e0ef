#include "worker/rank/images/pixel_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/files/scratch_directory.h"
#include "tests/images/sample_pictures.h"
#include "worker/rank/images/decode.h"

namespace trainctl::images {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kSmall = 16;  // a side
const std::vector<std::string> kNames = {"gray.jpg",         "rgb.png",  "cmyk.jpg",
                                         "palette_4bit.png", "rgba.png", "progressive.jpg"};

std::vector<PictureFile> Files() {
  std::vector<PictureFile> files;
  for (const std::string& name : kNames) files.push_back({SamplePath(name)});
  return files;
}

FileOfRow Of(std::vector<PictureFile> files) {
  return [files = std::move(files)](int64_t row) { return files.at(static_cast<size_t>(row)); };
}

std::vector<int64_t> Rows() {
  std::vector<int64_t> rows(kNames.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Pixels Alone(const PictureFile& file) { return PixelsOf(DecodeFile(file).value(), kSmall); }

// Every row, asked for ahead and taken in order.
void TakeAnEpoch(PixelLoader* loader, const std::vector<int64_t>& rows) {
  loader->Ahead(rows);
  for (const int64_t row : rows) {
    const auto pixels = loader->Take(row);
    ASSERT_TRUE(pixels.ok()) << pixels.error().message;
    EXPECT_EQ(**pixels, Alone(Files()[row])) << row;
  }
}

TEST(PixelLoader, EpochsAfterTheFirstDecodeNothing) {
  PixelLoader loader(Of(Files()), {.side = kSmall, .threads = 3});
  for (int epoch = 0; epoch < 3; ++epoch) TakeAnEpoch(&loader, Rows());
  EXPECT_EQ(loader.counts().decoded, std::ssize(kNames));
  EXPECT_EQ(loader.counts().cached, 2 * std::ssize(kNames));
}

TEST(PixelLoader, EqualFilesOfOtherNamesAreDecodedOnce) {
  const ScratchDirectory folder;
  const std::string bytes = SampleBytes("rgb.png");
  PixelLoader loader(
      Of({PictureFile{folder.Write("a.png", bytes)}, PictureFile{folder.Write("b.png", bytes)}}),
      {.side = kSmall, .threads = 0});
  EXPECT_EQ(*loader.Take(0).value(), *loader.Take(1).value());
  EXPECT_EQ(loader.counts().decoded, 1);
}

TEST(PixelLoader, AChangedFileIsDecodedAgain) {
  const ScratchDirectory folder;
  const std::string path = folder.Write("a.png", SampleBytes("rgb.png"));
  PixelLoader loader(Of({PictureFile{path}}), {.side = kSmall});
  const auto before = loader.Take(0).value();
  folder.Write("a.png", SampleBytes("rgba.png"));
  EXPECT_NE(*loader.Take(0).value(), *before);
  EXPECT_EQ(loader.counts().decoded, 2);
}

TEST(PixelLoader, AFullCacheKeepsWhatItHas) {
  PixelLoader loader(Of(Files()),
                     {.side = kSmall, .threads = 2, .most_cached_bytes = 2 * PixelBytes(kSmall)});
  for (int epoch = 0; epoch < 3; ++epoch) TakeAnEpoch(&loader, Rows());
  EXPECT_EQ(loader.counts().cached, 2 * 2);
  EXPECT_EQ(loader.counts().decoded, 3 * std::ssize(kNames) - 2 * 2);
}

TEST(PixelLoader, RowsBeyondTheBoundAreReadWhenTheyAreTaken) {
  PixelLoader loader(Of(Files()), {.side = kSmall, .threads = 1, .most_ahead = 2});
  TakeAnEpoch(&loader, Rows());
  EXPECT_EQ(loader.counts().decoded, std::ssize(kNames));
}

TEST(PixelLoader, ARowMayBeAskedForTwice) {
  PixelLoader loader(Of(Files()), {.side = kSmall, .threads = 2});
  TakeAnEpoch(&loader, {1, 2, 1, 1, 2});
}

TEST(PixelLoader, FaultsReachTheOneWhoTakesWithRowAndPath) {
  const ScratchDirectory folder;
  const std::vector<PictureFile> files = {{SamplePath("rgb.png")},
                                          {folder.Write("broken.jpg", "\xFF\xD8\xFF no picture")},
                                          {folder.path() + "/missing.png"}};
  for (const int threads : {0, 2}) {
    PixelLoader loader(Of(files), {.side = kSmall, .threads = threads});
    loader.Ahead(std::vector<int64_t>{0, 1, 2});
    EXPECT_TRUE(loader.Take(0).ok());
    const auto broken = loader.Take(1), missing = loader.Take(2);
    EXPECT_EQ(broken.error().code, base::Code::kInvalid);
    EXPECT_THAT(broken.error().message, AllOf(HasSubstr("row 1: "), HasSubstr("broken.jpg: JPEG")));
    EXPECT_EQ(missing.error().code, base::Code::kNotFound);
    EXPECT_THAT(missing.error().message, AllOf(HasSubstr("row 2: "), HasSubstr("missing.png")));
  }
}

TEST(PixelLoader, APictureMayLieWithinAnotherFile) {
  const ScratchDirectory folder;
  const std::string png = SampleBytes("rgb.png"), jpg = SampleBytes("gray.jpg");
  const std::string path = folder.Write("both", "head" + png + jpg);
  const PictureFile first{path, 4, std::ssize(png), "a.png"},
      second{path, 4 + std::ssize(png), std::ssize(jpg), ""};
  const PictureFile beyond{path, 5 + std::ssize(png), std::ssize(jpg), "b.jpg"},
      broken{path, 0, 4, "c.jpg"};
  PixelLoader loader(Of({first, second, beyond, broken}), {.side = kSmall, .threads = 1});
  EXPECT_EQ(*loader.Take(0).value(), Alone({SamplePath("rgb.png")}));
  EXPECT_EQ(*loader.Take(1).value(), Alone({SamplePath("gray.jpg")}));
  EXPECT_THAT(loader.Take(2).error().message, HasSubstr("the file has become shorter"));
  EXPECT_THAT(loader.Take(3).error().message, HasSubstr("row 3: c.jpg: neither JPEG"));
}

TEST(PixelLoader, ABatchIsOneRowBehindAnother) {
  PixelLoader loader(Of(Files()), {.side = kSmall, .threads = 1});
  const std::vector<int64_t> rows = {4, 1};
  const auto each = static_cast<size_t>(PixelBytes(kSmall));
  std::vector<float> batch(2 * each), expected(2 * each);
  loader.Ahead(rows);
  ASSERT_TRUE(loader.TakeNormalized(rows, batch).ok());
  Normalize(Alone(Files()[4]), std::span(expected).first(each));
  Normalize(Alone(Files()[1]), std::span(expected).last(each));
  EXPECT_EQ(batch, expected);
}

TEST(PixelLoader, ABatchWithABrokenPictureIsRefused) {
  PixelLoader loader(
      Of({PictureFile{SamplePath("rgb.png")}, PictureFile{SamplePath("truncated_rgb.png")}}),
      {.side = kSmall});
  std::vector<float> batch(2 * PixelBytes(kSmall));
  const auto taken = loader.TakeNormalized(std::vector<int64_t>{0, 1}, batch);
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(taken.error().message, HasSubstr("row 1: "));
}

TEST(PixelLoader, EndsWithPicturesThatNobodyTook) {
  PixelLoader loader(Of(Files()), {.side = kSmall, .threads = 2});
  loader.Ahead(Rows());
}

}  // namespace
}  // namespace trainctl::images
