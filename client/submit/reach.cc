#include "client/submit/reach.h"

#include <algorithm>
#include <map>

#include "client/show/format.h"
#include "common/advice/device_choice.h"
#include "common/base/result.h"

namespace trainctl::client {
namespace {

std::string WhyBarred(const std::map<std::string, std::string>& hosts) {
  if (hosts.empty()) return "";
  const auto& [host, why] = *hosts.begin();
  const auto others = static_cast<int64_t>(hosts.size()) - 1;
  return host + ": " + why + (others == 0 ? "" : "; nor on " + Plural(others, "other host"));
}

}  // namespace

base::Status CheckRules(const job::JobSpec& job, const SiteWorker& worker) {
  if (!worker.bars.empty()) return base::Error{base::Code::kInvalid, worker.bars};
  return job::CheckByName(worker.rules, "", job);
}

Reach FindReach(const job::JobSpec& job, const std::vector<SiteWorker>& workers) {
  std::vector<base::Status> verdicts;
  bool is_admitted = false;
  for (const SiteWorker& worker : workers) {
    const bool is_asked_for = job::MeetsWorkerConstraints(job, worker.device);
    verdicts.push_back(is_asked_for ? CheckRules(job, worker) : base::Status(base::Ok{}));
    is_admitted |= is_asked_for && verdicts.back().ok();
  }
  Reach reach;
  std::map<std::string, std::string> barred;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (advice::IsClosed(verdicts[i], is_admitted)) {
      barred.emplace(workers[i].device.host, verdicts[i].error().message);
    } else {
      reach.workers.push_back(workers[i]);
    }
  }
  reach.barred = WhyBarred(barred);
  return reach;
}

}  // namespace trainctl::client
