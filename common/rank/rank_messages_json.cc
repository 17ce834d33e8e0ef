// One line a message: {"type": …, members …}.
#include <tuple>
#include <type_traits>

#include "common/job/json_fields.h"
#include "common/json/write_json.h"
#include "common/rank/memory_kind.h"
#include "common/rank/rank_json.h"

namespace trainctl::job {
namespace {

// ---- rank → worker ----

constexpr auto kStartedFields = [](auto& fields, auto& started) {
  fields.Member("pid", started.pid);
  fields.Member("commit", started.commit);
  fields.Member("libtorch", started.libtorch);
  fields.Member("nccl", started.nccl);
  fields.Member("driver", started.driver);
  fields.Member("device_name", started.device_name);
};

constexpr auto kPhaseFields = [](auto& fields, auto& phase) {
  fields.Named("phase", phase.phase, ParseRunPhase);
  fields.Member("done", phase.done);
  fields.Member("total", phase.total);
};

constexpr auto kRendezvousFields = [](auto& fields, auto& rendezvous) {
  fields.Member("blob", rendezvous.blob);
};

constexpr auto kProgressFields = [](auto& fields, auto& progress) {
  fields.Member("step", progress.step);
  fields.MemberOrDefault("first_step", progress.first_step);
  fields.Member("steps", progress.steps);
  fields.Member("stage", progress.stage);
  fields.MemberIfAny("loss", progress.loss);
  fields.Member("peak_allocated_bytes", progress.peak_allocated_bytes);
};

constexpr auto kPointFields = [](auto& fields, auto& point) {
  fields.Member("name", point.name);
  fields.Member("step", point.step);
  fields.Member("value", point.value);
  fields.Member("time", point.time);
  fields.MemberIfAny("rank", point.rank);
  fields.MemberIfAny("phase", point.phase);
};

constexpr auto kMetricsFields = [](auto& fields, auto& metrics) {
  fields.Objects("points", metrics.points, kPointFields);
};

constexpr auto kSavedFields = [](auto& fields, auto& saved) {
  fields.Member("kind", saved.kind);
  fields.Member("path", saved.path);
  fields.MemberOrDefault("bytes", saved.bytes);
  fields.MemberOrDefault("record", saved.record);
};

constexpr auto kNoticeFields = [](auto& fields, auto& notice) {
  fields.Member("text", notice.text);
};

constexpr auto kOomFields = [](auto& fields, auto& oom) {
  fields.Member("rank", oom.rank);
  fields.Member("phase", oom.phase);
  fields.Member("requested_bytes", oom.requested_bytes);
  fields.Member("limit_bytes", oom.limit_bytes);
  fields.Object("memory", oom.memory, kMemoryFields);
};

constexpr auto kOutcomeFields = [](auto& fields, auto& outcome) {
  fields.Named("outcome", outcome.outcome, ParseOutcome);
  fields.Member("message", outcome.message);
  fields.ObjectIfAny("oom", outcome.oom, kOomFields);
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
    KindOf<RankNotice>("notice", kNoticeFields), KindOf<RankOutcome>("outcome", kOutcomeFields));
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

std::string ToLine(const RankMessage& message) { return WriteLine(message, kMessages); }

base::Result<RankMessage> RankMessageFromLine(std::string_view line) {
  return ReadLine<RankMessage>(line, "rank message", kMessages);
}

std::string ToLine(const RankCommand& command) { return WriteLine(command, kCommands); }

base::Result<RankCommand> RankCommandFromLine(std::string_view line) {
  return ReadLine<RankCommand>(line, "rank command", kCommands);
}

}  // namespace trainctl::job
