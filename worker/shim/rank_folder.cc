#include "worker/shim/rank_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "worker/shim/line_fields.h"

namespace trainctl::shim {
namespace {

// Joins "key":value pairs to an object.
class JsonObject {
 public:
  void Raw(std::string_view key, const std::string& value) {
    text_ += (text_.empty() ? "" : ",") + Quoted(key) + ":" + value;
  }
  void Number(std::string_view key, int64_t value) { Raw(key, std::to_string(value)); }
  void Text(std::string_view key, std::string_view value) {
    if (!value.empty()) Raw(key, Quoted(value));
  }
  std::string Finish() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string ListOf(const std::vector<pid_t>& pids) {
  std::string list;
  for (const pid_t pid : pids) list += (list.empty() ? "" : ",") + std::to_string(pid);
  return "[" + list + "]";
}

constexpr char kReserve[] = "/exit.reserve";
constexpr char kBallast[] = "/ballast";
constexpr off_t kReserveBytes = 64 << 10;

// Into the space that was taken before.
bool FillReserve(const std::string& path, const std::string& text) {
  const base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.open() &&
         ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         ::ftruncate(file.get(), static_cast<off_t>(text.size())) == 0 && ::fsync(file.get()) == 0;
}

}  // namespace

base::Status Write(const std::string& folder, const PidRecord& record) {
  JsonObject json;
  json.Number("pid", record.pid);
  json.Number("start_time", static_cast<int64_t>(record.start_time));
  json.Number("session", record.session);
  json.Text("boot_id", record.boot_id);
  json.Text("cgroup", record.cgroup);
  return base::WriteFileAtomically(folder + "/rank.pid", json.Finish() + "\n");
}

std::string ToJson(const ExitRecord& record) {
  JsonObject json;
  if (record.exit_code) json.Number("exit_code", *record.exit_code);
  if (record.signal) json.Number("signal", *record.signal);
  if (record.oom_killed) json.Raw("oom_killed", "true");
  json.Text("launch_error", record.launch_error);
  if (record.worker_fault) json.Raw("worker_fault", "true");
  json.Text("note", record.note);
  if (record.lost_log_bytes > 0) json.Number("lost_log_bytes", record.lost_log_bytes);
  if (!record.leftover_pids.empty()) json.Raw("leftover_pids", ListOf(record.leftover_pids));
  if (record.deadline_came) json.Raw("deadline_came", "true");
  json.Text("boot_id", record.boot_id);
  json.Number("ended_at", record.ended_at);
  return json.Finish();
}

base::Status Write(const std::string& folder, const ExitRecord& record) {
  const std::string path = folder + "/exit.json";
  const std::string text = ToJson(record) + "\n";
  const base::Status written = base::WriteFileAtomically(path, text);
  if (written || !FillReserve(folder + kReserve, text)) return written;
  if (::rename((folder + kReserve).c_str(), path.c_str()) != 0) return written;
  return base::Ok{};
}

base::Status ReserveEnd(const std::string& folder) {
  for (const char* name : {kReserve, kBallast}) {
    const std::string path = folder + name;
    const base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    const int error = file.open() ? ::posix_fallocate(file.get(), 0, kReserveBytes) : errno;
    if (error != 0) return base::OsError("cannot reserve " + path, error);
  }
  return base::Ok{};
}

void DropBallast(const std::string& folder) { ::unlink((folder + kBallast).c_str()); }

void DropReserve(const std::string& folder) {
  DropBallast(folder);
  ::unlink((folder + kReserve).c_str());
}

base::Result<base::Descriptor> LockFolder(const std::string& folder) {
  const std::string path = folder + "/shim.lock";
  base::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.open()) return base::OsError("cannot open " + path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK)
    return base::Error{base::Code::kConflict, path + " is held: a shim is alive in this folder"};
  return base::OsError("cannot lock " + path, errno);
}

bool HasRun(const std::string& folder) {
  return ::access((folder + "/rank.pid").c_str(), F_OK) == 0 ||
         ::access((folder + "/exit.json").c_str(), F_OK) == 0;
}

}  // namespace trainctl::shim
