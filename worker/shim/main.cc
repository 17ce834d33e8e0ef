// trainshim: see options.cc for its help.
#include <linux/close_range.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include "worker/shim/options.h"

extern char** environ;

int main(int argc, char** argv) {
  namespace base = trainctl::base;
  namespace shim = trainctl::shim;
  ::close_range(3, ~0U, 0);  // whatever the caller left open is not ours, nor the rank's
  const auto parsed = shim::ParseOptions(argc, argv);
  if (!parsed) {
    std::cerr << "trainshim: " << parsed.error().message << std::endl;
    return 2;
  }
  if (const auto* information = std::get_if<shim::Information>(&*parsed)) {
    std::cout << information->text;
    return 0;
  }
  const base::SystemClock clock;
  auto options = std::get<shim::ShimOptions>(*parsed);
  for (char** entry = environ; *entry; ++entry) options.environment.emplace_back(*entry);
  const base::Status ended = shim::Shim(std::move(options), clock).Run();
  if (ended) return 0;
  std::cerr << "trainshim: " << ended.error().message << std::endl;
  return ended.error().code == base::Code::kConflict ? 3 : 1;
}
