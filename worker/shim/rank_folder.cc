#include "worker/shim/rank_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

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
  std::string Finish() const { return "{" + text_ + "}\n"; }

 private:
  std::string text_;
};

std::string ListOf(const std::vector<pid_t>& pids) {
  std::string list;
  for (const pid_t pid : pids) list += (list.empty() ? "" : ",") + std::to_string(pid);
  return "[" + list + "]";
}

}  // namespace

base::Status Write(const std::string& folder, const PidRecord& record) {
  JsonObject json;
  json.Number("pid", record.pid);
  json.Number("start_time", static_cast<int64_t>(record.start_time));
  json.Number("session", record.session);
  json.Text("boot_id", record.boot_id);
  json.Text("cgroup", record.cgroup);
  return base::WriteFileAtomically(folder + "/rank.pid", json.Finish());
}

base::Status Write(const std::string& folder, const ExitRecord& record) {
  JsonObject json;
  if (record.exit_code) json.Number("exit_code", *record.exit_code);
  if (record.signal) json.Number("signal", *record.signal);
  if (record.oom_killed) json.Raw("oom_killed", "true");
  json.Text("launch_error", record.launch_error);
  if (!record.leftover_pids.empty()) json.Raw("leftover_pids", ListOf(record.leftover_pids));
  json.Text("boot_id", record.boot_id);
  json.Number("ended_at", record.ended_at);
  return base::WriteFileAtomically(folder + "/exit.json", json.Finish());
}

base::Result<Descriptor> LockFolder(const std::string& folder) {
  const std::string path = folder + "/shim.lock";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.open()) {
    const base::Code code = errno == ENOENT ? base::Code::kNotFound : base::Code::kIo;
    return base::Error{code, "cannot open " + path + ": " + std::strerror(errno)};
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK)
    return base::Error{base::Code::kConflict, path + " is held: a shim is alive in this folder"};
  return base::Error{base::Code::kIo, "cannot lock " + path + ": " + std::strerror(errno)};
}

bool HasRun(const std::string& folder) {
  return ::access((folder + "/rank.pid").c_str(), F_OK) == 0 ||
         ::access((folder + "/exit.json").c_str(), F_OK) == 0;
}

}  // namespace trainctl::shim
