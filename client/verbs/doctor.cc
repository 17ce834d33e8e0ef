#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "client/exit_code.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/verbs/verb.h"
#include "common/base/version.h"

namespace trainctl::client {
namespace {

enum class Verdict { kOk, kWarning, kFailure };

struct Finding {
  std::string name;
  Verdict verdict = Verdict::kOk;
  std::string text;
};

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk: return "ok";
    case Verdict::kWarning: return "warning";
    case Verdict::kFailure: return "failure";
  }
  return "";
}

Style StyleOf(Verdict verdict) {
  if (verdict == Verdict::kOk) return Style::kGood;
  return verdict == Verdict::kWarning ? Style::kWarning : Style::kBad;
}

// ---- this host ----

struct Host {
  Json probe;  // what trainworker --probe printed (worker/agent/probe.h); null where there is none
  std::vector<Finding> findings;
};

Finding ReadCheck(const Json& check) {
  const std::string verdict = check.value("verdict", "failure");
  return {check.value("name", ""),
          verdict == "ok"        ? Verdict::kOk
          : verdict == "warning" ? Verdict::kWarning
                                 : Verdict::kFailure,
          check.value("text", "")};
}

std::vector<Finding> ReadLinks(const Json& links) {
  std::vector<Finding> findings;
  for (const Json& link : links) {
    const std::string pair = "GPU " + std::to_string(link.value("from", 0)) + " – " +
                             std::to_string(link.value("to", 0));
    findings.push_back({pair, Verdict::kOk, "linked by " + link.value("link", "unknown")});
  }
  return findings;
}

std::vector<Finding> ReadProbe(const Json& probe) {
  const auto lists = [&probe](const char* key) {
    return probe.is_object() && probe.contains(key) && probe[key].is_array();
  };
  if (!lists("checks") || !lists("links")) {
    return {{"this host", Verdict::kFailure,
             "trainworker --probe printed no checks: is it of the same version as this trainctl?"}};
  }
  std::vector<Finding> findings;
  for (const Json& check : probe["checks"]) findings.push_back(ReadCheck(check));
  for (Finding& link : ReadLinks(probe["links"])) findings.push_back(std::move(link));
  return findings;
}

Host ExamineHost(const Context& context) {
  const std::string worker = context.surroundings.program_directory + "/trainworker";
  const base::Result<ProgramOutput> output = context.surroundings.run({worker, "--probe"}, "");
  if (!output.ok()) {
    return {nullptr,
            {{"this host", Verdict::kWarning,
              "not examined, only the coordinator's reachability: there is no trainworker beside "
              "this trainctl"}}};
  }
  const Json probe = Json::parse(output->out, nullptr, /*allow_exceptions=*/false);
  return {probe.is_discarded() ? Json(nullptr) : probe, ReadProbe(probe)};
}

// ---- the coordinator ----

Finding CheckVersion(const std::string& version) {
  const std::string own(base::Version());
  if (version.starts_with(own))
    return {"version", Verdict::kOk, "the coordinator is version " + version};
  return {"version", Verdict::kWarning,
          "the coordinator is version " + version + ", this trainctl " + own +
              ": update the older one"};
}

Finding CheckWorkers(const v1::WorkersResponse& response) {
  std::map<job::WorkerState, int> count;
  std::vector<std::string> bad;
  for (const v1::WorkerView& worker : response.workers()) {
    const std::optional<job::WorkerState> state = StateOf(worker);
    if (state) ++count[*state];
    if (state != job::WorkerState::kReady && state != job::WorkerState::kBusy)
      bad.push_back(worker.name() + " is " + worker.state());
  }
  std::string text = std::to_string(response.workers_size()) + " registered, " +
                     std::to_string(count[job::WorkerState::kReady]) + " ready, " +
                     std::to_string(count[job::WorkerState::kBusy]) + " busy";
  if (response.workers().empty()) {
    return {"workers", Verdict::kWarning,
            "none registered: start trainworker on each host (systemctl start trainworker@0)"};
  }
  if (bad.empty()) return {"workers", Verdict::kOk, text};
  return {"workers", Verdict::kWarning, text + "; " + Join(bad, ", ")};
}

struct Coordinator {
  int exit_code = kExitOk;  // where this host is fit
  std::vector<Finding> findings;
};

Coordinator Unfit(const base::Error& error) {
  return {ExitCodeOf(error.code), {{"coordinator", Verdict::kFailure, error.message}}};
}

Coordinator ExamineCoordinator(Context& context) {
  const base::Result<Api*> api = NeedApi(context);
  if (!api.ok()) return Unfit(api.error());
  const base::Result<v1::WorkersResponse> response = (*api)->Workers();
  if (!response.ok()) return Unfit(response.error());
  return {.findings = {{"coordinator", Verdict::kOk, "answers at " + context.server},
                       CheckVersion(response->version()),
                       CheckWorkers(*response)}};
}

class Doctor : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Remark(
        "Exit status: 0 all is well or only warned of; 1 this host is unfit. Else what every verb "
        "ends with that asks the coordinator: 5 it does not answer, or none is known; 6 it does "
        "not allow this user to ask.");
  }

  int Run(Context& context) override {
    const Host host = ExamineHost(context);
    const Coordinator coordinator = ExamineCoordinator(context);
    Listing listing{.collection = "checks",
                    .table = TextTable({{"CHECK"}, {"VERDICT"}, {"WHAT"}}),
                    .name_key = "name"};
    listing.members["host"] = host.probe;
    for (const std::vector<Finding>* findings : {&host.findings, &coordinator.findings}) {
      for (const Finding& finding : *findings) {
        listing.records.push_back(
            {{"name", finding.name}, {"verdict", Name(finding.verdict)}, {"text", finding.text}});
        listing.table.AddRow({finding.name,
                              {std::string(Name(finding.verdict)), StyleOf(finding.verdict)},
                              finding.text});
      }
    }
    Print(context, listing);
    if (AnyFailed(host.findings)) return kExitFailure;
    return coordinator.exit_code;
  }

 private:
  static bool AnyFailed(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& finding) { return finding.verdict == Verdict::kFailure; });
  }
};

}  // namespace

std::unique_ptr<Verb> MakeDoctor() { return std::make_unique<Doctor>(); }

}  // namespace trainctl::client
