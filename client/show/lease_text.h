// Leases for people and calendars.
#pragma once

#include <string>
#include <vector>

#include "client/show/output.h"
#include "common/record/lease_record.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

using record::LeaseRecord;
// Of what happens to devices that leases have: which those are, a line each. Empty: none.
std::string LeasesNote(const google::protobuf::RepeatedPtrField<v1::Lease>& leases);
std::vector<std::string> NamesOf(const google::protobuf::RepeatedPtrField<v1::Lease>& leases);
// As a listing of "leases".
Listing ListLeases(const v1::LeasesResponse& response);
// "from 2026-12-01 14:00 CET (13:00 UTC) to …, 3h".
std::string SpanText(int64_t start, int64_t end);
// One lease, whole.
std::string DescribeLease(const v1::Lease& lease, int64_t grace_us);
// The days with leases, each device's turns in order. Empty: there are none.
std::string CalendarText(const v1::LeasesResponse& response);
// The same as an iCalendar (RFC 5545).
std::string ICalendar(const v1::LeasesResponse& response);

}  // namespace trainctl::client
