#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "client/exit_code.h"
#include "client/format.h"
#include "client/verbs.h"
#include "common/base/version.h"

namespace trainctl::client {
namespace {

enum class Verdict { kOk, kWarning, kFailed };

struct Finding {
  std::string name;
  Verdict verdict = Verdict::kOk;
  std::string message;
};

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk: return "ok";
    case Verdict::kWarning: return "warning";
    case Verdict::kFailed: return "failed";
  }
  return "";
}

Style StyleOf(Verdict verdict) {
  if (verdict == Verdict::kOk) return Style::kGood;
  return verdict == Verdict::kWarning ? Style::kWarning : Style::kBad;
}

// ---- this host ----

// trainworker --probe prints {"checks": [{"name", "verdict": "ok" | "warning" | "failed", "message"}], …}.
std::vector<Finding> ReadProbe(const std::string& text) {
  const Json probe = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!probe.is_object() || !probe.contains("checks") || !probe["checks"].is_array()) {
    return {{"this host", Verdict::kFailed, "trainworker --probe printed no checks: is it of the same version as this trainctl?"}};
  }
  std::vector<Finding> findings;
  for (const Json& check : probe["checks"]) {
    if (!check.is_object()) continue;
    const std::string verdict = check.value("verdict", "failed");
    findings.push_back({check.value("name", ""), verdict == "ok" ? Verdict::kOk : verdict == "warning" ? Verdict::kWarning : Verdict::kFailed,
                        check.value("message", "")});
  }
  return findings;
}

std::vector<Finding> ExamineHost(const Context& context) {
  const std::string worker = context.surroundings.program_directory + "/trainworker";
  const base::Result<ProgramOutput> probe = context.surroundings.run({worker, "--probe"}, "");
  if (probe.ok()) return ReadProbe(probe->out);
  return {{"this host", Verdict::kWarning, "not examined, only the coordinator's reachability: there is no trainworker beside this trainctl"}};
}

// ---- the coordinator ----

Finding CheckVersion(const std::string& version) {
  const std::string own(base::Version());
  if (version.starts_with(own)) return {"version", Verdict::kOk, "the coordinator is version " + version};
  return {"version", Verdict::kWarning, "the coordinator is version " + version + ", this trainctl " + own + ": update the older one"};
}

Finding CheckWorkers(const v1::WorkersResponse& response) {
  std::map<std::string, int> count;
  std::vector<std::string> bad;
  for (const v1::WorkerView& worker : response.workers()) {
    ++count[worker.state()];
    if (worker.state() == "LOST" || worker.state() == "DIRTY") bad.push_back(worker.name() + " is " + worker.state());
  }
  std::string text = std::to_string(response.workers_size()) + " registered, " + std::to_string(count["READY"]) + " ready, " +
                     std::to_string(count["BUSY"]) + " busy";
  if (response.workers().empty()) return {"workers", Verdict::kWarning, "none registered: start trainworker on each host (systemctl start trainworker@0)"};
  if (bad.empty()) return {"workers", Verdict::kOk, text};
  return {"workers", Verdict::kWarning, text + "; " + Join(bad, ", ")};
}

std::vector<Finding> ExamineCoordinator(Context& context) {
  const base::Result<Api*> api = NeedApi(context);
  if (!api.ok()) return {{"coordinator", Verdict::kFailed, api.error().message}};
  const base::Result<v1::WorkersResponse> response = (*api)->Workers();
  if (!response.ok()) return {{"coordinator", Verdict::kFailed, response.error().message}};
  return {{"coordinator", Verdict::kOk, "answers at " + context.server}, CheckVersion(response->version()), CheckWorkers(*response)};
}

class Doctor : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Remark("Exit status: 0 all is well or only warned of, 1 something failed, 5 only the coordinator does not answer.");
  }

  int Run(Context& context) override {
    const std::vector<Finding> host = ExamineHost(context);
    const std::vector<Finding> coordinator = ExamineCoordinator(context);
    Listing listing{.collection = "checks", .table = TextTable({{"CHECK"}, {"VERDICT"}, {"WHAT"}}), .name_key = "name"};
    for (const std::vector<Finding>* findings : {&host, &coordinator}) {
      for (const Finding& finding : *findings) {
        listing.records.push_back({{"name", finding.name}, {"verdict", Name(finding.verdict)}, {"message", finding.message}});
        listing.table.AddRow({finding.name, {std::string(Name(finding.verdict)), StyleOf(finding.verdict)}, finding.message});
      }
    }
    Print(context, listing);
    if (AnyFailed(host)) return kExitFailure;
    return AnyFailed(coordinator) ? kExitUnreachable : kExitOk;
  }

 private:
  static bool AnyFailed(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.verdict == Verdict::kFailed; });
  }
};

}  // namespace

std::unique_ptr<Verb> MakeDoctor() { return std::make_unique<Doctor>(); }

}  // namespace trainctl::client
