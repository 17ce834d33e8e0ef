#include "worker/rank/images/codecs.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>

#include "worker/rank/images/channels.h"

namespace trainctl::images {
namespace {

// One file's decoder. libpng leaves by longjmp: between setjmp and there, no C++ object lives.
class PngFile {
 public:
  explicit PngFile(Bytes file) : file_(file) {}
  PngFile(const PngFile&) = delete;
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }

  // false: message() says why.
  bool ReadHeader();
  // After it, channels() of 8 bits.
  bool AskForColour();
  // Of all rows, row_bytes() each.
  bool ReadRows(uint8_t* samples);

  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t height() const { return png_get_image_height(png_, info_); }
  size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  int channels() const { return png_get_channels(png_, info_); }
  bool is_deep_gray() const {
    return png_get_bit_depth(png_, info_) == 16 &&
           png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY;
  }
  std::string message() const { return message_; }

 private:
  [[noreturn]] static void OnError(png_structp png, png_const_charp text) {
    auto* file = static_cast<PngFile*>(png_get_error_ptr(png));
    std::snprintf(file->message_, sizeof file->message_, "%s", text);
    std::longjmp(file->back_, 1);
  }
  static void OnWarning(png_structp, png_const_charp) {}
  static void OnRead(png_structp png, png_bytep to, size_t bytes) {
    auto* file = static_cast<PngFile*>(png_get_io_ptr(png));
    if (bytes > file->file_.size() - file->done_) png_error(png, "truncated");
    if (bytes > 0) std::memcpy(to, file->file_.data() + file->done_, bytes);
    file->done_ += bytes;
  }

  const Bytes file_;
  size_t done_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  std::jmp_buf back_;
  char message_[128] = "out of memory";
};

bool PngFile::ReadHeader() {
  if (setjmp(back_) != 0) return false;
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &OnError, &OnWarning);
  if (png_ == nullptr) return false;
  info_ = png_create_info_struct(png_);
  if (info_ == nullptr) return false;
  png_set_read_fn(png_, this, &OnRead);
  png_read_info(png_, info_);
  return true;
}

bool PngFile::AskForColour() {
  if (setjmp(back_) != 0) return false;
  png_set_expand(png_);
  png_set_strip_16(png_);
  png_set_gray_to_rgb(png_);
  passes_ = png_set_interlace_handling(png_);
  png_read_update_info(png_, info_);
  return true;
}

bool PngFile::ReadRows(uint8_t* samples) {
  if (setjmp(back_) != 0) return false;
  const auto rows = png_get_image_height(png_, info_);
  for (int pass = 0; pass < passes_; ++pass) {
    for (png_uint_32 row = 0; row < rows; ++row)
      png_read_row(png_, samples + row * row_bytes(), nullptr);
  }
  return true;
}

base::Error PngError(const std::string& message) {
  return {base::Code::kInvalid, "PNG: " + message};
}

}  // namespace

base::Result<Picture> DecodePng(Bytes bytes) {
  PngFile file(bytes);
  if (!file.ReadHeader()) return PngError(file.message());
  if (auto fits = CheckSize(file.width(), file.height()); !fits)
    return PngError(fits.error().message);
  if (file.is_deep_gray()) return PngError("gray of 16 bits; expected 8 bits, or colours");
  if (!file.AskForColour()) return PngError(file.message());
  std::vector<uint8_t> samples(static_cast<size_t>(file.height()) * file.row_bytes());
  if (!file.ReadRows(samples.data())) return PngError(file.message());
  if (file.channels() == 4) samples = OnWhite(samples);
  return Picture{file.width(), file.height(), std::move(samples)};
}

}  // namespace trainctl::images
