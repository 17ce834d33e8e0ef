#include "client/show/lease_text.h"

#include <map>
#include <vector>

#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

Style LeaseStyle(const v1::Lease& lease) {
  const std::optional<job::LeaseState> state = StateOf(lease);
  if (!state) return Style::kPlain;
  switch (*state) {
    case job::LeaseState::kUpcoming: return Style::kPlain;
    case job::LeaseState::kActive: return Style::kGood;
    case job::LeaseState::kEnding: return Style::kWarning;
  }
  return Style::kPlain;
}

// "a/0 (BAD) a/1": in a word what is wrong with them.
std::string DevicesCell(const v1::Lease& lease) {
  std::map<std::string, std::string> marks;
  for (const v1::LeaseDevice& device : lease.devices()) {
    const std::string& trouble = device.trouble();
    if (!trouble.empty())
      marks[device.worker()] = " (" + trouble.substr(0, trouble.find_first_of(": ")) + ")";
  }
  std::vector<std::string> devices;
  for (const std::string& worker : lease.workers()) devices.push_back(worker + marks[worker]);
  return Join(devices, " ");
}

std::string LengthText(int64_t start, int64_t end) {
  return base::FormatDuration((end - start) / 1'000'000);
}

// Of RFC 5545: these characters end a value, or begin an escape.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == ';' || c == ',') escaped += '\\';
    const auto byte = static_cast<unsigned char>(c);
    escaped += byte < ' ' || byte == 0x7f ? ' ' : c;
  }
  return escaped;
}

// A line of an iCalendar: of more than 75 bytes it goes on in the next, behind a space; a character
// of UTF-8 stays whole.
std::string ContentLine(const std::string& line) {
  constexpr size_t kMost = 74;
  std::string folded;
  size_t length = 0;
  for (const char c : line) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (begins && length + 4 > kMost) {
      folded += "\r\n ";
      length = 1;
    }
    folded += c;
    ++length;
  }
  return folded + "\r\n";
}

std::string EventOf(const v1::Lease& lease) {
  const std::string devices = Join(lease.workers(), " ");
  return ContentLine("BEGIN:VEVENT") +
         ContentLine("UID:" + std::to_string(lease.created_at()) + "-" + Escaped(lease.name()) +
                     "@trainctl") +
         ContentLine("DTSTAMP:" + CalendarStamp(lease.created_at())) +
         ContentLine("DTSTART:" + CalendarStamp(lease.start())) +
         ContentLine("DTEND:" + CalendarStamp(lease.end())) +
         ContentLine("SUMMARY:" +
                     Escaped(lease.name() + ": " + Plural(lease.workers_size(), "device") + " of " +
                             lease.owner())) +
         ContentLine("LOCATION:" + Escaped(devices)) + ContentLine("END:VEVENT");
}

}  // namespace

std::string SpanText(int64_t start, int64_t end) {
  return "from " + LocalAndUtc(start) + " to " + LocalAndUtc(end) + ", " + LengthText(start, end);
}

std::string LeasesNote(const google::protobuf::RepeatedPtrField<v1::Lease>& leases) {
  std::string text = leases.empty() ? "" : "It is leased:\n";
  for (const v1::Lease& lease : leases)
    text += "  " + lease.name() + " of " + lease.owner() + ", " +
            SpanText(lease.start(), lease.end()) + "\n";
  return text;
}

std::vector<std::string> NamesOf(const google::protobuf::RepeatedPtrField<v1::Lease>& leases) {
  std::vector<std::string> names;
  for (const v1::Lease& lease : leases) names.push_back(lease.name());
  return names;
}

Listing ListLeases(const v1::LeasesResponse& response) {
  Listing listing{
      .collection = "leases",
      .table = TextTable(
          {{"LEASE"}, {"OWNER"}, {"STATE"}, {"START"}, {"END"}, {"JOBS", true}, {"DEVICES"}}),
      .name_key = "name"};
  for (const v1::Lease& lease : response.leases()) {
    listing.records.push_back(LeaseRecord(lease));
    listing.table.AddRow({lease.name(),
                          lease.owner(),
                          {lease.state(), LeaseStyle(lease)},
                          LocalAndUtc(lease.start()),
                          LocalAndUtc(lease.end()),
                          std::to_string(lease.jobs_size()),
                          DevicesCell(lease)});
  }
  return listing;
}

std::string DescribeLease(const v1::Lease& lease, int64_t grace_us) {
  std::string text =
      "lease " + lease.name() + " of " + lease.owner() + ": " + lease.state() + "\n  " +
      SpanText(lease.start(), lease.end()) + "\n  " + Plural(lease.workers_size(), "device") +
      (lease.device_name().empty() ? "" : " (" + lease.device_name() + ")") + ": " +
      Join(lease.workers(), " ") + "\n  its jobs are stopped " +
      LocalAndUtc(lease.end() - grace_us) + ", and save where they keep checkpoints\n";
  for (const v1::LeaseDevice& device : lease.devices()) {
    if (!device.trouble().empty())
      text += "  " + device.worker() + " is " + InLocalTime(device.trouble()) + "\n";
  }
  if (lease.jobs().empty()) text += "  no jobs\n";
  for (const v1::LeaseJob& job : lease.jobs())
    text += "  " + job.id() + " " + job.name() + ": " + job.state() + "\n";
  return text;
}

std::string CalendarText(const v1::LeasesResponse& response) {
  std::string text, day;
  for (const v1::Lease& lease : response.leases()) {  // by their start
    const std::string its_day = LocalDay(lease.start());
    if (its_day != day)
      text += (text.empty() ? "" : "\n") + its_day + ", " + LocalZone(lease.start()) + "\n";
    day = its_day;
    const std::string end_day = LocalDay(lease.end());
    text += "  " + LocalMinute(lease.start()) + "–" + LocalMinute(lease.end()) +
            (end_day == its_day ? "" : " (" + end_day + ")") + "  " + lease.name() + ", " +
            lease.owner() + ": " + Join(lease.workers(), " ") + "\n";
  }
  return text;
}

std::string ICalendar(const v1::LeasesResponse& response) {
  std::string text = ContentLine("BEGIN:VCALENDAR") + ContentLine("VERSION:2.0") +
                     ContentLine("PRODID:-//trainctl//leases//EN");
  for (const v1::Lease& lease : response.leases()) text += EventOf(lease);
  return text + ContentLine("END:VCALENDAR");
}

}  // namespace trainctl::client
