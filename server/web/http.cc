#include "server/web/http.h"

#include "common/record/document.h"

namespace trainctl::web {
namespace {

int StatusOf(base::Code code) {
  switch (code) {
    case base::Code::kInvalid: return 400;
    case base::Code::kDenied: return 403;
    case base::Code::kNotFound: return 404;
    case base::Code::kConflict: return 405;  // a method that changes something
    case base::Code::kExhausted:
    case base::Code::kUnavailable: return 503;
    case base::Code::kIo:
    case base::Code::kInternal: return 500;
  }
  return 500;
}

}  // namespace

Response ErrorResponse(const base::Error& error) {
  return {StatusOf(error.code), std::string(kJsonType),
          record::RenderDocument({{"error", error.message}})};
}

}  // namespace trainctl::web
