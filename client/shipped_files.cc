#include "client/shipped_files.h"

#include <filesystem>

namespace trainctl::client {

std::vector<std::string> ShippedPlaces(const Surroundings& surroundings, const std::string& name) {
  const std::filesystem::path program = surroundings.program_directory;
  return {(program / "../../deploy" / name).lexically_normal().string(),
          (program / "../share/trainctl" / name).lexically_normal().string()};
}

base::Result<std::string> FindShipped(const Surroundings& surroundings, const std::string& name) {
  std::string looked;
  for (const std::string& place : ShippedPlaces(surroundings, name)) {
    std::error_code error;
    if (std::filesystem::exists(place, error)) return place;
    looked += (looked.empty() ? "" : " nor ") + place;
  }
  return base::Error{
      base::Code::kNotFound,
      "neither " + looked + " is there: was trainctl copied without what belongs to it?"};
}

}  // namespace trainctl::client
