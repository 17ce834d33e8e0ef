// How a host obtains its first certificate: by a join token, which is good for one.
#pragma once

#include <memory>
#include <string>

#include "common/base/result.h"
#include "worker/agent/host_keys.h"

namespace grpc {
class ChannelCredentials;
}

namespace trainctl::agent {

struct JoinOptions {
  std::string coordinator;  // HOST:PORT
  std::string authority_file;
  std::string token_file;  // of mode 0600
  std::string keys;        // the folder to be filled
  std::string host;        // this one's name, for which the token must be
};

// Makes a key, has it certified, and keeps both in the folder; the token file is useless then.
// kDenied: the token is no good, or the listener is not the site's; kUnavailable; kInvalid; kIo.
base::Status Join(const JoinOptions& options);

// Of a channel to the coordinator; without a certificate where keys have none.
std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const HostKeys& keys);

}  // namespace trainctl::agent
