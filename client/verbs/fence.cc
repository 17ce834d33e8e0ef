#include "client/exit_code.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class Fence : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("WORKER", &worker_, "a LOST worker, as trainctl workers names it");
    arguments.Switch("--yes", &sure_,
                     "its host is off, was started anew, or was seen to run nothing of the job");
    arguments.Remark(
        "A job that may restart waits until its old ranks are known to have ended: by their "
        "worker's word, by a restart of its host, or\n"
        "by this. Fencing a worker whose rank still runs lets the job run twice at once, over the "
        "same files.");
  }

  int Run(Context& context) override {
    if (!sure_) {
      return Fail(context,
                  {base::Code::kInvalid,
                   "fence " + worker_ +
                       ": is it certain that nothing of the job runs on its host any more? "
                       "If a rank still runs, the job would run twice at once. If so, add --yes"});
    }
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    v1::FenceRequest request;
    request.set_worker(worker_);
    if (const auto response = (*api)->Fence(request); !response.ok())
      return Fail(context, response.error());
    return Tell(context,
                "Fenced " + worker_ +
                    ": what ran there is taken as ended. Its device is used again once the worker "
                    "is back.\n",
                OneRecord("fenced", "worker", {{"worker", worker_}}));
  }

 private:
  std::string worker_;
  bool sure_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeFence() { return std::make_unique<Fence>(); }

}  // namespace trainctl::client
