#include "worker/shim/control_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "common/base/error_number.h"

namespace trainctl::shim {
base::Result<SocketName> NameSocket(const std::string& folder) {
  base::Descriptor fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.open()) return base::OsError("cannot open the folder " + folder, errno);
  std::string path = "/proc/self/fd/" + std::to_string(fd.get()) + "/shim.sock";
  return SocketName{std::move(fd), std::move(path)};
}

base::Result<ControlSocket> ControlSocket::Listen(const std::string& folder) {
  const base::Result<SocketName> name = NameSocket(folder);
  if (!name) return name.error();
  ControlSocket control;
  control.listener_ =
      base::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!control.listener_.open()) return base::OsError("cannot make a Unix socket", errno);
  ::unlink(name->path.c_str());
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name->path.c_str(), name->path.size() + 1);
  const bool bound = ::bind(control.listener_.get(), reinterpret_cast<const sockaddr*>(&address),
                            sizeof address) == 0;
  if (!bound || ::chmod(name->path.c_str(), 0600) != 0 ||
      ::listen(control.listener_.get(), 8) != 0) {
    return base::OsError("cannot listen on " + folder + "/shim.sock", errno);
  }
  return control;
}

bool ControlSocket::Accept() {
  base::Descriptor caller(
      ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!caller.open()) return false;
  Disconnect();
  connection_ = std::move(caller);
  return true;
}

void ControlSocket::Disconnect() {
  connection_.Close();
  lines_.Clear();
  outgoing_.clear();
}

void ControlSocket::Read(const std::function<void(std::string_view)>& take) {
  char bytes[64 << 10];
  const ssize_t got = ::read(connection_.get(), bytes, sizeof bytes);
  if (got > 0) {
    lines_.Append({bytes, static_cast<size_t>(got)}, take);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    Disconnect();
  }
}

bool ControlSocket::Send(const std::string& line) {
  if (!connection_.open() || sending()) return false;
  outgoing_ = line + '\n';
  Flush();
  return true;
}

void ControlSocket::Flush() {
  while (!outgoing_.empty()) {
    const ssize_t sent =
        ::send(connection_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return Disconnect();
    if (sent <= 0) return;
    outgoing_.erase(0, static_cast<size_t>(sent));
  }
}

}  // namespace trainctl::shim
