#include <filesystem>

#include "client/configuration.h"
#include "client/exit_code.h"
#include "client/show/format.h"
#include "client/verbs/verb.h"
#include "common/base/secret_file.h"
#include "common/tls/authority_file.h"

namespace trainctl::client {
namespace {

constexpr size_t kMaxNameBytes = 64;

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

base::Error UnknownContext(const std::string& name) {
  return {base::Code::kNotFound, "no context '" + name + "': trainctl context ls lists them"};
}

class ContextVerb : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("add NAME | use NAME | ls | rm NAME", &words_,
                          "keep a site by a name; mean it from now on; list them; forget one",
                          /*required=*/true);
    arguments.OnlyWith({"add"}, [&] {
      arguments.Text("--address", "HOST:PORT", &context_.address, "of the site's coordinator");
      arguments.Text("--ca", "FILE", &context_.ca_file,
                     "ca.pem of the site: whose certificates are trusted");
      arguments.Text("--token-file", "FILE", &context_.token_file,
                     "with the token that an admin gave; of mode 600");
    });
    arguments.Remark(
        "The names stand in ~/.config/trainctl/config.json, the token only in its file. The first "
        "one that is added is used.\n"
        "Elsewhere --context NAME or TRAINCTL_CONTEXT means another one for once.");
  }

  bool NeedsSite() const override { return false; }

  int Run(Context& context) override {
    const std::string& action = words_.front();
    if (action == "ls" && words_.size() == 1) return List(context);
    if (words_.size() == 2) {
      if (action == "add") return Add(context, words_[1]);
      if (action == "use") return Use(context, words_[1]);
      if (action == "rm") return Remove(context, words_[1]);
    }
    return Fail(context, {base::Code::kInvalid,
                          "context: expected add NAME, use NAME, ls or rm NAME; see: trainctl "
                          "context --help"});
  }

 private:
  static Json RecordOf(const std::string& name, const SiteContext& site, bool is_used) {
    return {{"name", name},
            {"used", is_used},
            {"address", site.address},
            {"ca", site.ca_file},
            {"token_file", site.token_file}};
  }

  std::vector<std::string> Missing() const {
    std::vector<std::string> missing;
    if (context_.address.empty()) missing.push_back("--address");
    if (context_.ca_file.empty()) missing.push_back("--ca");
    if (context_.token_file.empty()) missing.push_back("--token-file");
    return missing;
  }

  base::Status Check(const std::string& name) const {
    const auto invalid = [](const std::string& text) {
      return base::Error{base::Code::kInvalid, text};
    };
    if (name.empty() || name.size() > kMaxNameBytes || name.find('\n') != std::string::npos)
      return invalid("a context's name has 1 to 64 characters of one line");
    if (const std::vector<std::string> missing = Missing(); !missing.empty()) {
      return invalid("context add: missing " + Join(missing, ", ") +
                     "; expected as in: trainctl context add " + name +
                     " --address gpu-host:7443 --ca ca.pem --token-file token");
    }
    if (!IsServerAddress(context_.address)) {
      return invalid("--address '" + context_.address +
                     "': expected HOST:PORT, such as gpu-host:7443");
    }
    if (const auto ca = tls::ReadAuthorityFile(context_.ca_file); !ca.ok()) return ca.error();
    if (const auto token = base::ReadTokenFile(context_.token_file); !token.ok())
      return token.error();
    return base::Ok{};
  }

  int Add(Context& context, const std::string& name) {
    if (const base::Status good = Check(name); !good.ok()) return Fail(context, good.error());
    context_.ca_file = AbsolutePath(context_.ca_file);
    context_.token_file = AbsolutePath(context_.token_file);
    bool is_used = false;
    const base::Status changed = Change(context, [&](Configuration& configuration) {
      configuration.contexts[name] = context_;
      if (configuration.used.empty()) configuration.used = name;
      is_used = configuration.used == name;
      return base::Ok{};
    });
    if (!changed.ok()) return Fail(context, changed.error());
    return Tell(context,
                "Added " + name + ", " + context_.address + "." +
                    (is_used ? " It is the site that is meant from now on.\n"
                             : " trainctl context use " + name + " makes it the one meant.\n"),
                OneRecord("contexts", "name", RecordOf(name, context_, is_used)));
  }

  int Use(Context& context, const std::string& name) {
    SiteContext site;
    const base::Status changed = Change(context, [&](Configuration& configuration) -> base::Status {
      const auto found = configuration.contexts.find(name);
      if (found == configuration.contexts.end()) return UnknownContext(name);
      site = found->second;
      configuration.used = name;
      return base::Ok{};
    });
    if (!changed.ok()) return Fail(context, changed.error());
    return Tell(context, name + " is the site that is meant from now on.\n",
                OneRecord("contexts", "name", RecordOf(name, site, /*is_used=*/true)));
  }

  int Remove(Context& context, const std::string& name) {
    SiteContext site;
    const base::Status changed = Change(context, [&](Configuration& configuration) -> base::Status {
      const auto found = configuration.contexts.find(name);
      if (found == configuration.contexts.end()) return UnknownContext(name);
      site = found->second;
      configuration.contexts.erase(found);
      if (configuration.used == name) configuration.used.clear();
      return base::Ok{};
    });
    if (!changed.ok()) return Fail(context, changed.error());
    return Tell(context, "Forgot " + name + ". Its token file is still there.\n",
                OneRecord("forgotten", "name", RecordOf(name, site, /*is_used=*/false)));
  }

  static int List(Context& context) {
    const auto configuration = ReadConfiguration(context.surroundings.configuration_file);
    if (!configuration.ok()) return Fail(context, configuration.error());
    Listing listing{.collection = "contexts",
                    .table = TextTable({{"NAME"}, {"USED"}, {"ADDRESS"}, {"CA"}, {"TOKEN FILE"}}),
                    .name_key = "name"};
    for (const auto& [name, site] : configuration->contexts) {
      const bool is_used = name == configuration->used;
      listing.records.push_back(RecordOf(name, site, is_used));
      listing.table.AddRow(
          {name, is_used ? "yes" : "", site.address, site.ca_file, site.token_file});
    }
    if (context.for_people() && listing.records.empty()) {
      Say(context, "no contexts; trainctl context add makes one\n");
      return kExitOk;
    }
    return Print(context, listing);
  }

  static base::Status Change(Context& context,
                             const std::function<base::Status(Configuration&)>& change) {
    return ChangeConfiguration(context.surroundings.configuration_file, change);
  }

  std::vector<std::string> words_;
  SiteContext context_;
};

}  // namespace

std::unique_ptr<Verb> MakeContext() { return std::make_unique<ContextVerb>(); }

}  // namespace trainctl::client
