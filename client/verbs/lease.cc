#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "client/exit_code.h"
#include "client/show/calendar_time.h"
#include "client/show/format.h"
#include "client/show/lease_text.h"
#include "client/submit/asked_again.h"
#include "client/verbs/verb.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

class Lease : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("ACTION [NAME]", &words_,
                          "create, find, ls, describe, extend, delete or calendar; and which lease",
                          /*required=*/true);
    arguments.OnlyWith({"create", "find"}, [&] {
      arguments.Number("--gpus", "N", &gpus_, "of create and find: devices, all of one model",
                       /*least=*/1);
      arguments.Text("--host", "HOST", &host_, "only devices of this host");
      arguments.Text("--gpu-model", "MODEL", &model_,
                     "only such devices: part of their name, H200");
      arguments.Text("--start", "TIME", &start_,
                     "'2026-12-01 14:00', local time, or with UTC behind it; default: now");
    });
    arguments.OnlyWith({"create", "find", "extend"}, [&] {
      arguments.Duration("--for", &seconds_, "how long, such as 3h; of extend: how much longer");
    });
    arguments.OnlyWith({"calendar"}, [&] {
      arguments.Switch("--ics", &ics_, "of calendar: as an iCalendar, for other programs");
    });
    arguments.Remark(
        "A lease has its devices for your jobs alone, from its start to its end: submit --within "
        "LEASE. Jobs of others end before, or are told ten minutes ahead, stopped, and queue "
        "again.\n"
        "Half a minute before the lease ends its jobs are stopped: LEASE_ENDED. Who is stopped "
        "saves where it keeps checkpoints (checkpoint.every_steps), and trainctl resume goes on "
        "from there; what any other did is lost.\n"
        "Where the site has no GPU, --gpus counts CPU slots. Only the owner and operators extend "
        "or delete a lease.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const std::string& action = words_.front();
    if (words_.size() > 2) return Wrong(context, "one name at most");
    if (action == "create") return Create(context, **api);
    if (words_.size() > 1 && action == "find") return Wrong(context, "find takes no name");
    if (action == "find") return Find(context, **api);
    if (action == "ls" || action == "calendar") return List(context, **api);
    if (action != "describe" && action != "extend" && action != "delete") {
      return Wrong(context, "'" + action +
                                "': expected create, find, ls, describe, extend, delete or "
                                "calendar");
    }
    if (words_.size() < 2) return Wrong(context, action + " needs a lease's name");
    if (action == "describe") return Describe(context, **api);
    return action == "extend" ? Extend(context, **api) : Delete(context, **api);
  }

 private:
  static int Wrong(Context& context, const std::string& what) {
    return Fail(context, {base::Code::kInvalid, "lease: " + what + "; see: trainctl lease --help"});
  }

  base::Result<v1::LeaseWish> Wish() const {
    if (!gpus_ || !seconds_) {
      return base::Error{
          base::Code::kInvalid,
          "lease " + words_.front() + ": how many devices, and for how long? --gpus 4 --for 3h"};
    }
    v1::LeaseWish wish;
    wish.set_devices(*gpus_);
    wish.set_host(host_);
    wish.set_gpu_model(model_);
    wish.set_seconds(*seconds_);
    if (start_.empty()) return wish;
    const base::Result<int64_t> start = ParseCalendarTime(start_);
    if (!start.ok()) return base::Error{start.error().code, "--start " + start.error().message};
    wish.set_start(*start);
    return wish;
  }

  int Create(Context& context, Api& api) const {
    base::Result<v1::LeaseWish> wish = Wish();
    if (!wish.ok()) return Fail(context, wish.error());
    v1::CreateLeaseRequest request;
    request.set_request_id(context.surroundings.new_request_id());
    if (words_.size() > 1) request.set_name(words_[1]);
    *request.mutable_wish() = *wish;
    const auto made = AskAgain(context, api, &Api::CreateLease, request);
    if (!made.ok()) return Fail(context, made.error());
    return Show(context, made->lease(),
                "Leased " + made->lease().name() + ": " + Devices(made->lease()) + " " +
                    SpanText(made->lease().start(), made->lease().end()) +
                    "\nIts jobs: trainctl submit job.json --within " + made->lease().name() + "\n");
  }

  int Find(Context& context, Api& api) const {
    base::Result<v1::LeaseWish> wish = Wish();
    if (!wish.ok()) return Fail(context, wish.error());
    v1::FindLeaseRequest request;
    *request.mutable_wish() = *wish;
    const base::Result<v1::FindLeaseResponse> found = api.FindLease(request);
    if (!found.ok()) return Fail(context, found.error());
    Listing listing{.collection = "blocks", .table = TextTable({{"START"}, {"DEVICES"}})};
    listing.records.push_back(
        {{"start", record::Seconds(found->start())},
         {"devices", std::vector<std::string>(found->workers().begin(), found->workers().end())}});
    listing.table.AddRow({LocalAndUtc(found->start()), Join(found->workers(), " ")});
    return Tell(context,
                "Free " + SpanText(found->start(), found->start() + *seconds_ * 1'000'000) + ": " +
                    Join(found->workers(), " ") + "\n",
                listing);
  }

  int List(Context& context, Api& api) const {
    if (words_.size() > 1) return Wrong(context, words_.front() + " takes no name");
    if (ics_ && context.format_given)
      return Wrong(context, "--ics is a form of its own, without -o");
    const base::Result<v1::LeasesResponse> leases = api.Leases();
    if (!leases.ok()) return Fail(context, leases.error());
    if (ics_) {
      *context.surroundings.out << ICalendar(*leases) << std::flush;  // with its line ends
      return kExitOk;
    }
    if (context.for_people() && leases->leases().empty()) {
      Say(context, "no leases\n");
      return kExitOk;
    }
    if (words_.front() == "ls" || !context.for_people()) return Print(context, ListLeases(*leases));
    Say(context, CalendarText(*leases));
    return kExitOk;
  }

  base::Result<v1::Lease> Named(const v1::LeasesResponse& leases) const {
    const auto lease = std::ranges::find(leases.leases(), words_[1], &v1::Lease::name);
    if (lease != leases.leases().end()) return *lease;
    return base::Error{base::Code::kNotFound, "no lease '" + words_[1] +
                                                  "', or it is over; trainctl lease ls lists "
                                                  "them"};
  }

  int Describe(Context& context, Api& api) const {
    const base::Result<v1::LeasesResponse> leases = api.Leases();
    if (!leases.ok()) return Fail(context, leases.error());
    const base::Result<v1::Lease> lease = Named(*leases);
    if (!lease.ok()) return Fail(context, lease.error());
    return Show(context, *lease, DescribeLease(*lease, leases->grace_us()));
  }

  int Extend(Context& context, Api& api) const {
    if (!seconds_) return Wrong(context, "extend: by how much? --for 1h");
    const base::Result<v1::LeasesResponse> leases = api.Leases();
    if (!leases.ok()) return Fail(context, leases.error());
    const base::Result<v1::Lease> lease = Named(*leases);
    if (!lease.ok()) return Fail(context, lease.error());
    v1::ExtendLeaseRequest request;
    request.set_name(words_[1]);
    request.set_seconds(*seconds_);
    request.set_end_was(lease->end());
    const auto longer = AskAgain(context, api, &Api::ExtendLease, request);
    if (!longer.ok()) return Fail(context, longer.error());
    return Show(context, longer->lease(),
                "Extended " + words_[1] + ": it ends " + LocalAndUtc(longer->lease().end()) + "\n");
  }

  int Delete(Context& context, Api& api) const {
    v1::DeleteLeaseRequest request;
    request.set_name(words_[1]);
    const base::Result<v1::DeleteLeaseResponse> deleted = api.DeleteLease(request);
    if (!deleted.ok()) return Fail(context, deleted.error());
    std::vector<std::string> jobs;
    for (const v1::LeaseJob& job : deleted->lease().jobs()) jobs.push_back(job.id());
    return Show(context, deleted->lease(),
                "Deleted " + words_[1] + "." +
                    (jobs.empty() ? ""
                                  : " Its jobs save where they keep checkpoints, and end: " +
                                        Join(jobs, ", ")) +
                    "\n");
  }

  static std::string Devices(const v1::Lease& lease) {
    return Plural(lease.workers_size(), "device") + ", " + Join(lease.workers(), " ") + ",";
  }

  // For people the words; else its record.
  static int Show(Context& context, const v1::Lease& lease, const std::string& words) {
    v1::LeasesResponse one;
    *one.add_leases() = lease;
    return Tell(context, words, ListLeases(one));
  }

  std::vector<std::string> words_;
  std::optional<int64_t> gpus_, seconds_;
  std::string host_, model_, start_;
  bool ics_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeLease() { return std::make_unique<Lease>(); }

}  // namespace trainctl::client
