#include "worker/agent/rank_records.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/base/file.h"
#include "common/base/parse_number.h"
#include "common/wire/rank_key.h"
#include "worker/shim/log_file.h"

namespace trainctl::agent {
namespace {

constexpr size_t kMaxRecordBytes = 1 << 20;
constexpr size_t kLastLogLines = 20;
constexpr size_t kLastLogBytes = 16 << 10;

std::optional<job::RankKey> ParseFolderName(const std::string& name) {
  const size_t second = name.rfind('-');
  const size_t first =
      second == std::string::npos || second == 0 ? std::string::npos : name.rfind('-', second - 1);
  if (first == std::string::npos) return std::nullopt;
  const auto attempt =
      base::ParseNumber(std::string_view(name).substr(first + 1, second - first - 1));
  const auto rank = base::ParseNumber(std::string_view(name).substr(second + 1));
  if (!attempt || !rank) return std::nullopt;
  const base::Result<job::RankKey> key = wire::ReadRankKey(name.substr(0, first), *attempt, *rank);
  return key ? std::optional(*key) : std::nullopt;
}

// Discarded where it is no object.
nlohmann::json ParseRecord(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  return json.is_object() ? json : nlohmann::json(nlohmann::json::value_t::discarded);
}

// Empty where the file is missing.
std::string ReadRecord(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path, kMaxRecordBytes);
  return text ? *text : std::string();
}

// Lines behind the log's own, for what only shim or worker know.
std::string WithNotes(std::string lines, const shim::ExitRecord& record) {
  const auto add = [&](const std::string& line) {
    if (!lines.empty() && lines.back() != '\n') lines += '\n';
    lines += "[trainworker: " + line + "]\n";
  };
  if (record.lost_log_bytes > 0)
    add("the last " + std::to_string(record.lost_log_bytes) + " bytes are lost: the disk was full");
  if (!record.note.empty()) add(record.note);
  return lines;
}

// The value of a key, or a default where the key is missing or of another type.
template <class T>
T Get(const nlohmann::json& json, const char* key, T otherwise) {
  const auto found = json.find(key);
  if (found == json.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>)
    return found->is_string() ? found->get<T>() : otherwise;
  else if constexpr (std::is_same_v<T, bool>)
    return found->is_boolean() ? found->get<T>() : otherwise;
  else
    return found->is_number_integer() ? found->get<T>() : otherwise;
}

}  // namespace

std::string RankFolder(const std::string& directory, const job::RankKey& key) {
  return directory + "/ranks/" + base::ToString(key.job) + "-" + std::to_string(key.attempt) + "-" +
         std::to_string(key.rank);
}

std::vector<job::RankKey> FindRanks(const std::string& directory) {
  std::vector<job::RankKey> keys;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory + "/ranks", error), end;
       !error && entry != end; entry.increment(error)) {
    if (const auto key = ParseFolderName(entry->path().filename().string())) keys.push_back(*key);
  }
  for (const LiveShim& shim : FindShims(directory)) {
    const std::string name = std::filesystem::path(shim.folder).filename().string();
    if (const auto key = ParseFolderName(name)) keys.push_back(*key);
  }
  std::ranges::sort(keys);
  const auto [begin, end] = std::ranges::unique(keys);
  keys.erase(begin, end);
  return keys;
}

std::vector<LiveShim> FindShims(const std::string& directory) {
  std::vector<LiveShim> shims;
  for (const shim::ProcessStat& process : shim::ListProcesses()) {
    if (process.name != "trainshim" || process.ended()) continue;
    const std::vector<std::string> arguments = shim::ArgumentsOf(process.pid);
    const auto option = std::ranges::find(arguments, "--dir");
    if (option == arguments.end() || option + 1 == arguments.end()) continue;
    if ((option + 1)->starts_with(directory + "/ranks/")) shims.push_back({process, *(option + 1)});
  }
  return shims;
}

std::string ReadSite(const std::string& folder) {
  const nlohmann::json json = ParseRecord(ReadRecord(folder + "/plan.json"));
  return json.is_discarded() ? "" : Get<std::string>(json, "site", "");
}

std::optional<shim::PidRecord> ReadPidRecord(const std::string& folder) {
  const nlohmann::json json = ParseRecord(ReadRecord(folder + "/rank.pid"));
  if (json.is_discarded() || Get<int64_t>(json, "pid", 0) <= 0) return std::nullopt;
  shim::PidRecord record;
  record.pid = static_cast<pid_t>(Get<int64_t>(json, "pid", 0));
  record.start_time = static_cast<uint64_t>(Get<int64_t>(json, "start_time", 0));
  record.session = static_cast<pid_t>(Get<int64_t>(json, "session", 0));
  record.boot_id = Get<std::string>(json, "boot_id", "");
  record.cgroup = Get<std::string>(json, "cgroup", "");
  return record;
}

std::optional<shim::ExitRecord> ReadExitRecord(const std::string& folder) {
  return ParseExitRecord(ReadRecord(folder + "/exit.json"));
}

std::optional<shim::ExitRecord> ParseExitRecord(const std::string& text) {
  const nlohmann::json json = ParseRecord(text);
  if (json.is_discarded()) return std::nullopt;
  shim::ExitRecord record;
  if (json.contains("exit_code")) record.exit_code = Get<int>(json, "exit_code", 0);
  if (json.contains("signal")) record.signal = Get<int>(json, "signal", 0);
  record.oom_killed = Get<bool>(json, "oom_killed", false);
  record.launch_error = Get<std::string>(json, "launch_error", "");
  record.worker_fault = Get<bool>(json, "worker_fault", false);
  record.note = Get<std::string>(json, "note", "");
  record.lost_log_bytes = Get<int64_t>(json, "lost_log_bytes", 0);
  for (const nlohmann::json& pid : json.value("leftover_pids", nlohmann::json::array())) {
    if (pid.is_number_integer()) record.leftover_pids.push_back(pid.get<pid_t>());
  }
  record.deadline_came = Get<bool>(json, "deadline_came", false);
  record.boot_id = Get<std::string>(json, "boot_id", "");
  record.ended_at = Get<int64_t>(json, "ended_at", 0);
  return record;
}

job::ReportBody ToReport(const shim::ExitRecord& record, const std::string& folder) {
  if (!record.launch_error.empty())
    return job::LaunchFailure{record.launch_error, record.worker_fault};
  job::RankExit exit{
      .oom_killed = record.oom_killed,
      .last_log_lines = WithNotes(shim::LogTail(folder, kLastLogLines, kLastLogBytes), record)};
  if (record.exit_code) exit.exit_code = *record.exit_code;
  if (record.signal) exit.signal = *record.signal;
  if (!exit.exit_code && !exit.signal)
    exit.signal = 9;  // it could not even be reaped: killed, as far as anybody can tell
  return exit;
}

}  // namespace trainctl::agent
