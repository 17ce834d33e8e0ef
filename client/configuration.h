// The user's configuration file: {"server": "HOST:PORT"}, or sites by name with the one in use:
// {"context": "lab", "contexts": {"lab": {"address": "gpu-host:7443", "ca": "/…/ca.pem",
// "token_file": "/…/token"}}}. What else it holds is kept.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "common/base/result.h"

namespace trainctl::client {

// A site that is reached with TLS.
struct SiteContext {
  std::string address;  // HOST:PORT
  std::string ca_file;  // whose authority its certificate must be of
  std::string token_file;
};

struct Configuration {
  std::string server;  // of a coordinator on loopback; may be empty
  std::string used;    // a name of contexts; empty: none
  std::map<std::string, SiteContext> contexts;
};

// Empty where there is no file. kInvalid: it can't be read; the message names it.
base::Result<Configuration> ReadConfiguration(const std::string& path);

// As `change` leaves it, in a file for its owner alone; its folder is made. `change` fails:
// nothing is written. kInvalid. kIo.
base::Status ChangeConfiguration(const std::string& path,
                                 const std::function<base::Status(Configuration&)>& change);

}  // namespace trainctl::client
