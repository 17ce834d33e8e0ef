// Which coordinator is meant: --server or --context, then TRAINCTL_SERVER, then TRAINCTL_CONTEXT.
// Then comes what the user's configuration file has in use (configuration.h), and last the
// coordinator that this machine runs.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace trainctl::client {

// "host:port" with a port of 1 … 65535; IPv6 as "[::1]:7070".
bool IsServerAddress(const std::string& text);

struct NamedServer {
  std::string address;
  std::string file;  // that names it; empty: the command line or the environment does

  // Its name; it is reached with TLS. Empty: it is none of the configuration's sites, and has none.
  std::string context;
  std::string ca_file;
  std::string token_file;
};

// The site of that name. kInvalid: there is none, or it names no files; the message says where the
// name stands, and which there are.
base::Result<NamedServer> ResolveContext(const std::string& name, const std::string& place,
                                         const std::string& configuration_file);

// An empty address where none is named anywhere. kInvalid: an address that is none, or a
// configuration file that can't be read; the message says where it stands. address_files: as
// --address-file of traincoordinator writes them; the first that can be read, and is not empty,
// counts.
base::Result<NamedServer> ResolveServer(const std::string& option, const std::string& environment,
                                        const std::string& configuration_file,
                                        const std::vector<std::string>& address_files = {});

}  // namespace trainctl::client
