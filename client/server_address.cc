#include "client/server_address.h"

#include <charconv>
#include <utility>

#include "client/configuration.h"
#include "common/base/file.h"

namespace trainctl::client {
namespace {

constexpr size_t kMaxAddressBytes = 1 << 10;

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

base::Result<NamedServer> OfContext(const Configuration& configuration, const std::string& name,
                                    const std::string& place) {
  const auto found = configuration.contexts.find(name);
  if (found == configuration.contexts.end()) {
    std::string names;
    for (const auto& [known, context] : configuration.contexts)
      names += (names.empty() ? "" : ", ") + known;
    return base::Error{base::Code::kInvalid,
                       place + ": no context '" + name + "': expected " +
                           (names.empty() ? "one that trainctl context add has made" : names)};
  }
  const SiteContext& context = found->second;
  if (const base::Status is_address = Check(context.address, place + ": context " + name);
      !is_address.ok())
    return is_address.error();
  if (context.ca_file.empty() || context.token_file.empty()) {
    return base::Error{base::Code::kInvalid,
                       place + ": context " + name +
                           ": \"ca\" and \"token_file\" must name files, for it is reached with "
                           "TLS: trainctl context add writes them"};
  }
  return NamedServer{.address = context.address,
                     .file = "",
                     .context = name,
                     .ca_file = context.ca_file,
                     .token_file = context.token_file};
}

}  // namespace

base::Result<NamedServer> ResolveContext(const std::string& name, const std::string& place,
                                         const std::string& configuration_file) {
  const auto configuration = ReadConfiguration(configuration_file);
  if (!configuration.ok()) return configuration.error();
  return OfContext(*configuration, name, place);
}

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
    const base::Result<Configuration> configuration = ReadConfiguration(configuration_file);
    if (!configuration.ok()) return configuration.error();
    if (!configuration->used.empty())
      return OfContext(*configuration, configuration->used, configuration_file);
    if (!configuration->server.empty()) return OfFile(configuration->server, configuration_file);
  }
  for (const std::string& file : address_files) {
    const base::Result<std::string> text = base::ReadFile(file, kMaxAddressBytes);
    if (text.ok() && !text->empty()) return OfFile(text->substr(0, text->find('\n')), file);
  }
  return NamedServer();
}

}  // namespace trainctl::client
