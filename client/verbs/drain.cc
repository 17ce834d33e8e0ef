#include "client/exit_code.h"
#include "client/show/format.h"
#include "client/show/lease_text.h"
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
    return Tell(
        context,
        "Drained " + target_ + ": nothing new is placed there. " +
            (jobs.empty() ? "Nothing runs there." : "Still there: " + Join(jobs, ", ")) + "\n" +
            LeasesNote(response->leases()),
        OneRecord("drained", "target",
                  {{"target", target_}, {"jobs", jobs}, {"leases", NamesOf(response->leases())}}));
  }

 private:
  std::string target_;
  std::string reason_;
};

class Undrain : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("WORKER|HOST", &target_, "what was drained; of a host all its devices");
    arguments.Switch("--faults", &faults_, "of a host: its devices' faults end too");
    arguments.Remark(
        "Of a device that is named itself (HOST/0) faults end too, BAD and SUSPECT, and that it is "
        "marked as slow. Of a host they stay, and are said.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    v1::UndrainRequest request;
    request.set_target(target_);
    request.set_faults(faults_);
    const base::Result<v1::UndrainResponse> response = (*api)->Undrain(request);
    if (!response.ok()) return Fail(context, response.error());
    std::string text = "Nothing kept jobs away from " + target_ + ".\n";
    if (response->ended_size() > 0) text = "Undrained " + target_ + ". Ended:\n";
    for (const std::string& what : response->ended()) text += "  " + what + "\n";
    if (response->kept_size() > 0) text += "Nothing new is placed yet where faults stay:\n";
    for (const std::string& what : response->kept()) text += "  " + what + "\n";
    const std::vector<std::string> ended(response->ended().begin(), response->ended().end());
    const std::vector<std::string> kept(response->kept().begin(), response->kept().end());
    return Tell(
        context, text,
        OneRecord("undrained", "target", {{"target", target_}, {"ended", ended}, {"kept", kept}}));
  }

 private:
  std::string target_;
  bool faults_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeDrain() { return std::make_unique<Drain>(); }
std::unique_ptr<Verb> MakeUndrain() { return std::make_unique<Undrain>(); }

}  // namespace trainctl::client
