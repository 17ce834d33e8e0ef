// Who comes over TLS, and how browsers sign in. A request says who makes it by what it brings:
//
//   Authorization: Bearer TOKEN    a program, as with gRPC; Prometheus
//   Authorization: Code CODE       once: the link of `trainctl ui`
//   Cookie: __Host-trainctl-…      a browser's session, which a sign-in with either has begun
//
// The cookie is for this site's pages alone (SameSite=Strict), for TLS alone, and no script reads
// it. What is said in vain counts against the address it came from, and is audited. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/auth/call_rate.h"
#include "server/auth/sign_ins.h"
#include "server/auth/site_keys.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/web/http.h"

namespace trainctl::web {

class Door {
 public:
  // So many in vain from an address at once, then one a second.
  static constexpr auth::RateBound kFailures{.per_second = 1, .burst = 10};

  // All outlive it.
  struct Parts {
    const base::Clock& clock;
    const auth::SiteKeys& keys;
    auth::SignIns& sign_ins;
    coordinator::EventLoop& loop;
    coordinator::Coordinator& coordinator;
    std::string site;  // its id: sites of one host have different cookies
  };
  explicit Door(const Parts& parts);

  const auth::SiteKeys& keys() const { return parts_.keys; }

  // What of a request's head says who makes it; empty: it says nothing.
  struct Shown {
    std::string_view authorization, cookie;
  };
  // address: where it comes from, "10.0.0.7:40312". kDenied: nobody that is known. kExhausted: too
  // many in vain from there; nothing was looked at.
  base::Result<auth::Caller> CallerBy(const Shown& shown, const std::string& address);

  // As auth::SignIns::StillHolds.
  base::Status StillHolds(const auth::Caller& caller) const {
    return parts_.sign_ins.StillHolds(caller);
  }

  // Begins a session of the request's caller; the answer has its cookie. It is answered, maybe on
  // the loop's thread, once the audit log has it.
  void SignIn(const auth::Caller& caller, std::function<void(Response)> answer);
  // Ends the caller's session, if it has one.
  Response SignOut(const auth::Caller& caller);
  // To the audit log: somebody was not let in.
  void TellRefusal(const auth::Caller& caller, const base::Error& error);

 private:
  base::Result<auth::Caller> ByAuthorization(std::string_view value);
  base::Result<auth::Caller> ByCookie(std::string_view cookies) const;

  const Parts parts_;
  const std::string cookie_;  // its name
  auth::CallRate failures_;
};

}  // namespace trainctl::web
