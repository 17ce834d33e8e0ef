#include <string>

#include "client/exit_code.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

bool IsLoopback(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

bool IsAnyAddress(const std::string& host) { return host == "0.0.0.0" || host == "[::]"; }

// A dashboard as browsers call it.
struct Served {
  std::string scheme;   // "https://"
  std::string address;  // "127.0.0.1:40001"
  std::string page;     // "/"
};

// What to open, by whoever reaches the coordinator there.
struct Way {
  std::string url;
  std::string tunnel;  // to be kept open meanwhile; empty: none is needed
  std::string host;    // of the dashboard
};

// A loopback address of another host is of no use here.
Way WayTo(const std::string& server, Served served) {
  const std::string host = HostOf(server);
  if (IsAnyAddress(HostOf(served.address)))
    served.address.replace(0, HostOf(served.address).size(), host);
  if (!IsLoopback(served.address) || IsLoopback(server))
    return {served.scheme + served.address + served.page, "", host};
  const bool is_v6 = host.starts_with('[');
  return {
      served.scheme + "localhost:7080" + served.page,
      "ssh -N -L 7080:" + served.address + " " + (is_v6 ? host.substr(1, host.size() - 2) : host),
      host};
}

std::string TextOf(const Way& way) {
  if (way.tunnel.empty()) return way.url + "\n";
  return "The dashboard is served on " + way.host +
         " alone, to users of that host. Keep this open:\n  " + way.tunnel + "\nand open " +
         way.url + "\n";
}

// seconds: for how long the address is good; 0: always.
int TellWay(Context& context, const Way& way, int64_t seconds) {
  return Tell(context, TextOf(way),
              OneRecord("dashboards", "url",
                        {{"url", way.url},
                         {"tunnel", record::TextOrNull(way.tunnel)},
                         {"valid_seconds", record::Known(seconds > 0, seconds)}}));
}

class Ui : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Remark(
        "The pages show hosts, devices and jobs as they change; a job's curves, memory and log; "
        "runs side by side.\n"
        "Of a site that serves them with TLS (traincoordinator --dashboard-tls) it prints a link "
        "that signs the\n"
        "browser in as you, once and within a minute. The session ends after 12 hours, by Sign "
        "out, or with your\n"
        "token. The browser asks about the certificate unless it knows the site's ca.pem.\n"
        "Else they are served on the coordinator's host to users of that host. From another "
        "machine:\n"
        "  ssh -L 7080:ADDRESS HOST     then open http://localhost:7080/");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const base::Result<v1::WorkersResponse> site = (*api)->Workers();
    if (!site.ok()) return Fail(context, site.error());
    const bool by_tls = !context.ca_file.empty() || site->dashboard().empty();
    if (by_tls && !site->dashboard_tls().empty())
      return SignIn(context, **api, site->dashboard_tls());
    if (site->dashboard().empty()) {
      return Fail(context, {base::Code::kNotFound,
                            "this coordinator serves no dashboard: start traincoordinator with "
                            "--dashboard 127.0.0.1:7080, or with --site-keys and --dashboard-tls "
                            "0.0.0.0:7444"});
    }
    return TellWay(context, WayTo(context.server, {"http://", site->dashboard(), "/"}), 0);
  }

 private:
  // The code stands behind '#', which browsers send to nobody.
  static int SignIn(Context& context, Api& api, const std::string& address) {
    const base::Result<v1::SignInResponse> made = api.SignIn();
    if (!made.ok()) return Fail(context, made.error());
    const Way way = WayTo(context.server, {"https://", address, "/sign-in#" + made->code()});
    const int code = TellWay(context, way, made->seconds());
    context.err << "It signs one browser in as you, once and within " << made->seconds() << " s."
                << std::endl;
    return code;
  }
};

}  // namespace

std::unique_ptr<Verb> MakeUi() { return std::make_unique<Ui>(); }

}  // namespace trainctl::client
