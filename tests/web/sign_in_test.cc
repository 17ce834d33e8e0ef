// The dashboard over TLS, as people with tokens use it: who is let in to which route, how a browser
// signs in and out, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>

#include "common/base/secret_file.h"
#include "proto/trainctl.grpc.pb.h"
#include "server/auth/permissions.h"
#include "server/web/api.h"
#include "server/web/guard.h"
#include "tests/rpc/tls_site.h"
#include "tests/web/http_client.h"

namespace trainctl::web_test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Stub = v1::Coordinator::Stub;

std::string Bearer(const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; }
std::string ByCode(const std::string& code) { return "Authorization: Code " + code + "\r\n"; }

class SignInTest : public testing::Test {
 protected:
  // A call over TLS with a token, or without one over loopback.
  template <class Request, class Response>
  grpc::Status Call(const std::string& token,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + rpc_test::kDeadline);
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return (v1::Coordinator::NewStub(token.empty() ? site_.LocalChannel() : site_.Channel()).get()
                ->*method)(&context, request, response);
  }
  struct Made {
    int64_t id = 0;
    std::string text;
  };
  Made Token(const std::string& owner, const std::string& role, const std::string& scope = "") {
    v1::CreateTokenRequest request;
    request.set_owner(owner);
    request.set_role(role);
    request.set_seconds(3600);
    request.set_scope(scope);
    v1::CreateTokenResponse response;
    const auto status = Call("", &Stub::CreateToken, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {response.token().id(), response.text()};
  }
  void Revoke(int64_t token) {
    v1::RevokeTokenRequest request;
    request.set_id(token);
    v1::RevokeTokenResponse response;
    EXPECT_TRUE(Call("", &Stub::RevokeToken, request, &response).ok());
  }
  std::string Code(const std::string& token) {
    v1::SignInResponse response;
    const auto status = Call(token, &Stub::SignIn, v1::SignInRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.code();
  }
  std::string Submit(const std::string& token, const std::string& name) {
    v1::SubmitRequest request;
    request.set_request_id("request of " + name);
    request.add_jobs()->set_job_json(rpc_test::JobJson(name));
    request.mutable_jobs(0)->set_inspection_json(rpc_test::InspectionJson());
    v1::SubmitResponse response;
    const auto status = Call(token, &Stub::Submit, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.jobs(0).id();
  }
  // "ACTOR VERDICT" of each sign-in in the audit log, the newest first.
  std::vector<std::string> Audited() {
    v1::AuditRequest request;
    request.set_limit(1000);
    v1::AuditResponse response;
    EXPECT_TRUE(Call("", &Stub::Audit, request, &response).ok());
    std::vector<std::string> told;
    for (const v1::AuditEntry& entry : response.entries()) {
      if (entry.action() == "sign-in") told.push_back(entry.actor() + " " + entry.verdict());
    }
    return told;
  }

  HttpClient Open() { return HttpClient(site_.dashboard(), site_.ca()); }
  Reply Get(const std::string& target, const std::string& more_lines) {
    HttpClient client(site_.dashboard(), site_.ca());
    return Ask(client, GetText(site_.dashboard(), target, more_lines));
  }
  Reply Post(const std::string& target, const std::string& more_lines) {
    HttpClient client(site_.dashboard(), site_.ca());
    return Ask(
        client,
        "POST" +
            GetText(site_.dashboard(), target, more_lines + "Content-Length: 0\r\n").substr(3));
  }
  // The line that a browser sends which has signed in.
  std::string SignIn(const std::string& authorization) {
    const Reply reply = Post("/api/sign-in", authorization);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const auto cookie = reply.headers.find("set-cookie");
    if (cookie == reply.headers.end()) return "";
    return "Cookie: a=b; " + cookie->second.substr(0, cookie->second.find(';')) + "\r\n";
  }

  rpc_test::TlsSite site_;
};

TEST_F(SignInTest, NobodyIsSignedInOfWhomTheAuditLogCannotSaySo) {
  const std::string token = Token("anna", "user").text;
  std::filesystem::rename(site_.database(), site_.database() + ".kept");
  const Reply refused = Post("/api/sign-in", Bearer(token));
  EXPECT_EQ(refused.status, 500);
  EXPECT_THAT(refused.body, HasSubstr("moved away"));
  EXPECT_FALSE(refused.headers.contains("set-cookie"));
  std::filesystem::rename(site_.database() + ".kept", site_.database());
  EXPECT_EQ(Get("/api/site", SignIn(Bearer(token))).status, 200);
  EXPECT_EQ(Audited().front(), "anna accepted");
}

// What a route needs of its parameters, on this job.
std::string TargetOf(const web::Api::Route& route, const std::string& job) {
  if (route.path == "/assets/") return "/assets/common.js";
  return std::string(route.path) + "?job=" + job + "&group=" + job + "&name=loss&rank=0";
}

TEST_F(SignInTest, EveryRouteByEveryRoleOnOwnAndForeignJobsIsAsTheTableSays) {
  struct Person {
    auth::Caller caller;
    std::string line;  // empty: not known
    std::string own = {};
  };
  std::vector<Person> people = {
      {{.role = auth::Role::kNone}, ""},
      {{.role = auth::Role::kNone}, "Cookie: none=1\r\n"},
      {{.name = "worker:gpu-2", .role = auth::Role::kNone}, Bearer(Token("gpu-2", "worker").text)}};
  for (const char* role : {"viewer", "user", "operator", "admin"}) {
    const std::string owner = "of-" + std::string(role), token = Token(owner, role).text;
    const auth::Caller caller{.name = owner, .role = auth::ParseRole(role).value()};
    const std::string own = role == std::string("viewer") ? "" : Submit(token, owner);
    people.push_back({caller, Bearer(token), own});
    people.push_back({caller, SignIn(Bearer(token)), own});
  }
  for (const char* scope : {"read", "submit"}) {  // the one signs in, the other may not
    const std::string token = Token("ci", "user", scope).text;
    const auth::Caller caller{
        .name = "ci", .role = auth::Role::kUser, .scopes = auth::Scopes::Parse(scope).value()};
    people.push_back({caller, Bearer(token)});
    if (scope == std::string("read")) people.push_back({caller, SignIn(Bearer(token))});
  }
  const std::string foreign = Submit(Token("bob", "user").text, "of-bob");
  int asked = 0;
  const auto expect = [&](const web::Api::Route& route, const Person& person, bool is_own) {
    const std::string target = TargetOf(route, is_own ? person.own : foreign);
    const Reply reply = route.posted ? Post(target.substr(0, target.find('?')), person.line)
                                     : Get(target, person.line);
    const std::string owner = is_own ? person.caller.name : "bob";
    const bool expected =
        route.rpc.empty() || auth::CheckOwner(person.caller, route.rpc, "it", owner).ok();
    const bool allowed = reply.status != 401 && reply.status != 403;
    EXPECT_EQ(allowed, expected) << target << " by " << person.caller.name << ": " << reply.status;
    EXPECT_EQ(reply.status == 401, !expected && person.caller.name.empty()) << target;
    ++asked;
    if (route.posted || !route.path.starts_with("/api/")) return;
    HttpClient live = Open();
    live.Send(GetText(site_.dashboard(), "/api/live" + target.substr(4), person.line));
    const std::string head = live.ReceiveUntil("\r\n\r\n");
    EXPECT_EQ(head.find(" 401 ") == std::string::npos, !person.caller.name.empty()) << head;
    if (!person.caller.name.empty()) {
      EXPECT_EQ(live.ReceiveUntil("\n\n").find(" needs the ") == std::string::npos, expected)
          << target << " live, by " << person.caller.name;
    }
  };
  for (const web::Api::Route& route : web::Api::Routes()) {
    if (!route.rpc.empty()) {  // what is shown is everybody's: nothing asks whose it is
      const auth::Permission& row = auth::PermissionOf(route.rpc);
      EXPECT_EQ(row.own, row.any) << route.path;
    }
    if (route.path == web::kSignOutPath) continue;  // ends what the others go by
    for (const Person& person : people) {
      expect(route, person, false);
      if (!person.own.empty()) expect(route, person, true);
    }
  }
  EXPECT_GT(asked, 300);
  EXPECT_EQ(Post("/api/sign-out", "").status, 401);
  EXPECT_EQ(Get("/nothing", "").status, 401) << "nor is told what there is";
}

TEST_F(SignInTest, ALinkSignsInOnceWithACookieThatNoScriptAndNoOtherSiteHas) {
  const std::string code = Code(Token("anna", "user").text);
  const Reply reply = Post("/api/sign-in", ByCode(code));
  EXPECT_EQ(reply.status, 200) << reply.body;
  const std::string& cookie = reply.headers.at("set-cookie");
  EXPECT_THAT(cookie, testing::StartsWith("__Host-trainctl-"));
  for (const char* part :
       {"; Path=/", "; Max-Age=43200", "; Secure", "; HttpOnly", "; SameSite=Strict"})
    EXPECT_THAT(cookie, HasSubstr(part));
  const std::string line = "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
  EXPECT_EQ(Json::parse(Get("/api/site", line).body)["user"], "anna");
  const Reply again = Post("/api/sign-in", ByCode(code));
  EXPECT_EQ(again.status, 401);
  EXPECT_EQ(again.headers.count("set-cookie"), 0u);
  EXPECT_THAT(again.body, HasSubstr("was used already"));
  EXPECT_THAT(Audited(), testing::ElementsAre(testing::StartsWith("unknown denied: this link was"),
                                              "anna accepted"));
}

TEST_F(SignInTest, ATokenThatIsNotForReadingSignsNobodyIn) {
  const Reply reply = Post("/api/sign-in", Bearer(Token("ci", "user", "submit").text));
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.headers.count("set-cookie"), 0u);
  EXPECT_THAT(reply.body, HasSubstr("SignIn needs the scope read"));
  EXPECT_THAT(Audited(), testing::ElementsAre(testing::StartsWith("ci denied: token ")));
}

TEST_F(SignInTest, WhoIsNotKnownGetsThePageThatSignsInAndNothingElse) {
  for (const char* page : {"/", "/job?job=j1", "/compare", "/metrics"}) {
    const Reply reply = Get(page, "");
    EXPECT_EQ(reply.status, 401) << page;
    EXPECT_THAT(reply.body, HasSubstr("<h1>Sign in</h1>")) << page;
    EXPECT_THAT(reply.headers.at("content-security-policy"), HasSubstr("default-src 'none'"));
  }
  for (const char* asset : {"/sign-in", "/assets/sign-in.js", "/assets/style.css"})
    EXPECT_EQ(Get(asset, "").status, 200) << asset;
  EXPECT_EQ(Get("/api/site", "").status, 401);
  EXPECT_THAT(Get("/api/site", "").body, HasSubstr("trainctl ui"));
}

TEST_F(SignInTest, ARevokedTokenEndsItsSessionAndItsStreams) {
  const Made anna = Token("anna", "viewer"), bob = Token("bob", "viewer");
  const std::string hers = SignIn(Bearer(anna.text)), his = SignIn(ByCode(Code(bob.text)));
  HttpClient live = Open();
  live.Send(GetText(site_.dashboard(), "/api/live/site", hers));
  EXPECT_NE(live.ReceiveUntil("data: "), "");
  EXPECT_EQ(Get("/api/site", hers).status, 200);
  Revoke(anna.id);
  EXPECT_EQ(Get("/api/site", hers).status, 401);
  EXPECT_THAT(live.ReceiveToEnd(), HasSubstr("event: problem\ndata: {"));
  EXPECT_EQ(Get("/api/site", his).status, 200);
  EXPECT_EQ(Post("/api/sign-in", Bearer(anna.text)).status, 401);
}

TEST_F(SignInTest, SigningOutEndsTheSessionInEveryTab) {
  const std::string token = Token("anna", "user").text;
  const std::string line = SignIn(Bearer(token)), other = SignIn(Bearer(token));
  HttpClient live = Open();
  live.Send(GetText(site_.dashboard(), "/api/live/site", line));
  EXPECT_NE(live.ReceiveUntil("data: "), "");
  const Reply reply = Post("/api/sign-out", line);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.headers.at("set-cookie"), HasSubstr("=; Path=/; Max-Age=0;"));
  EXPECT_EQ(Get("/api/site", line).status, 401);
  EXPECT_THAT(live.ReceiveToEnd(), HasSubstr("event: problem"));
  EXPECT_EQ(Get("/api/site", other).status, 200);
}

TEST_F(SignInTest, AUserOfTheCoordinatorsHostSignsInToo) {
  const std::string line = SignIn(ByCode(Code("")));
  const Json site = Json::parse(Get("/api/site", line).body);
  EXPECT_FALSE(site["user"].get<std::string>().empty());
}

TEST_F(SignInTest, WhoTriesInVainTooOftenIsNotHeardAndOthersAre) {
  const std::string token = Token("anna", "user").text, line = SignIn(Bearer(token));
  int status = 401;
  for (int i = 0; i < 100 && status == 401; ++i)
    status = Post("/api/sign-in", ByCode("wrong")).status;
  EXPECT_EQ(status, 429);
  EXPECT_EQ(Get("/api/site", Bearer("wrong")).status, 429);
  EXPECT_EQ(Get("/", Bearer(token)).status, 429) << "from the same address, by a token";
  EXPECT_EQ(Get("/api/site", line).status, 200) << "by a session";
  const std::vector<std::string> audited = Audited();
  EXPECT_GE(audited.size(), 10u);
  EXPECT_LE(audited.size(), 20u);
  EXPECT_EQ(audited.back(), "anna accepted");
  for (const std::string& entry : audited) EXPECT_EQ(entry.find("wrong"), std::string::npos);
}

TEST_F(SignInTest, OtherNamesAndOtherPagesAreRefused) {
  const std::string line = SignIn(Bearer(Token("anna", "user").text));
  const auto status = [&](const std::string& head) {
    HttpClient client = Open();
    return Ask(client, head + "\r\n" + line + "Content-Length: 0\r\n\r\n").status;
  };
  const std::string own = "Host: " + site_.dashboard();
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\n" + own), 200);
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\nHost: gpu-host:1"), 200);
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\nHost: evil.example"), 403);
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\n" + own + "\r\nOrigin: https://evil.example"), 403);
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\n" + own + "\r\nSec-Fetch-Site: cross-site"), 403);
  EXPECT_EQ(status("POST /api/sign-out HTTP/1.1\r\n" + own + "\r\nOrigin: https://evil.example"),
            403);
  EXPECT_EQ(status("POST /api/sign-out HTTP/1.1\r\n" + own + "\r\nOrigin: null"), 403);
  EXPECT_EQ(status("POST /api/site HTTP/1.1\r\n" + own), 405);
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\n" + own), 200) << "still signed in";
}

TEST_F(SignInTest, WhoSpeaksNoTlsGetsNothing) {
  HttpClient plain(site_.dashboard());
  plain.Send(GetText(site_.dashboard(), "/"));
  EXPECT_EQ(plain.ReceiveToEnd().find("HTTP/1.1 200"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::web_test
