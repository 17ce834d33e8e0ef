#include "common/peer/socket_diag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace trainctl::peer {
namespace {

constexpr int kEstablishedState = 1;  // TCP_ESTABLISHED of the kernel
constexpr int kAnswerSeconds = 2;     // the kernel answers at once

struct Question {
  nlmsghdr header{};
  inet_diag_req_v2 request{};
};

class NetlinkSocket {
 public:
  NetlinkSocket() : file_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {
    const timeval patience{kAnswerSeconds, 0};
    if (file_ >= 0) setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~NetlinkSocket() {
    if (file_ >= 0) close(file_);
  }
  NetlinkSocket(const NetlinkSocket&) = delete;
  NetlinkSocket& operator=(const NetlinkSocket&) = delete;

  bool Send(const Question& question) const {
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    return sendto(file_, &question, sizeof question, 0, reinterpret_cast<sockaddr*>(&kernel),
                  sizeof kernel) == static_cast<ssize_t>(sizeof question);
  }
  // The bytes of the kernel's answer; 0: there is none.
  size_t Receive(void* buffer, size_t size) const {
    sockaddr_nl sender{};
    socklen_t sender_size = sizeof sender;
    const ssize_t got =
        recvfrom(file_, buffer, size, 0, reinterpret_cast<sockaddr*>(&sender), &sender_size);
    return got > 0 && sender.nl_pid == 0 ? static_cast<size_t>(got) : 0;
  }

 private:
  const int file_;
};

// In the form of IPv6 the kernel finds sockets of both families.
Question QuestionOf(const Endpoint& local, const Endpoint& remote) {
  Question question;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_INET6;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = ~0u;
  inet_diag_sockid& id = question.request.id;
  id.idiag_sport = htons(local.port);
  id.idiag_dport = htons(remote.port);
  std::memcpy(id.idiag_src, local.address.data(), local.address.size());
  std::memcpy(id.idiag_dst, remote.address.data(), remote.address.size());
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return question;
}

base::Error NoAnswer() {
  return {base::Code::kUnavailable, "the kernel answers no questions about sockets"};
}

}  // namespace

base::Result<std::optional<SocketRecord>> AskForSocket(const Endpoint& local,
                                                       const Endpoint& remote) {
  const NetlinkSocket netlink;
  alignas(nlmsghdr) std::array<char, 4096> buffer;
  if (!netlink.Send(QuestionOf(local, remote))) return NoAnswer();
  const size_t size = netlink.Receive(buffer.data(), buffer.size());
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
  if (size < sizeof *header || header->nlmsg_len > size) return NoAnswer();
  const char* body = buffer.data() + NLMSG_HDRLEN;
  if (header->nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error{};
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof error)) return NoAnswer();
    std::memcpy(&error, body, sizeof error);
    if (error.error == -ENOENT) return std::optional<SocketRecord>();
    return NoAnswer();
  }
  inet_diag_msg answer{};
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len < NLMSG_LENGTH(sizeof answer))
    return NoAnswer();
  std::memcpy(&answer, body, sizeof answer);
  // A socket that listens is found where no connection is.
  const bool stands = answer.idiag_state == kEstablishedState && answer.idiag_inode != 0 &&
                      answer.id.idiag_dport == htons(remote.port);
  if (!stands) return std::optional<SocketRecord>();
  return std::optional(SocketRecord{answer.idiag_uid, answer.idiag_inode});
}

}  // namespace trainctl::peer
