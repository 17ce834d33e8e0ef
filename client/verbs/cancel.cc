#include "client/show/format.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

Listing CancelledJobs(const v1::CancelResponse& response) {
  Listing listing{.collection = "jobs", .table = TextTable({{"ID"}, {"NAME"}})};
  for (const v1::SubmittedJob& job : response.jobs()) {
    listing.records.push_back({{"id", job.id()}, {"name", job.name()}});
    listing.table.AddRow({job.id(), job.name()});
  }
  return listing;
}

class Cancel : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB", &jobs_, "ids or names of jobs and groups", /*required=*/true);
    arguments.Remark(
        "Asks for the end and returns at once; a job is STOPPING until its devices are free. "
        "Cancelling an ended job changes nothing.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    v1::CancelRequest request;
    for (const std::string& job : jobs_) request.add_jobs(job);
    const base::Result<v1::CancelResponse> response = (*api)->Cancel(request);
    if (!response.ok()) return Fail(context, response.error());
    if (!context.for_people()) return Print(context, CancelledJobs(*response));
    for (const v1::SubmittedJob& job : response->jobs())
      Say(context, "Asked " + job.name() + " (" + job.id() + ") to end.\n");
    return 0;
  }

 private:
  std::vector<std::string> jobs_;
};

}  // namespace

std::unique_ptr<Verb> MakeCancel() { return std::make_unique<Cancel>(); }

}  // namespace trainctl::client
