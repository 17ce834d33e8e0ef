// What every member of this room throws where a peer, a transport or a collective fails. There is
// no way to go on with the group: the rank reports it and ends, and the attempt is started again or
// ends as NCCL_ERROR.
#pragma once

#include <stdexcept>

namespace trainctl::comm {

struct CommError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace trainctl::comm
