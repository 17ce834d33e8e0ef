// The text form that checkpoint_manifest.h specifies.
#include "common/job/job_node.h"
#include "common/job/json_fields.h"
#include "common/job/write_json.h"
#include "worker/files/checkpoint_manifest.h"

namespace trainctl::files {
namespace {

using job::JsonFields;
using job::JsonNode;

constexpr int64_t kVersion = 1;
constexpr int64_t kMostValues = int64_t{1} << 53;  // sums and products with a width stay within 64 bits

JsonNode ToNode(const CheckpointSlice& slice) {
  JsonNode node = JsonNode::Object();
  node.Add("tensor", slice.tensor).Add("kind", slice.kind).Add("dtype", Name(slice.dtype));
  node.Add("elements_per_value", slice.elements_per_value).Add("begin", slice.begin).Add("count", slice.count).Add("total", slice.total);
  node.Add("digest", slice.digest);
  return node;
}

JsonNode ToNode(const CheckpointFile& file) {
  JsonNode slices = JsonNode::Array();
  for (const CheckpointSlice& slice : file.slices) slices.Append(ToNode(slice));
  return JsonNode::Object().Add("name", file.name).Add("size_bytes", file.size_bytes).Add("slices", std::move(slices));
}

void ReadCount(JsonFields& fields, std::string_view key, int64_t least, int64_t& value) {
  fields.Read(key, value);
  if (value < least || value > kMostValues) fields.Fail(key, std::to_string(value) + ": expected " + std::to_string(least) + " to 2^53");
}

void ReadSlice(JsonFields& fields, CheckpointSlice& slice) {
  fields.Read("tensor", slice.tensor);
  fields.Read("kind", slice.kind);
  fields.ReadName("dtype", slice.dtype, ParseDType);
  ReadCount(fields, "elements_per_value", 1, slice.elements_per_value);
  ReadCount(fields, "begin", 0, slice.begin);
  ReadCount(fields, "total", 1, slice.total);
  ReadCount(fields, "count", 1, slice.count);
  if (slice.count > slice.total - slice.begin) fields.Fail("count", "the slice ends beyond its tensor's total");
  fields.Read("digest", slice.digest);
}

bool IsFileName(const std::string& name) { return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos; }

void ReadFile(JsonFields& fields, CheckpointFile& file) {
  fields.Read("name", file.name);
  if (!IsFileName(file.name)) fields.Fail("name", "'" + file.name + "': expected a file name");
  ReadCount(fields, "size_bytes", 0, file.size_bytes);
  fields.ReadList("slices", file.slices, ReadSlice);
}

void ReadJob(JsonFields& fields, job::JobSpec& spec) {
  const JsonNode* node = fields.Require("job");
  if (node == nullptr) return;
  base::Result<job::JobSpec> read = job::FromNode(*node);
  if (read) spec = std::move(*read);
  else fields.Fail("job", read.error().message);
}

struct DataPlace {
  std::string digest;
  int64_t epoch = 0, step_in_epoch = 0;
};

void ReadData(JsonFields& fields, DataPlace& data) {
  fields.Read("digest", data.digest);
  ReadCount(fields, "epoch", 0, data.epoch);
  ReadCount(fields, "step_in_epoch", 0, data.step_in_epoch);
}

void ReadRuns(JsonFields& fields, std::vector<std::string>& runs) {
  const JsonNode* list = fields.Require("runs");
  if (list == nullptr) return;
  for (const JsonNode& run : list->items) {
    if (!run.Is(JsonNode::Type::kString)) return fields.Fail("runs", "expected strings");
    runs.push_back(run.text);
  }
}

void ReadManifest(JsonFields& fields, CheckpointManifest& manifest) {
  int64_t version = 0;
  fields.Read("version", version);
  if (version != kVersion) fields.Fail("version", std::to_string(version) + ": this program reads version 1");
  ReadCount(fields, "step", 0, manifest.step);
  ReadCount(fields, "total_steps", 0, manifest.total_steps);
  fields.Read("written_at", manifest.written_at);
  ReadCount(fields, "world_size", 1, manifest.world_size);
  ReadRuns(fields, manifest.runs);
  fields.Read("train_seconds", manifest.train_seconds);
  fields.Read("evaluation_seconds", manifest.evaluation_seconds);
  fields.Read("val_loss", manifest.val_loss);
  ReadJob(fields, manifest.job);
  DataPlace data;
  fields.ReadObject("data", data, ReadData);
  manifest.data_digest = data.digest;
  manifest.epoch = data.epoch;
  manifest.step_in_epoch = data.step_in_epoch;
  fields.ReadList("files", manifest.files, ReadFile);
}

}  // namespace

std::string ToJson(const CheckpointFile& file) { return job::WriteJson(ToNode(file)) + "\n"; }

std::string ToJson(const CheckpointManifest& manifest) {
  JsonNode runs = JsonNode::Array(), files = JsonNode::Array();
  for (const std::string& run : manifest.runs) runs.Append(run);
  for (const CheckpointFile& file : manifest.files) files.Append(ToNode(file));
  JsonNode node = JsonNode::Object();
  node.Add("version", kVersion).Add("step", manifest.step).Add("total_steps", manifest.total_steps);
  node.Add("written_at", manifest.written_at).Add("world_size", manifest.world_size).Add("runs", std::move(runs));
  node.Add("train_seconds", manifest.train_seconds).Add("evaluation_seconds", manifest.evaluation_seconds);
  node.Add("val_loss", manifest.val_loss ? JsonNode(*manifest.val_loss) : JsonNode());
  node.Add("job", job::ToNode(manifest.job));
  node.Add("data", JsonNode::Object()
                       .Add("digest", manifest.data_digest)
                       .Add("epoch", manifest.epoch)
                       .Add("step_in_epoch", manifest.step_in_epoch));
  node.Add("files", std::move(files));
  return job::WriteJson(node) + "\n";
}

base::Result<CheckpointFile> CheckpointFileFromJson(std::string_view text, const std::string& source) {
  return job::ReadFields<CheckpointFile>(text, source, ReadFile);
}

base::Result<CheckpointManifest> CheckpointManifestFromJson(std::string_view text, const std::string& source) {
  return job::ReadFields<CheckpointManifest>(text, source, ReadManifest);
}

}  // namespace trainctl::files
