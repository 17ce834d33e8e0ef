// The embedded files as answers. Pure.
#pragma once

#include <string>

#include "server/web/http.h"

namespace trainctl::web {

// "/": the site's page; "/job"; "/compare"; "/assets/NAME". 404 of another path.
Response PageOf(const std::string& path);

}  // namespace trainctl::web
