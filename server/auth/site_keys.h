// The keys of a site that is reached with TLS: a folder with its authority (ca.pem, ca.key), the
// coordinator's certificate (coordinator.pem, coordinator.key) and the tokens (tokens,
// token_table.h). Hosts that were revoked stand in it too (revoked, revoked_hosts.h). Keys and
// tokens have mode 0600. Whoever reads ca.key can be any worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/tls/certificates.h"
#include "server/auth/revoked_hosts.h"
#include "server/auth/token_table.h"

namespace trainctl::auth {

// Makes all of them in this folder, and admin.token, an admin's token for a year. hosts: the names
// and addresses that people reach the coordinator by; those of loopback are added. kConflict: one
// of the files is there. kDenied: the folder is not our own, or others may write there. kInvalid: a
// host is none. kIo.
base::Status InitSite(const std::string& folder, std::vector<std::string> hosts,
                      const base::Clock& clock);

// Makes the coordinator's certificate and key anew, by the authority of the folder: for other
// hosts, or before its end. Workers and people go on with what they have; a coordinator that runs
// takes it up when it is started again. kInvalid: there is no authority, or a host is none.
// kDenied, kIo.
base::Status CertifyCoordinator(const std::string& folder, std::vector<std::string> hosts,
                                const base::Clock& clock);

// Thread-safe where the clock is.
class SiteKeys {
 public:
  static constexpr int64_t kWorkerCertificateSeconds = int64_t{7} * 86'400;

  // kInvalid: something is missing or damaged, kDenied: a key is open to others; what to do is
  // said. kIo. The clock outlives it.
  static base::Result<std::unique_ptr<SiteKeys>> Open(const std::string& folder,
                                                      const base::Clock& clock);

  const std::string& authority() const { return authority_.certificate; }
  const tls::KeyPair& coordinator() const { return coordinator_; }
  // Names and addresses that the coordinator's certificate is for.
  const std::vector<std::string>& hosts() const { return hosts_; }
  // When the coordinator's certificate ends.
  base::WallMicros expires_at() const { return expires_at_; }
  TokenTable& tokens() { return *tokens_; }
  const TokenTable& tokens() const { return *tokens_; }

  // A certificate for a worker of this host, from hours ago on: clocks of hosts differ. As
  // tls::MakeWorkerCertificate.
  base::Result<std::string> CertifyWorker(const std::string& host,
                                          const std::string& request) const;
  // Of a certificate that a handshake has verified; the connection may be older than its end. When
  // it was made. kDenied: it has expired by now, or its host was revoked since. kInvalid: it is
  // none.
  base::Result<base::WallMicros> CheckCertificate(const std::string& certificate) const;
  // Of a host's certificate that was made then. kDenied: the host was revoked since.
  base::Status CheckUnrevoked(const std::string& host, base::WallMicros made) const;
  // From then on none of the host's certificates and join tokens of before is good. On the disk
  // when it returns. kInvalid: no host's name. kExhausted. kIo: some may be good still.
  base::Status RevokeHost(const std::string& host);
  static base::Status CheckHostName(const std::string& host);  // kInvalid: it is none

 private:
  explicit SiteKeys(const base::Clock& clock) : clock_(clock) {}

  const base::Clock& clock_;
  tls::KeyPair authority_, coordinator_;
  std::vector<std::string> hosts_;
  base::WallMicros expires_at_ = 0;
  std::unique_ptr<TokenTable> tokens_;
  std::unique_ptr<RevokedHosts> revoked_;
};

}  // namespace trainctl::auth
