// The interface of this host that ranks' data goes over.
#pragma once

#include <string>
#include <vector>

namespace trainctl::agent {

// Of the interface that has this address (numeric IPv4 or IPv6); empty: none has.
std::string InterfaceWith(const std::string& address);

// What NCCL is told in a rank's environment, as NAME=value: to use that interface and no other.
// None where there is no data interface, or where the user has chosen one in the environment.
std::vector<std::string> NcclInterface(const std::string& data_interface,
                                       const std::vector<std::string>& environment);

}  // namespace trainctl::agent
