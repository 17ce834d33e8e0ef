#include "worker/rank/state/tensor_files.h"

#include <filesystem>

#include "common/base/error_number.h"
#include "worker/rank/state/element_types.h"

namespace trainctl::train {

void TensorFile::Declare(const std::string& name, std::vector<int64_t> shape) {
  infos_.push_back({.name = name, .dtype = DTypeOf(type_), .shape = std::move(shape)});
}

void TensorFile::Create(const std::string& path) {
  if (error_) return;
  base::Result<files::SafetensorsWriter> writer =
      files::SafetensorsWriter::Create(path, std::move(infos_));
  if (!writer) return Fail(writer.error());
  writer_.emplace(std::move(*writer));
}

void TensorFile::Fail(base::Error error) {
  if (!error_) error_ = std::move(error);
  writer_.reset();
}

void TensorFile::Append(const at::Tensor& values) {
  if (!writer_) return;
  const at::Tensor host = values.to(type_).contiguous().cpu();
  const base::Status status =
      writer_->Append({static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes()});
  if (!status.ok()) Fail(status.error());
}

base::Status TensorFile::Finish() {
  if (error_) return *error_;
  if (!writer_) return base::Ok{};
  return writer_->Finish();
}

base::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return base::OsError("cannot make output.dir " + path, error.value());
  return base::Ok{};
}

}  // namespace trainctl::train
