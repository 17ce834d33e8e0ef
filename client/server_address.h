// Which coordinator is meant: --server, then TRAINCTL_SERVER, then the user's configuration file
// {"server": "HOST:PORT"}, then the coordinator that this machine runs.
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
};

// An empty address where none is named anywhere. kInvalid: an address that is none, or a
// configuration file that can't be read; the message says where it stands. address_files: as
// --address-file of traincoordinator writes them; the first that can be read, and is not empty,
// counts.
base::Result<NamedServer> ResolveServer(const std::string& option, const std::string& environment,
                                        const std::string& configuration_file,
                                        const std::vector<std::string>& address_files = {});

}  // namespace trainctl::client
