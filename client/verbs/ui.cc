#include <string>

#include "client/exit_code.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

bool IsLoopback(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

// What to open, by whoever reaches the coordinator there. A loopback address of another host is of
// no use here.
std::string WayTo(const std::string& server, const std::string& dashboard) {
  if (!IsLoopback(dashboard) || IsLoopback(server)) return "http://" + dashboard + "/";
  const std::string host = server.substr(0, server.rfind(':'));
  const bool is_v6 = host.starts_with('[');
  return "The dashboard is served on " + host + " alone, to users of that host. Keep this open:\n" +
         "  ssh -N -L 7080:" + dashboard + " " + (is_v6 ? host.substr(1, host.size() - 2) : host) +
         "\nand open http://localhost:7080/";
}

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
    context.out << WayTo(context.server, response->dashboard()) << std::endl;
    return kExitOk;
  }
};

}  // namespace

std::unique_ptr<Verb> MakeUi() { return std::make_unique<Ui>(); }

}  // namespace trainctl::client
