#include "client/server_address.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/file.h"

namespace trainctl::client {
namespace {

constexpr size_t kMaxConfigurationBytes = 1 << 20;
constexpr size_t kMaxAddressBytes = 1 << 10;

base::Error Malformed(const std::string& path) {
  return {base::Code::kInvalid, path +
                                    ": expected a JSON object such as {\"server\": \"host:7070\"}; "
                                    "correct or remove the file"};
}

base::Result<std::string> ServerOfFile(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path, kMaxConfigurationBytes);
  if (!text.ok() && text.error().code == base::Code::kNotFound) return std::string();
  if (!text.ok()) return base::Error{base::Code::kInvalid, text.error().message};
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Malformed(path);
  if (!json.contains("server")) return std::string();
  if (!json["server"].is_string()) return Malformed(path);
  return json["server"].get<std::string>();
}

base::Status Check(const std::string& address, const std::string& place) {
  if (IsServerAddress(address)) return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     place + ": '" + address + "': expected HOST:PORT, such as 127.0.0.1:7070"};
}

base::Result<NamedServer> OfFile(std::string address, const std::string& file) {
  if (const base::Status is_address = Check(address, file); !is_address.ok())
    return is_address.error();
  return NamedServer{std::move(address), file};
}

// Of the command line or the environment.
base::Result<NamedServer> OfUser(const std::string& address, const std::string& place) {
  if (const base::Status is_address = Check(address, place); !is_address.ok())
    return is_address.error();
  return NamedServer{.address = address};
}

}  // namespace

bool IsServerAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  const bool plain_host = text.find(':') == colon;
  if (!plain_host && (text.front() != '[' || text[colon - 1] != ']')) return false;
  int port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  return error == std::errc() && stop == end && port >= 1 && port <= 65535;
}

base::Result<NamedServer> ResolveServer(const std::string& option, const std::string& environment,
                                        const std::string& configuration_file,
                                        const std::vector<std::string>& address_files) {
  if (!option.empty()) return OfUser(option, "--server");
  if (!environment.empty()) return OfUser(environment, "TRAINCTL_SERVER");
  if (!configuration_file.empty()) {
    const base::Result<std::string> server = ServerOfFile(configuration_file);
    if (!server.ok()) return server.error();
    if (!server->empty()) return OfFile(*server, configuration_file);
  }
  for (const std::string& file : address_files) {
    const base::Result<std::string> text = base::ReadFile(file, kMaxAddressBytes);
    if (text.ok() && !text->empty()) return OfFile(text->substr(0, text->find('\n')), file);
  }
  return NamedServer();
}

}  // namespace trainctl::client
