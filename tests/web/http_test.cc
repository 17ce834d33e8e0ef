// The port itself: what it says to browsers, and what it does with peers that misbehave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <vector>

#include "server/web/assets.h"
#include "server/web/server.h"
#include "tests/rpc/test_site.h"
#include "tests/web/http_client.h"

namespace trainctl::web_test {
namespace {

using rpc_test::TestSite;
using testing::HasSubstr;

// Answers with what was asked, or keeps it waiting.
class EchoHandler : public web::Handler {
 public:
  void Handle(web::Request request, web::Answer answer) override {
    if (request.target.path == "/api/never") {
      waiting.push_back(std::move(answer));
      return;
    }
    answer({200, "text/plain", request.target.path + " of " + request.caller.name});
  }
  std::vector<web::Answer> waiting;
};

class WebServer : public testing::Test {
 protected:
  void Start(const web::Limits& limits) {
    const auth::ListenAddress any = auth::ParseListenAddress("127.0.0.1:0").value();
    server_ =
        web::Server::Start(any, {.handler = handler_, .log = log_, .rate = rate_, .limits = limits})
            .value();
    address_ = auth::ToString(server_->address());
  }

  rpc_test::QuietLog log_;
  base::SystemClock clock_;
  auth::CallRate rate_{clock_, [](const std::string&) { return auth::RateBound{}; }};
  EchoHandler handler_;
  std::unique_ptr<web::Server> server_;
  std::string address_;
};

TEST(Web, APageComesWithHeadersThatLetNothingElseIn) {
  const TestSite site;
  const Reply reply = Get(site.dashboard(), "/");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "text/html; charset=utf-8");
  const std::string& policy = reply.headers.at("content-security-policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(reply.headers.count("set-cookie"), 0u);
  EXPECT_EQ(reply.headers.count("access-control-allow-origin"), 0u);
}

TEST(Web, WhatThePagesNameIsThereAndSmall) {
  const TestSite site;
  size_t bytes = 0;
  for (const web::Asset& asset : web::Assets()) {
    bytes += asset.text.size();
    if (asset.name == "chart.js") continue;  // Debian's
    for (const char* danger :
         {" style=\"", " onclick=", "innerHTML", "insertAdjacentHTML", "eval("})
      EXPECT_EQ(asset.text.find(danger), std::string_view::npos) << asset.name << ": " << danger;
  }
  EXPECT_LE(bytes, 400'000u);
  for (const char* target :
       {"/", "/job?job=j1", "/compare", "/assets/style.css", "/assets/icon.svg",
        "/assets/common.js", "/assets/charts.js", "/assets/site.js", "/assets/job.js",
        "/assets/compare.js", "/lab?group=g1", "/queue", "/assets/lab.js", "/assets/queue.js",
        "/assets/sign-in.js"})
    EXPECT_EQ(Get(site.dashboard(), target).status, 200) << target;
  EXPECT_EQ(Get(site.dashboard(), "/assets/../secret").status, 404);
  EXPECT_EQ(Get(site.dashboard(), "/nothing").status, 404);
}

TEST(Web, TheAddressIsInItsFileAndInTheAnswerOfWorkers) {
  TestSite site;
  std::string line;
  std::getline(std::ifstream(site.directory() + "/dashboard.addr") >> std::ws, line);
  EXPECT_EQ(line, site.dashboard());
  v1::WorkersResponse response;
  ASSERT_TRUE(site.Call(&v1::Coordinator::Stub::Workers, {}, &response).ok());
  EXPECT_EQ(response.dashboard(), site.dashboard());
}

TEST(Web, SeveralRequestsGoOverOneConnection) {
  const TestSite site;
  HttpClient client(site.dashboard());
  for (int i = 0; i < 3; ++i) {
    client.Send(GetText(site.dashboard(), "/api/site"));
    EXPECT_EQ(client.Receive().status, 200);
  }
  client.Send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.Receive(/*head_only=*/true).status, 200);
  client.Send(GetText(site.dashboard(), "/api/site", "Connection: close\r\n"));
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_EQ(client.ReceiveToEnd(), "");
}

TEST(Web, OtherNamesOtherPagesAndOtherMethodsAreRefused) {
  const TestSite site;
  const auto status = [&](const std::string& head) {
    HttpClient client(site.dashboard());
    client.Send(head + "\r\n\r\n");
    return client.Receive().status;
  };
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\nHost: evil.example"), 403);
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example"),
            403);
  EXPECT_EQ(status("GET /api/site HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site"), 403);
  EXPECT_EQ(status("POST /api/site HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0"), 405);
  EXPECT_EQ(status("DELETE /api/job?job=j1 HTTP/1.1\r\nHost: localhost"), 405);
}

TEST(Web, WhatIsNoRequestIsRefusedAndOthersAreServed) {
  const TestSite site;
  const auto status = [&](const std::string& bytes) {
    HttpClient client(site.dashboard());
    client.Send(bytes);
    return client.Receive().status;
  };
  EXPECT_EQ(status("\x16\x03\x01 a TLS hello of some kind\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /?a=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /" + std::string(40'000, 'a') + " HTTP/1.1\r\n\r\n"), 431);
  EXPECT_EQ(Get(site.dashboard(), "/").status, 200);
}

TEST_F(WebServer, ConnectionsBeyondTheBoundAreClosedAndThereIsRoomAgainLater) {
  Start({.connections = 2});
  auto first = std::make_unique<HttpClient>(address_);
  auto second = std::make_unique<HttpClient>(address_);
  for (HttpClient* client : {first.get(), second.get()}) {
    client->Send(GetText(address_, "/a"));
    EXPECT_EQ(client->Receive().status, 200);
  }
  EXPECT_EQ(Get(address_, "/a").status, 0);
  first.reset();
  int status = 0;
  while (status == 0) status = Get(address_, "/a").status;  // the end is noticed in a moment
  EXPECT_EQ(status, 200);
}

TEST_F(WebServer, APeerThatSaysNothingIsNotWaitedForForever) {
  Start({.patience = std::chrono::milliseconds(50)});
  HttpClient silent(address_);
  EXPECT_EQ(silent.ReceiveToEnd(), "");
  HttpClient slow(address_);
  slow.Send("GET / HTT");
  EXPECT_EQ(slow.ReceiveToEnd(), "");
}

TEST_F(WebServer, StoppingEndsWhoWaitsAndAnswersThatComeLaterAreDropped) {
  Start({});
  HttpClient idle(address_), live(address_), waiting(address_);
  live.Send(GetText(address_, "/api/live/a"));
  EXPECT_NE(live.ReceiveUntil("data: "), "");
  waiting.Send(GetText(address_, "/api/never"));
  waiting.Send(GetText(address_, "/a"));
  EXPECT_EQ(Get(address_, "/a").status, 200);
  server_->Stop();
  EXPECT_EQ(idle.ReceiveToEnd(), "");
  EXPECT_EQ(waiting.ReceiveToEnd(), "");
  live.ReceiveToEnd();
  for (const web::Answer& answer : handler_.waiting) answer({200, "text/plain", "late"});
  handler_.waiting.clear();  // before the server goes
}

TEST_F(WebServer, LiveStreamsHaveABoundAndTellWhatHasChangedOnly) {
  Start({.live_streams = 1, .live_period = std::chrono::milliseconds(1)});
  HttpClient first(address_);
  first.Send(GetText(address_, "/api/live/a"));
  EXPECT_THAT(first.ReceiveUntil("\r\n\r\n"), HasSubstr("text/event-stream"));
  EXPECT_THAT(first.ReceiveUntil("\n\n"), testing::StartsWith("data: /api/a of "));
  EXPECT_EQ(first.ReceiveUntil("\n\n"), ":\n\n") << "the same document is not told again";
  EXPECT_EQ(Get(address_, "/api/live/a").status, 503);
}

}  // namespace
}  // namespace trainctl::web_test
