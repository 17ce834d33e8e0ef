#include "client/naming.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/site_time.h"
#include "client/submit/follow.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class Wait : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("JOB", &options_.jobs, "ids or names of jobs and groups",
                          /*required=*/true);
    arguments.Duration("--timeout", &options_.timeout_seconds,
                       "stop waiting after this time (exit status 124); the jobs go on");
    arguments.Remark(
        "Exit status: 0 all succeeded or ended as expected; 10 failed or not as expected; 11 out "
        "of memory; 12 cancelled; 13 diverged; 14 met its time_limit; "
        "124 --timeout is over.\n"
        "Ctrl-C stops waiting and never ends a job.");
  }

  int Run(Context& context) override {
    options_.jobs = NewestMeant(context, options_.jobs);
    options_.again = Join(options_.jobs, " ");
    const Followed followed = Follow(context, options_);
    if (!context.for_people())
      Print(context, ListJobs(followed.jobs, SiteTime(followed.jobs, context.clock())));
    return followed.exit_code;
  }

 private:
  FollowOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakeWait() { return std::make_unique<Wait>(); }

}  // namespace trainctl::client
