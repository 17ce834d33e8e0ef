// The verbs that are scripts of deploy/: they are found beside the program, and trainctl becomes
// them.
#include <string>
#include <vector>

#include "client/shipped_files.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

// Returns only where it fails.
int Become(Context& context, const std::string& script, std::vector<std::string> words) {
  const base::Result<std::string> path = FindShipped(context.surroundings, script);
  if (!path.ok()) return Fail(context, path.error());
  words.insert(words.begin(), *path);
  return Fail(context, context.surroundings.become(words));
}

constexpr const char* kFolder =
    "where the site's files lie (default ~/.local/state/trainctl/local)";

class Local : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("ACTION", &action_, "up, status or down");
    arguments.Text("--dir", "DIR", &directory_, kFolder);
    arguments.OnlyWith({"up"}, [&] {
      arguments.Text(
          "--workers", "N", &workers_,
          "up: how many (default: one for each GPU, or two CPU slots where there is none)");
      arguments.Text("--port", "PORT", &port_,
                     "up: of a coordinator that starts (default: the last one's)");
      arguments.Switch("--cpu", &cpu_, "up: CPU slots, even where there are GPUs");
      arguments.Texts(
          "--role", "USER=ROLE", &roles_,
          "up: what another user may do here, once for each (*=ROLE: who is not named); read at "
          "the coordinator's start");
      arguments.Text("--policy", "FILE", &policy_,
                     "up: the coordinator's quotas and fair share, read at its start");
    });
  }

  bool HasFormats() const override { return false; }

  int Run(Context& context) override {
    if (action_ != "up" && action_ != "status" && action_ != "down") {
      return Fail(context,
                  {base::Code::kInvalid, "'" + action_ + "': expected up, status or down"});
    }
    std::vector<std::string> words = {action_};
    const auto add = [&words](const char* option, const std::string& value) {
      if (!value.empty()) words.insert(words.end(), {option, value});
    };
    add("--dir", directory_);
    add("--workers", workers_);
    add("--port", port_);
    if (cpu_) words.push_back("--cpu");
    for (const std::string& role : roles_) add("--role", role);
    add("--policy", policy_);
    return Become(context, "local", words);
  }

 private:
  std::string action_, directory_, workers_, port_, policy_;
  std::vector<std::string> roles_;
  bool cpu_ = false;
};

class Quickstart : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Text("--dir", "DIR", &directory_, kFolder);
  }

  bool HasFormats() const override { return false; }

  int Run(Context& context) override {
    if (directory_.empty()) return Become(context, "quickstart", {});
    return Become(context, "quickstart", {"--dir", directory_});
  }

 private:
  std::string directory_;
};

// The script has its options, since they are sbatch's too.
class Slurm : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Words("ACTION", &words_, "up, status, down or read, and their options");
    arguments.Text("--context", "NAME", &context_,
                   "the site's name, which up makes and read uses (default slurm)");
    arguments.Remark(
        "up [--nodes N] [--gpus N] [--cpu N] [--time T] [--dir DIR] [-- OPTIONS OF sbatch]\n"
        "    submits an allocation of Slurm, --gpus in all or --cpu slots a node (default 1 node, "
        "1:00:00),\n"
        "    waits until its workers are there, and makes its coordinator the site that trainctl "
        "means.\n"
        "status [--dir DIR]   where the allocation stands\n"
        "down [--dir DIR]     jobs save, the allocation ends; the next up goes on with them\n"
        "read [--dir DIR] -- WORDS OF trainctl   asks the site, also when there is no allocation:\n"
        "    trainctl slurm read -- export j1 results\n"
        "DIR is the site's folder, on a file system that all nodes share; default "
        "~/.local/state/trainctl/slurm");
  }

  bool NeedsSite() const override { return false; }

  bool HasFormats() const override { return false; }

  int Run(Context& context) override {
    if (!context_.empty())
      words_.insert(words_.begin() + (words_.empty() ? 0 : 1), {"--context", context_});
    return Become(context, "slurm/trainctl-slurm", words_);
  }

 private:
  std::vector<std::string> words_;
  std::string context_;
};

}  // namespace

std::unique_ptr<Verb> MakeSlurm() { return std::make_unique<Slurm>(); }
std::unique_ptr<Verb> MakeLocal() { return std::make_unique<Local>(); }
std::unique_ptr<Verb> MakeQuickstart() { return std::make_unique<Quickstart>(); }

}  // namespace trainctl::client
