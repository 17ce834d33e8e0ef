#include "worker/agent/artifact_reader.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "common/base/descriptor.h"
#include "common/base/error_number.h"
#include "common/base/saved_folder.h"
#include "common/base/unix_account.h"

namespace trainctl::agent {
namespace {

using Piece = base::Result<job::ArtifactPiece>;

base::Error Changed(const std::string& path) {
  return {base::Code::kConflict, path + " is not what was saved: something else has its place"};
}

// The saved folder or file itself, opened as a place only.
base::Result<base::Descriptor> OpenRoot(const std::string& path, const base::SavedRecord& record,
                                        const base::FileRoots& roots) {
  base::Descriptor root(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (!root.open() || ::fstat(root.get(), &status) != 0) return base::OsError(path, errno);
  if (!record.IsOf(status)) return Changed(path);
  const base::Status within = base::CheckWithin(root, path, base::FileUse::kRead, roots);
  if (!within) return within.error();
  return root;
}

// A file below the root, without following any link; of a root that is a file, itself.
base::Descriptor OpenBelow(const base::Descriptor& root, const std::string& file) {
  struct stat status{};
  if (::fstat(root.get(), &status) == 0 && S_ISREG(status.st_mode))
    return base::Descriptor(::open(("/proc/self/fd/" + std::to_string(root.get())).c_str(),
                                   O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return base::Descriptor(
      static_cast<int>(::syscall(SYS_openat2, root.get(), file.c_str(), &how, sizeof how)));
}

// Neither another file of that name, nor one that was written to since.
bool IsSaved(const base::SavedFile& saved, const struct stat& status) {
  const int64_t modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  return S_ISREG(status.st_mode) && status.st_ino == saved.inode && status.st_size == saved.bytes &&
         (saved.modified_ns == 0 || saved.modified_ns == modified_ns);
}

// Whoever runs a rank can record any file as saved by it.
base::Status TakeRightsOf(const std::string& owner, const job::HostRules& rules) {
  const base::Result<std::string> user = job::UserOf(rules, owner);
  if (!user) return user.error();
  if (user->empty()) return base::Ok{};
  const base::Result<base::UnixAccount> account = base::FindAccount(*user);
  if (!account) return account.error();
  return base::BecomeForFiles(*account);
}

job::ArtifactPiece List(const base::SavedRecord& record) {
  job::ArtifactPiece piece;
  for (const base::SavedFile& file : record.files) piece.files.push_back({file.path, file.bytes});
  return piece;
}

Piece ReadPiece(const base::Descriptor& file, const std::string& name, int64_t offset) {
  job::ArtifactPiece piece;
  piece.data.resize(job::ArtifactPiece::kMaxBytes);
  size_t done = 0;
  while (done < piece.data.size()) {
    const ssize_t got = ::pread(file.get(), piece.data.data() + done, piece.data.size() - done,
                                offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::OsError(name, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  piece.data.resize(done);
  return piece;
}

}  // namespace

Piece ReadArtifact(const job::ArtifactQuestion& question, const job::HostRules& rules) {
  if (question.offset < 0)
    return base::Error{base::Code::kInvalid,
                       "offset " + std::to_string(question.offset) + ": expected one from 0"};
  const base::Result<base::SavedRecord> record = base::ParseSavedRecord(question.record);
  if (!record)
    return base::Error{base::Code::kInvalid,
                       question.path + ": nobody recorded which files were saved there"};
  const base::Result<base::FileRoots> roots = job::RootsOf(rules, question.owner);
  if (!roots) return roots.error();
  const base::Status rights = TakeRightsOf(question.owner, rules);
  if (!rights) return rights.error();
  const base::Result<base::Descriptor> root = OpenRoot(question.path, *record, *roots);
  if (!root) return root.error();
  if (question.file.empty()) return List(*record);
  const std::string name = question.path + "/" + question.file;
  const base::SavedFile* saved = record->Find(question.file);
  if (saved == nullptr)
    return base::Error{base::Code::kNotFound, name + " was not saved by the job"};
  const base::Descriptor file = OpenBelow(*root, question.file);
  struct stat status{};
  if (!file.open() || ::fstat(file.get(), &status) != 0) return base::OsError(name, errno);
  return IsSaved(*saved, status) ? ReadPiece(file, name, question.offset) : Changed(name);
}

// Shared with the threads, so that one that is given up finds it whenever it returns. Threads touch
// read_ and Post only.
class ArtifactReader::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& io, Read read, std::chrono::milliseconds patience)
      : io_(&io), read_(std::move(read)), patience_(patience) {}

  void Ask(job::ArtifactQuestion question, Answer answer) {
    if (waiting_.size() >= kMaxWaiting) {
      return answer(base::Error{base::Code::kExhausted,
                                std::to_string(kMaxWaiting) + " reads wait already: try again"});
    }
    const auto of_owner = std::ranges::count_if(
        waiting_, [&](const auto& other) { return other.second.owner == question.owner; });
    if (static_cast<size_t>(of_owner) >= kMaxWaitingOfOwner) {
      return answer(base::Error{base::Code::kExhausted, std::to_string(of_owner) +
                                                            " reads of what " + question.owner +
                                                            " has saved wait already: try again"});
    }
    const int64_t id = ++last_id_;
    const base::Error slow{base::Code::kUnavailable,
                           question.path + " does not answer: does its mount hang?"};
    Call& call = calls_.try_emplace(id, std::move(answer), *io_).first->second;
    call.timer.expires_after(patience_);
    call.timer.async_wait([self = shared_from_this(), id, slow](boost::system::error_code error) {
      if (!error) self->Finish(id, slow);
    });
    waiting_.emplace_back(id, std::move(question));
    StartNext();
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
    waiting_.clear();
    calls_.clear();
  }

 private:
  struct Call {
    Call(Answer then, boost::asio::io_context& io) : answer(std::move(then)), timer(io) {}
    Answer answer;
    boost::asio::steady_timer timer;
  };

  // In order of their coming, but for owners who have their share of the threads.
  void StartNext() {
    for (auto next = waiting_.begin(); next != waiting_.end() && threads_ < kMaxThreads;) {
      const std::string& owner = next->second.owner;
      if (calls_.contains(next->first) && threads_of_[owner] >= kMaxThreadsOfOwner) {
        ++next;
        continue;
      }
      auto [id, question] = std::move(*next);
      next = waiting_.erase(next);
      if (calls_.contains(id)) Start(id, std::move(question));  // else given up before its turn
    }
  }

  void Start(int64_t id, job::ArtifactQuestion question) {
    ++threads_;
    ++threads_of_[question.owner];
    std::thread([self = shared_from_this(), id, question = std::move(question)] {
      self->Returned(id, question.owner, self->read_(question));
    }).detach();
  }

  // From a thread. Nobody listens any more where the reader is gone.
  void Returned(int64_t id, const std::string& owner, Piece piece) {
    const std::lock_guard lock(mutex_);
    if (io_ == nullptr) return;
    boost::asio::post(*io_,
                      [self = shared_from_this(), id, owner, piece = std::move(piece)]() mutable {
                        --self->threads_;
                        if (--self->threads_of_[owner] == 0) self->threads_of_.erase(owner);
                        self->Finish(id, std::move(piece));
                        self->StartNext();
                      });
  }

  void Finish(int64_t id, Piece piece) {
    const auto call = calls_.extract(id);
    if (!call.empty()) call.mapped().answer(std::move(piece));
  }

  std::mutex mutex_;             // of io_
  boost::asio::io_context* io_;  // nullptr: the reader is gone
  const Read read_;
  const std::chrono::milliseconds patience_;
  int64_t last_id_ = 0;
  size_t threads_ = 0;
  std::map<std::string, size_t> threads_of_;  // by owner
  std::map<int64_t, Call> calls_;             // not yet answered
  std::list<std::pair<int64_t, job::ArtifactQuestion>> waiting_;
};

ArtifactReader::ArtifactReader(boost::asio::io_context& io, Read read,
                               std::chrono::milliseconds patience)
    : state_(std::make_shared<State>(io, std::move(read), patience)) {}

ArtifactReader::~ArtifactReader() { state_->Close(); }

void ArtifactReader::Ask(job::ArtifactQuestion question, Answer answer) {
  state_->Ask(std::move(question), std::move(answer));
}

}  // namespace trainctl::agent
