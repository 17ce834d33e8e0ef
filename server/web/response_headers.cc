#include "server/web/response_headers.h"

#include <utility>

namespace trainctl::web {

Message MakeMessage(Response response, bool keep_alive) {
  namespace http = boost::beast::http;
  constexpr unsigned kHttp11 = 11;
  Message message(static_cast<http::status>(response.status), kHttp11);
  message.set(http::field::content_type, response.type);
  message.set(http::field::cache_control, "no-store");
  message.set("Content-Security-Policy",
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  message.set("X-Content-Type-Options", "nosniff");
  message.set("X-Frame-Options", "DENY");
  message.set("Referrer-Policy", "no-referrer");
  message.set("Cross-Origin-Resource-Policy", "same-origin");
  message.set("Cross-Origin-Opener-Policy", "same-origin");
  if (response.status == 405) message.set(http::field::allow, "GET, HEAD");
  if (!response.cookie.empty()) message.set(http::field::set_cookie, response.cookie);
  message.keep_alive(keep_alive);
  message.body() = std::move(response.body);
  message.prepare_payload();
  return message;
}

}  // namespace trainctl::web
