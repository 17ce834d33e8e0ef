// A job in Markdown, for people who can't ask the site any more. Pure.
#pragma once

#include <string>

#include "proto/trainctl.pb.h"

namespace trainctl::client {

// State and outcome, settings, attempts with their ranks and causes, predictions beside
// measurements, texts, metrics summed up, events.
std::string JobReport(const v1::JobDetail& detail);

}  // namespace trainctl::client
