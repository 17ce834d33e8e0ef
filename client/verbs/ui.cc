#include "client/exit_code.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

class Ui : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Remark(
        "The pages show hosts, devices and jobs as they change; a job's curves, memory and log; "
        "runs side by side.\n"
        "They are served on the coordinator's host to users of that host. From another machine:\n"
        "  ssh -L 7080:ADDRESS HOST     then open http://localhost:7080/");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const base::Result<v1::WorkersResponse> response = (*api)->Workers();
    if (!response.ok()) return Fail(context, response.error());
    if (response->dashboard().empty()) {
      return Fail(context, {base::Code::kNotFound,
                            "this coordinator serves no dashboard: start traincoordinator with "
                            "--dashboard 127.0.0.1:7080"});
    }
    context.out << "http://" << response->dashboard() << "/" << std::endl;
    return kExitOk;
  }
};

}  // namespace

std::unique_ptr<Verb> MakeUi() { return std::make_unique<Ui>(); }

}  // namespace trainctl::client
