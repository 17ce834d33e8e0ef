#include "common/tls/certificate_facts.h"

#include <arpa/inet.h>

#include <ctime>

namespace trainctl::tls {
namespace {

base::WallMicros MicrosOf(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? int64_t{timegm(&parts)} * 1'000'000 : 0;
}

std::string TextOf(const ASN1_STRING* text) {
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                     static_cast<size_t>(ASN1_STRING_length(text)));
}

std::string AddressOf(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  const bool is_whole = family == AF_INET || ASN1_STRING_length(address) == 16;
  if (is_whole) inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size());
  return text.data();
}

std::vector<std::string> HostsOf(X509* certificate) {
  std::vector<std::string> hosts;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) hosts.push_back(TextOf(name->d.dNSName));
    if (name->type == GEN_IPADD) hosts.push_back(AddressOf(name->d.iPAddress));
  }
  GENERAL_NAMES_free(names);
  return hosts;
}

std::string NameOf(X509* certificate) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (place < 0) return "";
  return TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
}

}  // namespace

CertificateFacts FactsOf(X509* certificate) {
  return {.name = NameOf(certificate),
          .hosts = HostsOf(certificate),
          .validity = {MicrosOf(X509_get0_notBefore(certificate)),
                       MicrosOf(X509_get0_notAfter(certificate))}};
}

}  // namespace trainctl::tls
