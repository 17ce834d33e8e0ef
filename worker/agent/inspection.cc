#include "worker/agent/inspection.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <sstream>
#include <utility>

#include "common/base/descriptor.h"
#include "worker/agent/inspect_job.h"
#include "worker/agent/spawn.h"

namespace trainctl::agent {
namespace {

namespace asio = boost::asio;
using base::Descriptor;
using boost::system::error_code;

constexpr size_t kMaxOutputBytes = 1 << 20;
constexpr auto kReapInterval = std::chrono::milliseconds(5);

struct Pipe {
  Descriptor read, write;
};

base::Result<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return base::Error{base::Code::kUnavailable, "no pipe can be made: too many open files"};
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

std::vector<std::string> Command(const std::string& program,
                                 const Inspections::Question& question) {
  std::vector<std::string> command = {program, "--inspect"};
  const base::FileRoots& roots = question.roots;
  if (!question.user.empty()) command.insert(command.end(), {"--user", question.user});
  for (const std::string& root : roots.read) command.insert(command.end(), {"--read-root", root});
  for (const std::string& root : roots.write) command.insert(command.end(), {"--write-root", root});
  return command;
}

// What a program has written to stderr.
struct Said {
  std::string notes, faults;  // lines, without the last newline
};

Said SaidIn(const std::string& text) {
  Said said;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_note = line.starts_with(kInspectionNote);
    std::string& kind = is_note ? said.notes : said.faults;
    kind += (kind.empty() ? "" : "\n") + line.substr(is_note ? kInspectionNote.size() : 0);
  }
  return said;
}

}  // namespace

// One run of the program. Its handlers keep it alive until it has answered or is abandoned.
class Inspections::Run : public std::enable_shared_from_this<Run> {
 public:
  // killed: takes the id of a program that was ended, for who reaps it.
  Run(asio::io_context& io, std::shared_ptr<std::vector<Killed>> killed, std::string owner,
      Answer answer)
      : killed_(std::move(killed)),
        owner_(std::move(owner)),
        input_(io),
        output_{asio::posix::stream_descriptor(io), {}, {}},
        errors_{asio::posix::stream_descriptor(io), {}, {}},
        timer_(io),
        reap_timer_(io),
        answer_(std::move(answer)) {}

  ~Run() {
    if (pid_ == 0) return;
    ::kill(-pid_, SIGKILL);  // it leads a session and so a group
    killed_->push_back({pid_, owner_});
  }

  base::Status Start(const InspectionOptions& options, const Question& question) {
    job_json_ = question.job_json;
    base::Result<Pipe> in = MakePipe(), out = MakePipe(), err = MakePipe();
    if (!in || !out || !err)
      return base::Error{base::Code::kUnavailable, "no pipe can be made: too many open files"};
    const base::Result<pid_t> pid = Spawn({.arguments = Command(options.program, question),
                                           .environment = options.environment,
                                           .input_fd = in->read.get(),
                                           .output_fd = out->write.get(),
                                           .error_fd = err->write.get()});
    if (!pid) return base::Error{base::Code::kUnavailable, pid.error().message};
    pid_ = *pid;
    input_.assign(in->write.Release());
    output_.pipe.assign(out->read.Release());
    errors_.pipe.assign(err->read.Release());
    asio::async_write(input_, asio::buffer(job_json_),
                      [self = shared_from_this()](error_code, size_t) { self->input_.close(); });
    Read(output_);
    Read(errors_);
    timer_.expires_after(options.timeout);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->TimeOut();
    });
    return base::Ok{};
  }

  const std::string& owner() const { return owner_; }

  // No answer comes any more.
  void Abandon() {
    answer_ = nullptr;
    Close();
  }

 private:
  struct Stream {
    asio::posix::stream_descriptor pipe;
    std::array<char, 16 << 10> bytes;
    std::string text;
  };

  void Read(Stream& stream) {
    stream.pipe.async_read_some(asio::buffer(stream.bytes), [self = shared_from_this(), &stream](
                                                                error_code error, size_t size) {
      if (!self->answer_) return;
      if (!error && stream.text.size() + size <= kMaxOutputBytes) {
        stream.text.append(stream.bytes.data(), size);
        return self->Read(stream);
      }
      if (stream.pipe.is_open()) stream.pipe.close();
      if (!self->output_.pipe.is_open() && !self->errors_.pipe.is_open()) self->Reap();
    });
  }

  // Both outputs are closed: the program has ended, or is about to.
  void Reap() {
    int status = 0;
    if (!answer_) return;
    if (::waitpid(pid_, &status, WNOHANG) == 0) {
      reap_timer_.expires_after(kReapInterval);
      return reap_timer_.async_wait([self = shared_from_this()](error_code error) {
        if (!error) self->Reap();
      });
    }
    pid_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Finish(output_.text);
    const std::string said = SaidIn(errors_.text).faults;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
      return Finish(base::Error{base::Code::kInvalid, said});
    const std::string why = said.empty() ? "" : ": " + said;
    Finish(base::Error{base::Code::kUnavailable,
                       "trainworker --inspect ended with " + HowItEnded(status) + why});
  }

  void TimeOut() {
    if (!answer_) return;
    const std::string did = SaidIn(errors_.text).notes;
    Finish(base::Error{
        base::Code::kUnavailable,
        "trainworker --inspect took too long and was ended" + (did.empty() ? "" : ": " + did)});
  }

  void Finish(base::Result<std::string> result) {
    const Answer answer = std::exchange(answer_, nullptr);
    Close();
    answer(std::move(result));
  }

  void Close() {
    error_code ignored;
    for (asio::posix::stream_descriptor* pipe : {&input_, &output_.pipe, &errors_.pipe})
      pipe->close(ignored);
    timer_.cancel();
    reap_timer_.cancel();
  }

  const std::shared_ptr<std::vector<Killed>> killed_;
  const std::string owner_;
  asio::posix::stream_descriptor input_;
  Stream output_;
  Stream errors_;
  asio::steady_timer timer_;
  asio::steady_timer reap_timer_;
  Answer answer_;
  std::string job_json_;
  pid_t pid_ = 0;  // 0: reaped
};

Inspections::Inspections(asio::io_context& io, InspectionOptions options)
    : io_(io), options_(std::move(options)) {}

Inspections::~Inspections() {
  for (const std::shared_ptr<Run>& run : running_) run->Abandon();
}

base::Status Inspections::CheckRoom(const std::string& owner) const {
  const auto running = static_cast<size_t>(std::ranges::count_if(
      running_, [&](const std::shared_ptr<Run>& run) { return run->owner() == owner; }));
  const auto stuck = static_cast<size_t>(std::ranges::count(*killed_, owner, &Killed::owner));
  if (running_.size() >= kMaxRunning || running >= kMaxRunningOfOwner) {
    const std::string whose = running >= kMaxRunningOfOwner ? " of " + owner : "";
    return base::Error{base::Code::kUnavailable,
                       "this worker is busy with other inspections" + whose};
  }
  if (killed_->size() < kMaxStuck && stuck < kMaxStuckOfOwner) return base::Ok{};
  return base::Error{base::Code::kUnavailable,
                     "earlier inspections can't be ended: does a mount hang here?"};
}

void Inspections::Ask(const Question& question, Answer answer) {
  std::erase_if(*killed_,
                [](const Killed& killed) { return ::waitpid(killed.pid, nullptr, WNOHANG) != 0; });
  if (const base::Status room = CheckRoom(question.owner); !room) return answer(room.error());
  const auto place = running_.emplace(running_.end());
  *place = std::make_shared<Run>(io_, killed_, question.owner,
                                 [this, place, answer](base::Result<std::string> result) {
                                   const std::shared_ptr<Run> ended = std::move(*place);
                                   running_.erase(place);
                                   answer(std::move(result));
                                 });
  const std::shared_ptr<Run> run = *place;
  if (const base::Status started = run->Start(options_, question); !started) {
    run->Abandon();
    running_.erase(place);
    answer(started.error());
  }
}

}  // namespace trainctl::agent
