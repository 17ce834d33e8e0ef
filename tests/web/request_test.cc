// What is looked at of a request before it is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/web/guard.h"
#include "server/web/target.h"

namespace trainctl::web {
namespace {

using testing::ElementsAre;

TEST(Target, PathAndParametersAreDecoded) {
  const auto target = ParseTarget("/api/job?job=my%20lab+2&job=j1&empty=&flag&%C3%BC=%3Cb%3E");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->path, "/api/job");
  EXPECT_THAT(target->All("job"), ElementsAre("my lab 2", "j1"));
  EXPECT_EQ(target->One("ü"), "<b>");
  EXPECT_EQ(target->One("flag"), "");
  EXPECT_EQ(target->One("not there"), "");
}

TEST(Target, WhatCanNotBeReadIsRefused) {
  std::string many = "/?a=1";
  for (size_t i = 0; i < kMaxParameters; ++i) many += "&a=1";
  for (const std::string& text :
       {std::string(""), std::string("api"), std::string("*"), std::string("http://a/b"),
        std::string("/?a=%"), std::string("/?a=%4"), std::string("/?a=%4g"), std::string("/%ff"),
        std::string("/?a=%c3%28"), many}) {
    const auto target = ParseTarget(text);
    ASSERT_FALSE(target.ok()) << text.substr(0, 40);
    EXPECT_EQ(target.error().code, base::Code::kInvalid);
  }
}

TEST(Target, NumbersHaveBounds) {
  const Target target = ParseTarget("/?a=5&b=x&c=99999999999999999999&d=-1").value();
  EXPECT_EQ(NumberOf(target, "a", {1, 10, 7}).value(), 5);
  EXPECT_EQ(NumberOf(target, "e", {1, 10, 7}).value(), 7);
  EXPECT_FALSE(NumberOf(target, "a", {6, 10, 7}).ok());
  EXPECT_EQ(NumberOf(target, "b", {1, 10, 7}).error().message,
            "b: 'x': expected a number from 1 to 10");
  EXPECT_FALSE(NumberOf(target, "c", {1, 10, 7}).ok());
  EXPECT_FALSE(NumberOf(target, "d", {0, 10, 7}).ok());
}

TEST(Guard, ProgramsAndOwnPagesPassByEachNameOfLoopback) {
  for (const char* host :
       {"127.0.0.1:40001", "localhost:40001", "localhost", "[::1]:80", "[::1]", "127.3.2.1:1"}) {
    EXPECT_TRUE(CheckHeaders({"GET", host, "", "", ""}).ok()) << host;
    const std::string origin = "http://" + std::string(host);
    EXPECT_TRUE(CheckHeaders({"GET", host, origin, "same-origin", "cors"}).ok()) << host;
  }
  EXPECT_TRUE(CheckHeaders({"HEAD", "localhost", "", "none", "navigate"}).ok());
  EXPECT_TRUE(CheckHeaders({"GET", "localhost", "", "cross-site", "navigate"}).ok()) << "a link";
}

TEST(Guard, ANameThatLeadsToLoopbackIsRefused) {
  for (const char* host : {"evil.example:40001", "127.0.0.1.evil.example", "", "0.0.0.0:80",
                           "192.168.1.2:80", "localhost.evil.example:80", "127.0.0.1:x", "[::2]"}) {
    const base::Status status = CheckHeaders({"GET", host, "", "", ""});
    ASSERT_FALSE(status.ok()) << host;
    EXPECT_EQ(status.error().code, base::Code::kDenied) << host;
  }
}

TEST(Guard, AnotherSitesPageIsRefused) {
  const Headers other_origin{"GET", "localhost:1", "http://localhost:2", "", ""};
  const Headers other_port{"GET", "localhost:1", "", "same-site", "no-cors"};
  const Headers other_site{"GET", "localhost:1", "", "cross-site", "cors"};
  for (const Headers& headers : {other_origin, other_port, other_site}) {
    EXPECT_EQ(CheckHeaders(headers).error().code, base::Code::kDenied);
  }
}

TEST(Guard, WithTlsItIsTheNamesOfTheCertificate) {
  const std::vector<std::string> hosts = {"gpu-host", "10.0.0.7", "::1"};
  for (const char* host : {"gpu-host:7444", "GPU-Host", "10.0.0.7:1", "[::1]:7444", "[::1]"}) {
    EXPECT_TRUE(CheckHeaders({"GET", host, "", "", ""}, &hosts).ok()) << host;
    const std::string origin = "https://" + std::string(host);
    EXPECT_TRUE(CheckHeaders({"GET", host, origin, "same-origin", "cors"}, &hosts).ok()) << host;
  }
  for (const char* host :
       {"evil.example:7444", "gpu-host.evil.example", "", "localhost:7444", "127.0.0.1:7444",
        "10.0.0.71", "[::2]:7444", "[", ":7444", "gpu-host:1:2"})
    EXPECT_FALSE(CheckHeaders({"GET", host, "", "", ""}, &hosts).ok()) << host;
  EXPECT_FALSE(CheckHeaders({"GET", "gpu-host", "http://gpu-host", "", ""}, &hosts).ok());
}

TEST(Guard, OwnPagesAloneSignIn) {
  const std::vector<std::string> hosts = {"gpu-host"};
  const auto posted = [&](const char* origin, const char* site, const char* mode,
                          std::string_view target = kSignInPath) {
    return CheckHeaders({"POST", "gpu-host", origin, site, mode, target}, &hosts).ok();
  };
  EXPECT_TRUE(posted("https://gpu-host", "same-origin", "cors"));
  EXPECT_TRUE(posted("https://gpu-host", "same-origin", "cors", kSignOutPath));
  EXPECT_TRUE(posted("", "", "")) << "a program";
  EXPECT_FALSE(posted("https://evil.example", "cross-site", "no-cors"));
  EXPECT_FALSE(posted("null", "cross-site", "navigate")) << "a form";
  EXPECT_FALSE(posted("", "cross-site", "navigate"));
  EXPECT_FALSE(posted("https://gpu-host:1", "same-site", "cors"));
  EXPECT_FALSE(posted("", "", "", "/api/site"));
  EXPECT_FALSE(CheckHeaders({"POST", "localhost", "", "", "", kSignInPath}).ok()) << "without TLS";
}

TEST(Guard, OnlyMethodsThatChangeNothing) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", "<x>"}) {
    EXPECT_FALSE(CheckHeaders({method, "localhost", "", "", ""}).ok()) << method;
  }
}

}  // namespace
}  // namespace trainctl::web
