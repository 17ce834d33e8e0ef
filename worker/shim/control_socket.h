// Where a worker speaks to the shim: a Unix stream socket <folder>/shim.sock, newline-delimited
// JSON both ways. Several workers may connect over time; the newest wins and the one before is
// closed. Worker → shim, one object a line:
//   {"type":"terminate","grace_seconds":n}   SIGTERM to the rank's group, after the grace SIGKILL
//                                            to the whole tree
//   {"type":"stored","sequence":n}           messages up to n are stored elsewhere: the spool may
//                                            forget them
//   {"type":"metrics", …}                    a message for the spool, in order with the rank's own
//   anything else                            a command for the rank, passed on as it is
// Shim → worker:
//   {"type":"data","messages":n,"log_bytes":m}   how much there is in all; the data itself is read
//                                                from the files
//   {"type":"files","error":n}                   log or messages are held in memory, since the disk
//                                                refuses them by that errno; 0: no more
//   {"type":"terminating"}                       a terminate has come
//   {"type":"exit", …}                           the shim ends, and this is what exit.json says
// Folders whose path is longer than a socket's name may be (108 bytes) work: the name goes through
// /proc/self/fd.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "worker/shim/line_buffer.h"

namespace trainctl::shim {

// A name for <folder>/shim.sock that is short enough to bind or connect to. The folder must stay
// open for as long as the name is used.
struct SocketName {
  base::Descriptor folder;
  std::string path;
};
// Errors as OsError: the folder can't be opened.
base::Result<SocketName> NameSocket(const std::string& folder);

class ControlSocket {
 public:
  // Errors as OsError: the folder can't be opened, or the socket can't be made.
  static base::Result<ControlSocket> Listen(const std::string& folder);

  int listener() const { return listener_.get(); }
  int connection() const { return connection_.get(); }  // -1: nobody is connected
  bool sending() const { return !outgoing_.empty(); }

  // Takes the newest caller, if one waits. True: there is a new connection.
  bool Accept();
  // Reads what has come; calls take for each line. Closes the connection at its end.
  void Read(const std::function<void(std::string_view)>& take);
  // False: the peer has not read what was sent before; nothing is queued.
  bool Send(const std::string& line);
  // Goes on sending.
  void Flush();

 private:
  void Disconnect();

  base::Descriptor listener_;
  base::Descriptor connection_;
  LineBuffer lines_{1 << 20};
  std::string outgoing_;
};

}  // namespace trainctl::shim
