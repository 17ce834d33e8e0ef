#include <optional>
#include <set>
#include <utility>

#include "client/exit_code.h"
#include "client/files/artifact_source.h"
#include "client/naming.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/submit/patience.h"
#include "client/verbs/verb.h"
#include "common/base/size.h"
#include "common/job/job_json.h"
#include "common/job/output_folder.h"
#include "common/job/resumed_run.h"

namespace trainctl::client {
namespace {

constexpr int64_t kProgressMicros = 1'000'000;

// The last part of its path: what people call it.
std::string NameOf(const v1::Artifact& artifact) {
  std::string path = artifact.path();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

Listing ListArtifacts(const v1::GetResponse& jobs) {
  Listing listing{.collection = "artifacts",
                  .table = TextTable({{"JOB"},
                                      {.header = "NAME", .cut = true},
                                      {"KIND"},
                                      {"SIZE", true},
                                      {.header = "SAVED", .goes = 1},
                                      {.header = "HOST", .cut = true},
                                      {"PATH"}}),
                  .name_key = "name"};
  for (const v1::JobDetail& detail : jobs.jobs()) {
    for (const v1::Artifact& artifact : detail.artifacts()) {
      listing.records.push_back(
          {{"job", detail.view().id()},
           {"name", NameOf(artifact)},
           {"kind", artifact.kind()},
           {"path", artifact.path()},
           {"host", artifact.host()},
           {"attempt", artifact.attempt()},
           {"rank", artifact.rank()},
           {"bytes", artifact.bytes() > 0 ? Json(artifact.bytes()) : Json(nullptr)},
           {"time", Seconds(artifact.time())}});
      listing.table.AddRow({detail.view().id(), NameOf(artifact), artifact.kind(),
                            artifact.bytes() > 0 ? base::FormatBytes(artifact.bytes()) : "–",
                            artifact.time() > 0 ? LocalMoment(artifact.time()) : "",
                            artifact.host(), artifact.path()});
    }
  }
  return listing;
}

std::string Names(const v1::JobDetail& job) {
  std::vector<std::string> names;
  for (const v1::Artifact& artifact : job.artifacts()) names.push_back(NameOf(artifact));
  return Join(names, ", ");
}

base::Error NothingSaved(const v1::JobDetail& detail) {
  const v1::JobView& view = detail.view();
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  const bool saves = job.ok() && job::WritesOutput(*job);
  const std::string why =
      !saves ? ": a job keeps its model where \"output\" has a dir and a save"
      : HasEnded(view)
          ? ": it ended " + view.outcome() + " before; trainctl explain " + view.id() + " says why"
          : " yet: it is " + view.state() + "; wait for it with: trainctl wait " + view.id();
  return {base::Code::kNotFound, NameWithId(view.name(), view.id()) + " has saved nothing" + why};
}

// By name, path or kind, of several the latest; without a name the only one, or the last model.
base::Result<v1::Artifact> Choose(const v1::JobDetail& job, const std::string& name) {
  if (job.artifacts().empty()) return NothingSaved(job);
  const v1::Artifact* found = nullptr;
  for (const v1::Artifact& artifact : job.artifacts()) {
    const bool wanted = name.empty() ? job.artifacts_size() == 1 || job::IsModel(artifact.kind())
                                     : name == NameOf(artifact) || name == artifact.path() ||
                                           name == artifact.kind();
    if (wanted) found = &artifact;
  }
  if (found != nullptr) return *found;
  const std::string what = name.empty() ? "has saved several things and no model: name one of "
                                        : "has saved no '" + name + "', but ";
  return base::Error{name.empty() ? base::Code::kInvalid : base::Code::kNotFound,
                     job.view().name() + " " + what + Names(job)};
}

// Who owns the folders of artifacts on this machine. The site is asked once, and only where a
// folder has an owner.
class OwnersHere {
 public:
  explicit OwnersHere(Api& api) : api_(api) {}

  // This site's job that owns the artifact's folder; nullopt: none does.
  std::optional<job::FolderOwner> Find(const v1::Artifact& artifact) {
    const base::Result<job::OutputFolder> folder =
        job::ReadOutputFolder(job::FindOwnedFolder(artifact.path()));
    if (!folder.ok() || !folder->owner) return std::nullopt;
    if (!site_) site_.emplace(api_.Workers());
    return site_->ok() && folder->owner->site == (*site_)->site() ? folder->owner : std::nullopt;
  }

  // "… was taken over by tiny (j10)": who goes on from an ended job replaces what that one saved.
  // Empty where the folder is still the job's, or nothing is known of it.
  std::string TakeoverText(const std::string& job, const v1::Artifact& artifact) {
    const std::optional<job::FolderOwner> owner = Find(artifact);
    if (!owner || owner->job == job) return "";
    return job::FindOwnedFolder(artifact.path()) + " was taken over by " +
           NameWithId(owner->name, owner->job);
  }

 private:
  Api& api_;
  std::optional<base::Result<v1::WorkersResponse>> site_;
};

std::string CopyLine(const v1::Artifact& artifact, const std::string& folder) {
  return "scp -r " + artifact.host() + ":" + artifact.path() + " " + folder;
}

// How far a copy is, once a second, on stderr.
class CopyProgress {
 public:
  CopyProgress(Context& context, int64_t total)
      : context_(context), total_(total), last_(context.clock().Steady()) {}

  void operator()(int64_t done) {
    const int64_t now = context_.clock().Steady();
    if (now - last_ < kProgressMicros) return;
    last_ = now;
    context_.err << base::FormatBytes(done) << " of " << base::FormatBytes(total_) << std::endl;
  }

 private:
  Context& context_;
  const int64_t total_;
  int64_t last_;
};

class Artifacts : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("ls|get", &action_,
                         "ls JOB lists what a job or group has saved; get JOB [NAME] DIR copies "
                         "one of it to this machine");
    arguments.Positionals("WORD", &words_, "of ls: JOB; of get: JOB [NAME] DIR", /*required=*/true);
    arguments.Remark(
        "NAME is one that ls shows, or a kind; without it the model, or the only thing saved. DIR "
        "appears when all is there, and must not be\n"
        "there, or be empty. Where the path is on this machine too it is copied, else read through "
        "the coordinator.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    if (action_ == "ls" && words_.size() == 1) return List(context, **api);
    if (action_ == "get" && (words_.size() == 2 || words_.size() == 3)) return Get(context, **api);
    const std::string usage = action_ == "ls"    ? "ls: expected JOB"
                              : action_ == "get" ? "get: expected JOB [NAME] DIR"
                                                 : "expected ls or get";
    return Fail(context, {base::Code::kInvalid,
                          "artifacts " + (usage.starts_with("expected") ? action_ + ": " : "") +
                              usage + "; see: trainctl artifacts --help"});
  }

 private:
  int List(Context& context, Api& api) const {
    const base::Result<v1::GetResponse> jobs = GetJobs(context, NewestMeant(context, words_[0]));
    if (!jobs.ok()) return Fail(context, jobs.error());
    OwnersHere owners(api);
    std::set<std::string> takeovers;
    for (const v1::JobDetail& detail : jobs->jobs()) {
      for (const v1::Artifact& artifact : detail.artifacts())
        takeovers.insert(owners.TakeoverText(detail.view().id(), artifact));
    }
    for (const std::string& takeover : takeovers) {
      if (!takeover.empty()) context.err << "note: " << takeover << std::endl;
    }
    const Listing listing = ListArtifacts(*jobs);
    if (listing.records.empty()) Say(context, "nothing is saved\n");
    if (listing.records.empty() && context.for_people()) return kExitOk;
    return Print(context, listing);
  }

  int Get(Context& context, Api& api) const {
    const base::Result<v1::GetResponse> jobs = GetJobs(context, NewestMeant(context, words_[0]));
    if (!jobs.ok()) return Fail(context, jobs.error());
    if (jobs->jobs_size() != 1)
      return Fail(context, {base::Code::kInvalid, words_[0] + " is a group: name one of its jobs"});
    const v1::JobDetail& job = jobs->jobs(0);
    const base::Result<v1::Artifact> artifact = Choose(job, words_.size() == 3 ? words_[1] : "");
    if (!artifact.ok()) return Fail(context, artifact.error());
    const base::Result<std::unique_ptr<FolderDraft>> draft = FolderDraft::Begin(words_.back(), "");
    if (!draft.ok()) return Fail(context, draft.error());
    base::Status status = Copy(context, api, job.view().id(), *artifact, draft->get());
    if (status.ok()) status = (*draft)->Commit();
    if (!status.ok()) return Fail(context, status.error());
    int64_t bytes = 0;
    for (const auto& [path, size] : (*draft)->files()) bytes += size;
    return Tell(context, "Copied " + NameOf(*artifact) + " to " + (*draft)->folder() + ".\n",
                OneRecord("copied", "folder",
                          {{"job", job.view().id()},
                           {"name", NameOf(*artifact)},
                           {"kind", artifact->kind()},
                           {"folder", (*draft)->folder()},
                           {"files", (*draft)->files().size()},
                           {"bytes", bytes}}));
  }

  // A path of that name may be on this machine and be something else: then its owner or its size
  // differs. What has another owner by now is read through the worker, which knows what was saved.
  base::Status Copy(Context& context, Api& api, const std::string& job,
                    const v1::Artifact& artifact, FolderDraft* draft) const {
    OwnersHere owners(api);
    const std::optional<job::FolderOwner> owner = owners.Find(artifact);
    const std::unique_ptr<ArtifactSource> local = LocalArtifact(artifact.path());
    const base::Result<std::vector<job::ArtifactFile>> here = local->List();
    if (here.ok() && artifact.bytes() > 0 && BytesOf(*here) == artifact.bytes() && owner &&
        owner->job == job) {
      return CopyFiles(*local, *here, draft, CopyProgress(context, artifact.bytes()));
    }
    const std::unique_ptr<ArtifactSource> remote =
        RemoteArtifact(api, job, artifact.path(),
                       [&context] { context.surroundings.sleep(Patience::kRetrySeconds); });
    base::Result<std::vector<job::ArtifactFile>> files = remote->List();
    if (!files.ok()) return WithAdvice(owners, job, files.error(), artifact);
    if (artifact.bytes() > 0 && BytesOf(*files) != artifact.bytes()) {
      return base::Error{
          base::Code::kConflict,
          artifact.path() + " on " + artifact.host() + " has changed since it was saved: it had " +
              WithThousands(artifact.bytes()) + " bytes, now " + WithThousands(BytesOf(*files)) +
              "; as it is: " + CopyLine(artifact, words_.back())};
    }
    const base::Status copied =
        CopyFiles(*remote, *files, draft, CopyProgress(context, BytesOf(*files)));
    return copied.ok() ? copied : base::Status(WithAdvice(owners, job, copied.error(), artifact));
  }

  // What is gone or replaced can't be copied by hand either.
  base::Error WithAdvice(OwnersHere& owners, const std::string& job, base::Error error,
                         const v1::Artifact& artifact) const {
    if (const std::string takeover = owners.TakeoverText(job, artifact); !takeover.empty())
      error.message += "\n  " + takeover;
    if (error.code == base::Code::kNotFound || error.code == base::Code::kConflict) return error;
    error.message += "\n  it was saved on " + artifact.host() + " as " + artifact.path() +
                     "; by hand: " + CopyLine(artifact, words_.back());
    return error;
  }

  std::string action_;
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> MakeArtifacts() { return std::make_unique<Artifacts>(); }

}  // namespace trainctl::client
