#include "server/web/door.h"

#include <optional>
#include <utility>

#include "common/base/utf8.h"
#include "common/record/document.h"
#include "server/auth/permissions.h"

namespace trainctl::web {
namespace {

constexpr std::string_view kToken = "Bearer ", kCode = "Code ";
constexpr std::string_view kSubject = "dashboard";
constexpr size_t kMaxTextBytes = 256;

std::string Change() { return std::string(auth::PermissionOf("SignIn").change); }

// "a=1; b=2": of the name's first; nullopt: there is none.
std::optional<std::string_view> CookieOf(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    std::string_view pair = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(pair.size() + 1, cookies.size()));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return pair.substr(name.size() + 1);
  }
  return std::nullopt;
}

Response ToldUser(const record::Json& document) {
  return {200, std::string(kJsonType), record::RenderDocument(document)};
}

// __Host-: by this host with TLS, for all its paths, and for no other host.
std::string CookieText(const std::string& name, const std::string& value, int64_t seconds) {
  return name + "=" + value + "; Path=/; Max-Age=" + std::to_string(seconds) +
         "; Secure; HttpOnly; SameSite=Strict";
}

}  // namespace

Door::Door(const Parts& parts)
    : parts_(parts),
      cookie_("__Host-trainctl-" + parts.site),
      failures_(parts.clock, [](const std::string&) { return kFailures; }) {}

base::Result<auth::Caller> Door::CallerBy(const Shown& shown, const std::string& address) {
  auth::Caller unknown{.address = address, .tls = true};
  const std::string everyone = auth::EveryoneAt(unknown);
  const bool says = !shown.authorization.empty();
  if (const auto refusal = says ? failures_.Look(everyone) : std::nullopt) {
    return base::Error{base::Code::kExhausted,
                       everyone + " has tried in vain too often: try again in " +
                           std::to_string((refusal->wait_ms + 999) / 1000) + " s"};
  }
  auto caller = says ? ByAuthorization(shown.authorization) : ByCookie(shown.cookie);
  if (caller) {
    caller->address = address;
  } else if (says) {
    failures_.Take(everyone);
    TellRefusal(unknown, caller.error());
  }
  return caller;
}

base::Result<auth::Caller> Door::ByAuthorization(std::string_view value) {
  if (value.starts_with(kCode)) return parts_.sign_ins.UseCode(value.substr(kCode.size()));
  if (!value.starts_with(kToken)) {
    return base::Error{base::Code::kDenied,
                       "the header Authorization: expected \"Bearer \" and a token"};
  }
  const auto token = parts_.keys.tokens().Find(value.substr(kToken.size()));
  if (!token) return token.error();
  return auth::CallerOf(*token);
}

base::Result<auth::Caller> Door::ByCookie(std::string_view cookies) const {
  if (const auto text = CookieOf(cookies, cookie_)) return parts_.sign_ins.Find(*text);
  return base::Error{base::Code::kDenied,
                     "who asks is not known: trainctl ui makes a link that signs in, and a "
                     "program brings a token (Authorization: Bearer)"};
}

void Door::SignIn(const auth::Caller& caller, std::function<void(Response)> answer) {
  const auto text = parts_.sign_ins.Begin(caller);
  if (!text) {
    TellRefusal(caller, text.error());
    return answer(ErrorResponse(text.error()));
  }
  const auto stored = [this, caller, answer, text = *text](const base::Status& status) {
    if (!status) {
      if (const auto begun = parts_.sign_ins.Find(text)) parts_.sign_ins.End(begun->session);
      return answer(ErrorResponse(status.error()));
    }
    Response response = ToldUser({{"user", caller.name}});
    response.cookie = CookieText(cookie_, text, auth::SignIns::kSessionSeconds);
    answer(std::move(response));
  };
  parts_.loop.Dispatch([this, caller, stored] {
    parts_.coordinator.RecordChange(caller, Change(), std::string(kSubject), stored);
  });
}

Response Door::SignOut(const auth::Caller& caller) {
  parts_.sign_ins.End(caller.session);
  Response response = ToldUser({{"user", nullptr}});
  response.cookie = CookieText(cookie_, "", 0);
  return response;
}

void Door::TellRefusal(const auth::Caller& caller, const base::Error& error) {
  coordinator::RefusedChange refused{
      caller, Change(), std::string(kSubject),
      (error.code == base::Code::kDenied ? "denied: " : "refused: ") +
          base::Excerpt(error.message, kMaxTextBytes)};
  parts_.loop.Dispatch([&coordinator = parts_.coordinator, refused = std::move(refused)] {
    coordinator.RecordRefusal(refused);
  });
}

}  // namespace trainctl::web
