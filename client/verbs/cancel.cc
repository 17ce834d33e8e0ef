#include <algorithm>
#include <iterator>
#include <map>

#include "client/naming.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/output.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

// How jobs had ended before, by id.
using Outcomes = std::map<std::string, std::string>;

Listing CancelledJobs(const v1::CancelResponse& response, const Outcomes& ended) {
  Listing listing{.collection = "jobs",
                  .table = TextTable({{"ID"}, {.header = "NAME", .cut = true}, {"HAD ENDED"}})};
  for (const v1::SubmittedJob& job : response.jobs()) {
    const auto outcome = ended.find(job.id());
    const bool had_ended = outcome != ended.end();
    listing.records.push_back({{"id", job.id()},
                               {"name", job.name()},
                               {"had_ended", had_ended ? Json(outcome->second) : Json(nullptr)}});
    listing.table.AddRow({job.id(), job.name(), had_ended ? outcome->second : ""});
  }
  return listing;
}

Outcomes EndedBefore(Api& api, const v1::CancelRequest& cancelled) {
  v1::ListRequest request;
  *request.mutable_jobs() = cancelled.jobs();
  Outcomes ended;
  const base::Result<v1::ListResponse> response = api.List(request);
  if (!response.ok()) return ended;  // the cancellation says why
  for (const v1::JobView& view : response->jobs()) {
    if (HasEnded(view)) ended[view.id()] = view.outcome();
  }
  return ended;
}

// What a word means here. Only one of a name that has not ended is certain to be meant. kInvalid:
// several have not.
base::Result<std::string> TheUnfinished(Context& context, const std::string& word) {
  const std::vector<Namesake> namesakes = FindNamesakes(context, word);
  std::vector<Namesake> unfinished;
  std::ranges::copy_if(namesakes, std::back_inserter(unfinished),
                       [](const Namesake& one) { return !one.ended; });
  if (unfinished.size() > 1) {
    return base::Error{base::Code::kInvalid, NamesakesText(word, unfinished) +
                                                 ", and have not ended; nothing was cancelled: "
                                                 "name what is to end by its id"};
  }
  if (namesakes.size() < 2) return word;
  return SayMeant(context, word, namesakes, (unfinished.empty() ? namesakes : unfinished).front());
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
    for (const std::string& word : jobs_) {
      const base::Result<std::string> job = TheUnfinished(context, word);
      if (!job.ok()) return Fail(context, job.error());
      request.add_jobs(*job);
    }
    const Outcomes ended = EndedBefore(**api, request);
    const base::Result<v1::CancelResponse> response = (*api)->Cancel(request);
    if (!response.ok()) return Fail(context, response.error());
    if (!context.for_people()) return Print(context, CancelledJobs(*response, ended));
    for (const v1::SubmittedJob& job : response->jobs()) {
      const std::string name = NameWithId(job.name(), job.id());
      const auto outcome = ended.find(job.id());
      Say(context, outcome == ended.end()
                       ? "Asked " + name + " to end.\n"
                       : name + " has ended already (" + outcome->second + ").\n");
    }
    return 0;
  }

 private:
  std::vector<std::string> jobs_;
};

}  // namespace

std::unique_ptr<Verb> MakeCancel() { return std::make_unique<Cancel>(); }

}  // namespace trainctl::client
