// Requests and answers, without the library that reads and writes them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "server/auth/caller.h"
#include "server/web/target.h"

namespace trainctl::web {

struct Request {
  Target target;
  auth::Caller caller;
  bool live = false;                // asked again and again: the answer may be a moment old
  bool posted = false;              // it changes something
  base::Status known = base::Ok{};  // over TLS: or why the caller is not
};

struct Response {
  int status = 200;
  std::string type;  // "application/json"
  std::string body;
  std::string cookie = {};  // that a browser is to keep or to forget; empty: none
};

inline constexpr int kTooManyRequests = 429;
inline constexpr std::string_view kJsonType = "application/json";

// {"schema": …, "error": "…"} with the status that fits the code.
Response ErrorResponse(const base::Error& error);

// Once, from any thread.
using Answer = std::function<void(Response)>;

// Answers requests that were found to be fit to be looked at. Any thread.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void Handle(Request request, Answer answer) = 0;
};

}  // namespace trainctl::web
