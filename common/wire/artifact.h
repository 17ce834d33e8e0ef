// job::ArtifactQuestion ↔ v1::ArtifactAsk. job::ArtifactPiece ↔ v1::ReadArtifactResponse.
#pragma once

#include "common/base/result.h"
#include "common/rank/artifact.h"

namespace trainctl::v1 {
class ArtifactAsk;
class ReadArtifactResponse;
}  // namespace trainctl::v1

namespace trainctl::wire {

// Without its request_id.
v1::ArtifactAsk ToWire(const job::ArtifactQuestion& question);
job::ArtifactQuestion FromWire(const v1::ArtifactAsk& message);

v1::ReadArtifactResponse ToWire(job::ArtifactPiece piece);
// kInvalid: more files or bytes than may be in one piece.
base::Result<job::ArtifactPiece> FromWire(v1::ReadArtifactResponse message);

}  // namespace trainctl::wire
