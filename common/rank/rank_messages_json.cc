// One line a message: {"type": …, members …}.
#include <limits>
#include <tuple>
#include <type_traits>

#include "common/job/json_fields.h"
#include "common/json/write_json.h"
#include "common/rank/memory_kind.h"
#include "common/rank/rank_json.h"
#include "common/rank/rank_key.h"

namespace trainctl::job {
namespace {

// Longer names are damaged.
constexpr size_t kMaxMetricNameBytes = 128;

constexpr auto kCount = [](auto& fields, const char* key, auto& count) {
  fields.Within(key, count, 0, std::numeric_limits<int64_t>::max());
};

// ---- rank → worker ----

constexpr auto kStartedFields = [](auto& fields, auto& started) {
  kCount(fields, "pid", started.pid);
  fields.Member("commit", started.commit);
  fields.Member("libtorch", started.libtorch);
  fields.Member("nccl", started.nccl);
  fields.Member("driver", started.driver);
  fields.Member("device_name", started.device_name);
};

constexpr auto kPhaseFields = [](auto& fields, auto& phase) {
  fields.Named("phase", phase.phase, ParseRunPhase);
  kCount(fields, "done", phase.done);
  kCount(fields, "total", phase.total);
};

constexpr auto kRendezvousFields = [](auto& fields, auto& rendezvous) {
  fields.Member("blob", rendezvous.blob);
};

constexpr auto kProgressFields = [](auto& fields, auto& progress) {
  kCount(fields, "step", progress.step);
  fields.MemberOrDefault("first_step", progress.first_step);
  fields.Expect("first_step", progress.first_step >= 0, "expected a number from 0");
  kCount(fields, "steps", progress.steps);
  fields.Named("stage", progress.stage, ParseStage);
  fields.MemberIfAny("loss", progress.loss);
  kCount(fields, "peak_allocated_bytes", progress.peak_allocated_bytes);
};

constexpr auto kPointFields = [](auto& fields, auto& point) {
  fields.Member("name", point.name);
  fields.Expect("name", !point.name.empty() && point.name.size() <= kMaxMetricNameBytes,
                "expected 1 to 128 bytes");
  kCount(fields, "step", point.step);
  fields.Member("value", point.value);
  fields.Member("time", point.time);
  fields.MemberIfAny("rank", point.rank);
  fields.Expect("rank", !point.rank || (*point.rank >= 0 && *point.rank <= kMaxRank),
                "expected a number from 0 to 65535");
  fields.NamedIfAny("phase", point.phase, ParsePhase);
};

constexpr auto kMetricsFields = [](auto& fields, auto& metrics) {
  fields.Objects("points", metrics.points, kPointFields);
};

constexpr auto kSavedFields = [](auto& fields, auto& saved) {
  fields.Member("kind", saved.kind);
  fields.Member("path", saved.path);
  fields.MemberOrDefault("bytes", saved.bytes);
  fields.MemberOrDefault("record", saved.record);
  fields.MemberIfAny("removed", saved.removed);
};

constexpr auto kNoticeFields = [](auto& fields, auto& notice) {
  fields.Member("text", notice.text);
};

constexpr auto kContinuationFields = [](auto& fields, auto& continuation) {
  kCount(fields, "step", continuation.step);
  kCount(fields, "place", continuation.place);
  fields.Member("prompt", continuation.prompt);
  fields.Member("text", continuation.text);
};

constexpr auto kOomFields = [](auto& fields, auto& oom) {
  fields.Within("rank", oom.rank, 0, kMaxRank);
  fields.Named("phase", oom.phase, ParseOomPhase);
  kCount(fields, "requested_bytes", oom.requested_bytes);
  kCount(fields, "limit_bytes", oom.limit_bytes);
  fields.Object("memory", oom.memory, kMemoryFields);
};

constexpr auto kOutcomeFields = [](auto& fields, auto& outcome) {
  fields.Named("outcome", outcome.outcome, ParseOutcome);
  fields.Member("message", outcome.message);
  fields.ObjectIfAny("oom", outcome.oom, kOomFields);
};

constexpr auto kDroppedFields = [](auto& fields, auto& dropped) {
  kCount(fields, "messages", dropped.messages);
};

// ---- worker → rank ----

constexpr auto kPeersFields = [](auto& fields, auto& peers) { fields.Member("blob", peers.blob); };

constexpr auto kStopFields = [](auto&, auto&) {};

// ---- both ----

// One alternative of a variant: its "type", and its members.
template <class T, class List>
struct Kind {
  using Message = T;
  const char* type;
  List list;
};

template <class T, class List>
constexpr Kind<T, List> KindOf(const char* type, List list) {
  return {type, list};
}

constexpr auto kMessages = std::tuple(
    KindOf<RankStarted>("started", kStartedFields), KindOf<RankPhase>("phase", kPhaseFields),
    KindOf<RankRendezvous>("rendezvous", kRendezvousFields),
    KindOf<RankProgress>("progress", kProgressFields),
    KindOf<RankMetrics>("metrics", kMetricsFields), KindOf<RankSaved>("saved", kSavedFields),
    KindOf<RankNotice>("notice", kNoticeFields),
    KindOf<RankContinuation>("continuation", kContinuationFields),
    KindOf<RankOutcome>("outcome", kOutcomeFields), KindOf<RankDropped>("dropped", kDroppedFields));
static_assert(std::tuple_size_v<decltype(kMessages)> == std::variant_size_v<RankMessage>);

constexpr auto kCommands = std::tuple(KindOf<PeersCommand>("peers", kPeersFields),
                                      KindOf<StopCommand>("stop", kStopFields));
static_assert(std::tuple_size_v<decltype(kCommands)> == std::variant_size_v<RankCommand>);

template <class Variant, class Kinds>
std::string WriteLine(const Variant& message, const Kinds& kinds) {
  FieldWriter fields;
  const auto write = [&](const auto& kind) {
    const auto* value = std::get_if<typename std::decay_t<decltype(kind)>::Message>(&message);
    if (value == nullptr) return;
    fields.Member("type", std::string(kind.type));
    kind.list(fields, *value);
  };
  std::apply([&](const auto&... kind) { (write(kind), ...); }, kinds);
  return WriteJson(std::move(fields).Take());
}

template <class Variant, class Kinds>
base::Result<Variant> ReadLine(std::string_view line, std::string_view what, const Kinds& kinds) {
  return ReadFields<Variant>(line, what, [&](FieldReader& fields, Variant& message) {
    std::string type;
    fields.Member("type", type);
    const auto read = [&](const auto& kind) {
      if (type != kind.type) return false;
      kind.list(fields, message.template emplace<typename std::decay_t<decltype(kind)>::Message>());
      return true;
    };
    const bool known = std::apply([&](const auto&... kind) { return (read(kind) || ...); }, kinds);
    fields.Expect("type", known, "'" + type + "' is not known");
  });
}

}  // namespace

std::string ToJson(const OomDetail& oom) { return WriteJson(WriteFields(oom, kOomFields)); }

base::Result<OomDetail> OomDetailFromJson(std::string_view text) {
  return ReadFields<OomDetail>(text, "out-of-memory detail", kOomFields);
}

std::string ToLine(const RankMessage& message) { return WriteLine(message, kMessages); }

base::Result<RankMessage> RankMessageFromLine(std::string_view line) {
  return ReadLine<RankMessage>(line, "rank message", kMessages);
}

std::string ToLine(const RankCommand& command) { return WriteLine(command, kCommands); }

base::Result<RankCommand> RankCommandFromLine(std::string_view line) {
  return ReadLine<RankCommand>(line, "rank command", kCommands);
}

}  // namespace trainctl::job
