// One line a message: {"type": …, members …}. Members that are null or empty are left out where the struct says so.
#include "common/job/json_fields.h"
#include "common/job/memory_json.h"
#include "common/job/rank_json.h"
#include "common/job/write_json.h"

namespace trainctl::job {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

JsonNode Typed(const char* type) { return JsonNode::Object().Add("type", type); }

template <class T>
void AddIfAny(JsonNode& node, const char* key, const std::optional<T>& value) {
  if (value) node.Add(key, JsonNode(*value));
}

// ---- rank → worker ----

JsonNode ToNode(const RankStarted& started) {
  JsonNode node = Typed("started");
  node.Add("pid", started.pid).Add("commit", started.commit).Add("libtorch", started.libtorch).Add("nccl", started.nccl);
  node.Add("driver", started.driver).Add("device_name", started.device_name);
  return node;
}

void ReadStarted(JsonFields& fields, RankStarted& started) {
  fields.Read("pid", started.pid);
  fields.Read("commit", started.commit);
  fields.Read("libtorch", started.libtorch);
  fields.Read("nccl", started.nccl);
  fields.Read("driver", started.driver);
  fields.Read("device_name", started.device_name);
}

JsonNode ToNode(const RankPhase& phase) {
  JsonNode node = Typed("phase");
  node.Add("phase", phase.phase).Add("done_bytes", phase.done_bytes).Add("total_bytes", phase.total_bytes);
  return node;
}

void ReadPhase(JsonFields& fields, RankPhase& phase) {
  fields.Read("phase", phase.phase);
  fields.Read("done_bytes", phase.done_bytes);
  fields.Read("total_bytes", phase.total_bytes);
}

JsonNode ToNode(const RankRendezvous& rendezvous) { return Typed("rendezvous").Add("blob", rendezvous.blob); }

void ReadRendezvous(JsonFields& fields, RankRendezvous& rendezvous) { fields.Read("blob", rendezvous.blob); }

JsonNode ToNode(const RankProgress& progress) {
  JsonNode node = Typed("progress");
  node.Add("step", progress.step).Add("steps", progress.steps).Add("stage", progress.stage);
  AddIfAny(node, "loss", progress.loss);
  AddIfAny(node, "tokens_per_second", progress.tokens_per_second);
  node.Add("peak_allocated_bytes", progress.peak_allocated_bytes);
  return node;
}

void ReadProgress(JsonFields& fields, RankProgress& progress) {
  fields.Read("step", progress.step);
  fields.Read("steps", progress.steps);
  fields.Read("stage", progress.stage);
  fields.Read("loss", progress.loss);
  fields.Read("tokens_per_second", progress.tokens_per_second);
  fields.Read("peak_allocated_bytes", progress.peak_allocated_bytes);
}

JsonNode ToNode(const MetricPoint& point) {
  JsonNode node = JsonNode::Object();
  node.Add("name", point.name).Add("step", point.step).Add("value", point.value).Add("time", point.time);
  AddIfAny(node, "rank", point.rank);
  if (!point.phase.empty()) node.Add("phase", point.phase);
  return node;
}

void ReadPoint(JsonFields& fields, MetricPoint& point) {
  fields.Read("name", point.name);
  fields.Read("step", point.step);
  fields.Read("value", point.value);
  fields.Read("time", point.time);
  fields.Read("rank", point.rank);
  fields.ReadIfPresent("phase", point.phase);
}

JsonNode ToNode(const RankMetrics& metrics) {
  JsonNode points = JsonNode::Array();
  for (const MetricPoint& point : metrics.points) points.Append(ToNode(point));
  return Typed("metrics").Add("points", std::move(points));
}

void ReadMetrics(JsonFields& fields, RankMetrics& metrics) { fields.ReadList("points", metrics.points, ReadPoint); }

JsonNode ToNode(const RankSaved& saved) { return Typed("saved").Add("kind", saved.kind).Add("path", saved.path).Add("bytes", saved.bytes); }

void ReadSaved(JsonFields& fields, RankSaved& saved) {
  fields.Read("kind", saved.kind);
  fields.Read("path", saved.path);
  fields.ReadIfPresent("bytes", saved.bytes);
}

JsonNode ToNode(const RankNotice& notice) { return Typed("notice").Add("text", notice.text); }

void ReadNotice(JsonFields& fields, RankNotice& notice) { fields.Read("text", notice.text); }

JsonNode ToNode(const OomDetail& oom) {
  JsonNode node = JsonNode::Object();
  node.Add("rank", oom.rank).Add("phase", oom.phase).Add("requested_bytes", oom.requested_bytes).Add("limit_bytes", oom.limit_bytes);
  node.Add("memory", ToNode(oom.memory));
  return node;
}

void ReadOom(JsonFields& fields, OomDetail& oom) {
  fields.Read("rank", oom.rank);
  fields.Read("phase", oom.phase);
  fields.Read("requested_bytes", oom.requested_bytes);
  fields.Read("limit_bytes", oom.limit_bytes);
  fields.ReadObject("memory", oom.memory, ReadMemory);
}

JsonNode ToNode(const RankOutcome& outcome) {
  JsonNode node = Typed("outcome");
  node.Add("outcome", Name(outcome.outcome)).Add("message", outcome.message);
  if (outcome.oom) node.Add("oom", ToNode(*outcome.oom));
  return node;
}

void ReadOutcome(JsonFields& fields, RankOutcome& outcome) {
  fields.ReadName("outcome", outcome.outcome, ParseOutcome);
  fields.Read("message", outcome.message);
  fields.ReadObject("oom", outcome.oom, ReadOom);
}

// ---- worker → rank ----

JsonNode ToNode(const PeersCommand& peers) { return Typed("peers").Add("blob", peers.blob); }

void ReadPeers(JsonFields& fields, PeersCommand& peers) { fields.Read("blob", peers.blob); }

JsonNode ToNode(const StopCommand&) { return Typed("stop"); }

void ReadStop(JsonFields&, StopCommand&) {}

// ---- both ----

// Reads the rest of a line into the alternative T of the variant.
template <class T, class Variant>
void ReadAs(JsonFields& fields, Variant& message, void (*read)(JsonFields&, T&)) {
  read(fields, message.template emplace<T>());
}

void ReadMessage(JsonFields& fields, RankMessage& message) {
  std::string type;
  fields.Read("type", type);
  if (type == "started") return ReadAs<RankStarted>(fields, message, ReadStarted);
  if (type == "phase") return ReadAs<RankPhase>(fields, message, ReadPhase);
  if (type == "rendezvous") return ReadAs<RankRendezvous>(fields, message, ReadRendezvous);
  if (type == "progress") return ReadAs<RankProgress>(fields, message, ReadProgress);
  if (type == "metrics") return ReadAs<RankMetrics>(fields, message, ReadMetrics);
  if (type == "saved") return ReadAs<RankSaved>(fields, message, ReadSaved);
  if (type == "notice") return ReadAs<RankNotice>(fields, message, ReadNotice);
  if (type == "outcome") return ReadAs<RankOutcome>(fields, message, ReadOutcome);
  fields.Fail("type", "'" + type + "' is not known");
}

void ReadCommand(JsonFields& fields, RankCommand& command) {
  std::string type;
  fields.Read("type", type);
  if (type == "peers") return ReadAs<PeersCommand>(fields, command, ReadPeers);
  if (type == "stop") return ReadAs<StopCommand>(fields, command, ReadStop);
  fields.Fail("type", "'" + type + "' is not known");
}

}  // namespace

std::string ToLine(const RankMessage& message) {
  return std::visit([](const auto& alternative) { return WriteJson(ToNode(alternative)); }, message);
}

base::Result<RankMessage> RankMessageFromLine(std::string_view line) { return ReadFields<RankMessage>(line, "rank message", ReadMessage); }

std::string ToLine(const RankCommand& command) {
  return std::visit([](const auto& alternative) { return WriteJson(ToNode(alternative)); }, command);
}

base::Result<RankCommand> RankCommandFromLine(std::string_view line) { return ReadFields<RankCommand>(line, "rank command", ReadCommand); }

}  // namespace trainctl::job
