#include <optional>
#include <string>

#include "client/exit_code.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

constexpr int64_t kDefaultEntries = 50;

Listing ListEntries(const v1::AuditResponse& response) {
  Listing listing{
      .collection = "audit",
      .table = TextTable(
          {{"ID", true}, {"TIME"}, {"WHO"}, {"FROM"}, {"ACTION"}, {"SUBJECT"}, {"VERDICT"}})};
  for (const v1::AuditEntry& entry : response.entries()) {
    listing.records.push_back({{"id", entry.id()},
                               {"time", Seconds(entry.time())},
                               {"actor", entry.actor()},
                               {"address", entry.address()},
                               {"action", entry.action()},
                               {"subject", entry.subject()},
                               {"verdict", entry.verdict()}});
    const Style style = entry.verdict() == "accepted" ? Style::kPlain : Style::kBad;
    listing.table.AddRow({std::to_string(entry.id()),
                          FormatTime(entry.time()),
                          entry.actor(),
                          entry.address(),
                          entry.action(),
                          entry.subject(),
                          {entry.verdict(), style}});
  }
  return listing;
}

class Admin : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("audit", &action_, "the audit log, newest first");
    arguments.Number("--last", "N", &last_, "so many entries, at most 1000 (default: 50)");
    arguments.Number("--before", "ID", &before_, "only those before this one");
    arguments.Remark(
        "The audit log has each submit, resume, cancel, rm of a job, drain, undrain, fence and "
        "removal of a worker, accepted\n"
        "or refused, and workers that were refused. Of one caller it has at most 100 refused calls "
        "a minute; how many more "
        "there were is one entry.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    if (action_ != "audit") {
      return Fail(context, {base::Code::kInvalid,
                            "admin " + action_ + ": expected audit; see: trainctl admin --help"});
    }
    v1::AuditRequest request;
    request.set_limit(last_.value_or(kDefaultEntries));
    request.set_before(before_.value_or(0));
    const base::Result<v1::AuditResponse> response = (*api)->Audit(request);
    if (!response.ok()) return Fail(context, response.error());
    return Print(context, ListEntries(*response));
  }

 private:
  std::string action_;
  std::optional<int64_t> last_, before_;
};

}  // namespace

std::unique_ptr<Verb> MakeAdmin() { return std::make_unique<Admin>(); }

}  // namespace trainctl::client
