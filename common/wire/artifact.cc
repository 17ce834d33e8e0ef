#include "common/wire/artifact.h"

#include <utility>

#include "proto/trainctl.pb.h"

namespace trainctl::wire {

v1::ArtifactAsk ToWire(const job::ArtifactQuestion& question) {
  v1::ArtifactAsk message;
  message.set_path(question.path);
  message.set_file(question.file);
  message.set_offset(question.offset);
  message.set_record(question.record);
  message.set_owner(question.owner);
  return message;
}

job::ArtifactQuestion FromWire(const v1::ArtifactAsk& message) {
  return {message.path(), message.file(), message.offset(), message.record(), message.owner()};
}

v1::ReadArtifactResponse ToWire(job::ArtifactPiece piece) {
  v1::ReadArtifactResponse message;
  for (job::ArtifactFile& file : piece.files) {
    v1::ArtifactFile& listed = *message.add_files();
    listed.set_path(std::move(file.path));
    listed.set_bytes(file.bytes);
  }
  message.set_data(std::move(piece.data));
  return message;
}

base::Result<job::ArtifactPiece> FromWire(v1::ReadArtifactResponse message) {
  const auto files = static_cast<size_t>(message.files_size());
  if (files > job::ArtifactPiece::kMaxFiles ||
      message.data().size() > job::ArtifactPiece::kMaxBytes) {
    return base::Error{base::Code::kInvalid, "piece: " + std::to_string(files) + " files, " +
                                                 std::to_string(message.data().size()) +
                                                 " bytes: more than may be in one answer"};
  }
  job::ArtifactPiece piece;
  piece.files.reserve(files);
  for (v1::ArtifactFile& file : *message.mutable_files())
    piece.files.push_back({std::move(*file.mutable_path()), file.bytes()});
  piece.data = std::move(*message.mutable_data());
  return piece;
}

}  // namespace trainctl::wire
