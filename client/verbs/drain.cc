#include "client/exit_code.h"
#include "client/show/format.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class Drain : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("WORKER|HOST", &target_, "a device or a host, as trainctl workers has it");
    arguments.Text("--reason", "TEXT", &reason_, "for the others: shown by workers and status");
    arguments.Remark(
        "Jobs that run there go on. It stays drained, also when the worker or the coordinator is "
        "started anew, until undrain.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    v1::DrainRequest request;
    request.set_target(target_);
    request.set_reason(reason_);
    const base::Result<v1::DrainResponse> response = (*api)->Drain(request);
    if (!response.ok()) return Fail(context, response.error());
    const std::vector<std::string> jobs(response->jobs().begin(), response->jobs().end());
    Say(context, "Drained " + target_ + ": nothing new is placed there. " +
                     (jobs.empty() ? "Nothing runs there." : "Still there: " + Join(jobs, ", ")) +
                     "\n");
    return kExitOk;
  }

 private:
  std::string target_;
  std::string reason_;
};

class Undrain : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("WORKER|HOST", &target_, "what was drained; of a host all its devices");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    v1::UndrainRequest request;
    request.set_target(target_);
    if (const auto response = (*api)->Undrain(request); !response.ok())
      return Fail(context, response.error());
    Say(context, "Undrained " + target_ + ": jobs are placed there again.\n");
    return kExitOk;
  }

 private:
  std::string target_;
};

}  // namespace

std::unique_ptr<Verb> MakeDrain() { return std::make_unique<Drain>(); }
std::unique_ptr<Verb> MakeUndrain() { return std::make_unique<Undrain>(); }

}  // namespace trainctl::client
