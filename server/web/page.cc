#include "server/web/page.h"

#include <algorithm>

#include "server/web/assets.h"

namespace trainctl::web {
namespace {

constexpr std::string_view kAssetsFolder = "/assets/";

std::string NameOf(const std::string& path) {
  if (path == "/") return "site.html";
  if (path.starts_with(kAssetsFolder)) return path.substr(kAssetsFolder.size());
  return path.substr(1) + ".html";
}

std::string_view TypeOf(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

}  // namespace

Response PageOf(const std::string& path) {
  const std::string name = NameOf(path);
  const auto found = std::ranges::find(Assets(), name, &Asset::name);
  if (found == Assets().end())
    return ErrorResponse({base::Code::kNotFound, "no page of that name; the first one is /"});
  return {200, std::string(TypeOf(name)), std::string(found->text)};
}

}  // namespace trainctl::web
