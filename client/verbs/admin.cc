#include <optional>
#include <string>

#include "client/exit_code.h"
#include "client/show/calendar_time.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/verbs/verb.h"
#include "common/base/parse_number.h"
#include "common/base/secret_file.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

constexpr int64_t kDefaultEntries = 50;
constexpr int64_t kDefaultTokenSeconds = int64_t{30} * 86'400;
constexpr int64_t kDefaultJoinSeconds = 600;

Listing ListEntries(const v1::AuditResponse& response) {
  Listing listing{.collection = "audit",
                  .table = TextTable({{"ID", true},
                                      {"TIME"},
                                      {"WHO"},
                                      {.header = "FROM", .goes = 1},
                                      {"ACTION"},
                                      {.header = "SUBJECT", .cut = true},
                                      {"VERDICT"}})};
  for (const v1::AuditEntry& entry : response.entries()) {
    listing.records.push_back({{"id", entry.id()},
                               {"time", Seconds(entry.time())},
                               {"actor", entry.actor()},
                               {"address", entry.address()},
                               {"action", entry.action()},
                               {"subject", entry.subject()},
                               {"verdict", entry.verdict()}});
    const Style style = entry.verdict() == "accepted" ? Style::kPlain : Style::kBad;
    listing.table.AddRow({std::to_string(entry.id()),
                          LocalMoment(entry.time()),
                          entry.actor(),
                          entry.address(),
                          entry.action(),
                          entry.subject(),
                          {entry.verdict(), style}});
  }
  return listing;
}

Listing ListTokens(const v1::ListTokensResponse& response, base::WallMicros now) {
  Listing listing{
      .collection = "tokens",
      .table = TextTable({{"ID", true}, {"OF"}, {"ROLE"}, {"SCOPE"}, {"MADE"}, {"EXPIRES"}})};
  for (const v1::Token& token : response.tokens()) {
    listing.records.push_back({{"id", token.id()},
                               {"owner", token.owner()},
                               {"role", token.role()},
                               {"scope", token.scope().empty() ? Json() : Json(token.scope())},
                               {"created_at", Seconds(token.created_at())},
                               {"expires_at", Seconds(token.expires_at())}});
    const Style style = token.expires_at() > now ? Style::kPlain : Style::kBad;
    listing.table.AddRow({std::to_string(token.id()),
                          token.owner(),
                          token.role(),
                          token.scope(),
                          LocalMoment(token.created_at()),
                          {LocalTime(token.expires_at()), style}});
  }
  return listing;
}

class Admin : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals(
        "audit | token create USER | token ls | token revoke ID | worker-token "
        "HOST | revoke-host HOST | backup FILE",
        &words_,
        "the audit log, newest first; tokens of people; a token with which a "
        "host's workers join once; an end to all that a host's workers come by; a copy of the "
        "site's database, to an absolute path that ends in "
        ".db on the "
        "coordinator's host",
        /*required=*/true);
    arguments.OnlyWith({"audit"}, [&] {
      arguments.Number("--last", "N", &last_,
                       "of the audit log: so many, at most 1000 (default: 50)", /*least=*/1);
      arguments.Number("--before", "ID", &before_, "of the audit log: only those before this one",
                       /*least=*/1);
    });
    arguments.OnlyWith({"token create"}, [&] {
      arguments.Text("--role", "ROLE", &role_, "of a person: viewer, user, operator or admin");
      arguments.Text("--scope", "SCOPES", &scope_,
                     "what it may be used for, of what its role may: some of read, submit, cancel, "
                     "remove, lease, operate and admin, as read,submit (default: all)");
    });
    arguments.OnlyWith({"token create", "worker-token"}, [&] {
      arguments.Duration("--for", &seconds_,
                         "until the token expires, as 12h or 90d (default: 30d; of worker-token "
                         "10min)");
      arguments.Text("--to", "FILE", &file_,
                     "write the token there, for its owner alone, and do not print it");
    });
    arguments.Remark(
        "The audit log has each submit, resume, cancel, rm of a job, drain, undrain, fence, "
        "removal of a worker,\n"
        "token, certificate and sign-in of a browser, accepted or refused; and workers that were "
        "refused. Of one caller it has at most 100\n"
        "refused calls a minute; how many more there were is one entry.\n"
        "A backup has jobs, metrics and the audit log; the logs of ranks and the keys of a site "
        "are files beside the\n"
        "database. What has the name is complete, and nothing is replaced. traincoordinator "
        "restore begins a site with it.\n"
        "Tokens are for sites that are reached with TLS (traincoordinator init). A token is told "
        "once: the site keeps only its hash.\n"
        "Scopes: read (all that changes nothing), submit (jobs, and looks at their data and model "
        "on the workers), cancel, remove (jobs and what they have saved), lease (make, extend and "
        "delete leases), operate (drain, fence and remove workers), admin (tokens, revoked hosts, "
        "backups). trainctl submit needs submit and read.\n"
        "revoke-host: what the host's workers have, certificates and join tokens, is good for "
        "nothing from then on. Their connections end, and jobs there are as on any host that is "
        "cut "
        "off. A new worker-token lets the host in again, with a new key.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const size_t count = words_.size();
    const std::string action =
        words_[0] + (words_[0] == "token" && count > 1 ? " " + words_[1] : "");
    if (action == "audit" && count == 1) return Audit(context, **api);
    if (action == "token ls" && count == 2) return Tokens(context, **api);
    if (action == "token revoke" && count == 3) return Revoke(context, **api, words_[2]);
    if (action == "token create" && count == 3) return Create(context, **api, words_[2]);
    if (action == "backup" && count == 2) return Backup(context, **api, words_[1]);
    if (action == "revoke-host" && count == 2) return RevokeHost(context, **api, words_[1]);
    if (action == "worker-token" && count == 2) {
      return Make(context, **api, Wish(words_[1], "worker", kDefaultJoinSeconds));
    }
    return Fail(context, {base::Code::kInvalid,
                          "admin " + action +
                              ": expected audit, token create USER, token ls, token revoke ID, "
                              "worker-token HOST, revoke-host HOST or backup FILE; see: trainctl "
                              "admin --help"});
  }

 private:
  int Audit(Context& context, Api& api) const {
    v1::AuditRequest request;
    request.set_limit(last_.value_or(kDefaultEntries));
    request.set_before(before_.value_or(0));
    const base::Result<v1::AuditResponse> response = api.Audit(request);
    if (!response.ok()) return Fail(context, response.error());
    return Print(context, ListEntries(*response));
  }

  static int Tokens(Context& context, Api& api) {
    const base::Result<v1::ListTokensResponse> response = api.ListTokens();
    if (!response.ok()) return Fail(context, response.error());
    return Print(context, ListTokens(*response, context.clock().Wall()));
  }

  static int Revoke(Context& context, Api& api, const std::string& text) {
    const std::optional<int64_t> id = base::ParseNumber(text);
    if (!id) {
      return Fail(context, {base::Code::kInvalid, "admin token revoke " + text +
                                                      ": expected its number, as token ls has it"});
    }
    v1::RevokeTokenRequest request;
    request.set_id(*id);
    if (const auto response = api.RevokeToken(request); !response.ok())
      return Fail(context, response.error());
    return Tell(context,
                "Revoked token " + text +
                    ": no call is taken with it, and what follows jobs by it has ended.\n",
                OneRecord("revoked", "id", {{"id", *id}}));
  }

  static int RevokeHost(Context& context, Api& api, const std::string& host) {
    v1::RevokeHostRequest request;
    request.set_host(host);
    const base::Result<v1::RevokeHostResponse> revoked = api.RevokeHost(request);
    if (!revoked.ok()) return Fail(context, revoked.error());
    std::string text = "Revoked what workers of " + host +
                       " came by: " + Plural(revoked->streams(), "connection") +
                       " ended. trainctl admin worker-token " + host + " lets it in again.\n";
    if (!revoked->known())
      text += "No worker of a host '" + host + "' has ever registered: is that its name?\n";
    return Tell(
        context, text,
        OneRecord(
            "revoked", "host",
            {{"host", host}, {"connections", revoked->streams()}, {"known", revoked->known()}}));
  }

  static int Backup(Context& context, Api& api, const std::string& file) {
    v1::BackupRequest request;
    request.set_path(file);
    const base::Result<v1::BackupResponse> made = api.Backup(request);
    if (!made.ok()) return Fail(context, made.error());
    return Tell(context,
                file + " on the coordinator's host has " + Plural(made->jobs(), "job") + ", " +
                    base::FormatBytes(made->bytes()) + "; it was read again and holds together.\n",
                OneRecord("backups", "file",
                          {{"file", file}, {"jobs", made->jobs()}, {"bytes", made->bytes()}}));
  }

  v1::CreateTokenRequest Wish(const std::string& owner, const std::string& role,
                              int64_t usual_seconds) const {
    v1::CreateTokenRequest wish;
    wish.set_owner(owner);
    wish.set_role(role);
    wish.set_seconds(seconds_.value_or(usual_seconds));
    return wish;
  }

  int Create(Context& context, Api& api, const std::string& owner) const {
    if (role_.empty()) {
      return Fail(context,
                  {base::Code::kInvalid, "--role is needed: viewer, user, operator or admin"});
    }
    if (role_ == "worker") {
      return Fail(context, {base::Code::kInvalid,
                            "--role worker: a host's workers join with trainctl admin "
                            "worker-token HOST"});
    }
    v1::CreateTokenRequest wish = Wish(owner, role_, kDefaultTokenSeconds);
    wish.set_scope(scope_);
    return Make(context, api, wish);
  }

  int Make(Context& context, Api& api, const v1::CreateTokenRequest& wish) const {
    const base::Result<v1::CreateTokenResponse> made = api.CreateToken(wish);
    if (!made.ok()) return Fail(context, made.error());
    const v1::Token& token = made->token();
    if (!file_.empty()) {
      if (const base::Status kept = base::WriteSecretFile(file_, made->text()); !kept.ok())
        return Fail(context, kept.error());
    }
    v1::ListTokensResponse listed;
    *listed.add_tokens() = token;
    Listing listing = ListTokens(listed, context.clock().Wall());
    if (file_.empty()) {
      listing.records.back()["token"] = made->text();
    } else {
      listing.records.back()["token_file"] = file_;
    }
    return Tell(context,
                "Token " + std::to_string(token.id()) + " of " + token.owner() + ", " +
                    token.role() + (token.scope().empty() ? "" : ", for " + token.scope()) +
                    ", until " + LocalTime(token.expires_at()) +
                    (file_.empty() ? ". It is told only now:\n" + made->text() + "\n"
                                   : ", is in " + file_ + ".\n"),
                listing);
  }

  std::vector<std::string> words_;
  std::string role_, scope_, file_;
  std::optional<int64_t> last_, before_, seconds_;
};

}  // namespace

std::unique_ptr<Verb> MakeAdmin() { return std::make_unique<Admin>(); }

}  // namespace trainctl::client
