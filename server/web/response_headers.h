// What every answer says to browsers: show nothing but this site's own files, guess no types, keep
// nothing.
#pragma once

#include <boost/beast/http.hpp>

#include "server/web/http.h"

namespace trainctl::web {

using Message = boost::beast::http::response<boost::beast::http::string_body>;

Message MakeMessage(Response response, bool keep_alive);

}  // namespace trainctl::web
