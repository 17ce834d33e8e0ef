#include "worker/rank/images/codecs.h"

#include <csetjmp>
#include <cstdio>
#include <string>
// After <cstdio>, which it needs.
#include <jerror.h>
#include <jpeglib.h>

#include "worker/rank/images/channels.h"

namespace trainctl::images {
namespace {

// A progressive file of a few bytes can ask for thousands of passes over the whole picture.
constexpr int kMostScans = 200;

// One file's decoder. libjpeg leaves by longjmp: between setjmp and there, no C++ object lives.
class JpegFile {
 public:
  explicit JpegFile(Bytes file) : file_(file) {}
  JpegFile(const JpegFile&) = delete;
  ~JpegFile() { jpeg_destroy_decompress(&info_); }

  // false: message() says why.
  bool ReadHeader();
  // Of all rows, channels() bytes a pixel.
  bool ReadRows(uint8_t* samples);

  int64_t width() const { return info_.image_width; }
  int64_t height() const { return info_.image_height; }
  int channels() const { return info_.num_components; }
  std::string message() const { return message_; }

 private:
  static JpegFile& Of(j_common_ptr info) { return *static_cast<JpegFile*>(info->client_data); }

  [[noreturn]] static void Leave(j_common_ptr info) {
    info->err->format_message(info, Of(info).message_);
    std::longjmp(Of(info).back_, 1);
  }
  // Warnings that Pillow ignores too, but for the file's early end: libjpeg would paint it gray.
  static void OnMessage(j_common_ptr info, int level) {
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) Leave(info);
  }
  static void OnProgress(j_common_ptr info) {
    JpegFile& file = Of(info);
    if (file.info_.input_scan_number <= kMostScans) return;
    std::snprintf(file.message_, sizeof file.message_, "more than %d scans", kMostScans);
    std::longjmp(file.back_, 1);
  }

  const Bytes file_;
  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf back_;
  char message_[JMSG_LENGTH_MAX] = "";
};

bool JpegFile::ReadHeader() {
  info_.err = jpeg_std_error(&errors_);
  errors_.error_exit = &Leave;
  errors_.emit_message = &OnMessage;
  info_.client_data = this;
  if (setjmp(back_) != 0) return false;
  jpeg_create_decompress(&info_);
  progress_.progress_monitor = &OnProgress;
  info_.progress = &progress_;
  jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file_.data()), file_.size());
  jpeg_read_header(&info_, TRUE);
  return true;
}

bool JpegFile::ReadRows(uint8_t* samples) {
  if (setjmp(back_) != 0) return false;
  info_.out_color_space = channels() == 1 ? JCS_GRAYSCALE : channels() == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_start_decompress(&info_);
  while (info_.output_scanline < info_.output_height) {
    JSAMPROW row = samples + size_t{info_.output_scanline} * info_.output_width *
                                 static_cast<size_t>(info_.output_components);
    jpeg_read_scanlines(&info_, &row, 1);
  }
  jpeg_finish_decompress(&info_);
  return true;
}

base::Error JpegError(const std::string& message) {
  return {base::Code::kInvalid, "JPEG: " + message};
}

}  // namespace

base::Result<Picture> DecodeJpeg(Bytes bytes) {
  JpegFile file(bytes);
  if (!file.ReadHeader()) return JpegError(file.message());
  if (auto fits = CheckSize(file.width(), file.height()); !fits)
    return JpegError(fits.error().message);
  const int channels = file.channels();
  if (channels != 1 && channels != 3 && channels != 4)
    return JpegError(std::to_string(channels) + " channels: expected 1, 3 or 4");
  std::vector<uint8_t> samples(static_cast<size_t>(file.width() * file.height() * channels));
  if (!file.ReadRows(samples.data())) return JpegError(file.message());
  if (channels == 1) samples = FromGray(samples);
  if (channels == 4) samples = FromInvertedCmyk(samples);
  return Picture{file.width(), file.height(), std::move(samples)};
}

}  // namespace trainctl::images
