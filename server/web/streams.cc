#include "server/web/streams.h"

#include <utility>

namespace trainctl::web {

base::Result<boost::asio::ssl::context> MakeTlsContext(const auth::SiteKeys& keys) {
  using Context = boost::asio::ssl::context;
  Context context(Context::tls_server);
  boost::system::error_code error;
  const auto step = [&error](auto&& act) {
    if (!error) act();
  };
  const auto& own = keys.coordinator();
  step([&] {
    context.set_options(
        Context::default_workarounds | Context::no_sslv3 | Context::no_tlsv1 | Context::no_tlsv1_1,
        error);
  });
  step([&] { context.use_certificate_chain(boost::asio::buffer(own.certificate), error); });
  step([&] { context.use_private_key(boost::asio::buffer(own.key), Context::pem, error); });
  if (error) {
    return base::Error{base::Code::kInvalid,
                       "--site-keys: the coordinator's certificate or key: " + error.message()};
  }
  return context;
}

}  // namespace trainctl::web
