// A call that changes something once, however often it is made: its request says which one it is,
// or what it changes. Where the answer does not come it is made again, as it was.
#pragma once

#include "client/context.h"
#include "client/submit/patience.h"

namespace trainctl::client {

template <class Response, class Request>
base::Result<Response> AskAgain(Context& context, Api& api,
                                base::Result<Response> (Api::*call)(const Request&),
                                const Request& request) {
  constexpr int kTries = 5;
  for (int tries = 1;; ++tries) {
    base::Result<Response> response = (api.*call)(request);
    if (response.ok() || response.error().code != base::Code::kUnavailable || tries == kTries)
      return response;
    Warn(context, "the coordinator does not answer; trying again");
    context.surroundings.sleep(Patience::kRetrySeconds);
  }
}

}  // namespace trainctl::client
