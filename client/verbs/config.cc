#include "client/configuration.h"
#include "client/exit_code.h"
#include "client/server_address.h"
#include "client/show/format.h"
#include "client/verbs/verb.h"
#include "common/base/did_you_mean.h"

namespace trainctl::client {
namespace {

// A key of the configuration file with one value. Sites by name have a verb of their own.
struct ConfigKey {
  std::string_view name;
  std::string Configuration::* value;
  std::string_view meaning;
};

constexpr ConfigKey kConfigKeys[] = {
    {"server", &Configuration::server, "HOST:PORT of a coordinator on this machine"},
    {"context", &Configuration::used, "the site in use (trainctl context ls)"},
};

class Config : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("get [KEY] | set KEY VALUE | unset KEY", &words_,
                          "one value or all, a new one, none any more",
                          /*required=*/false);
    std::string keys = "Keys of ~/.config/trainctl/config.json:";
    for (const ConfigKey& key : kConfigKeys)
      keys += "\n  " + std::string(key.name) + ": " + std::string(key.meaning);
    arguments.Remark(keys);
  }

  bool NeedsSite() const override { return false; }

  int Run(Context& context) override {
    const std::string action = words_.empty() ? "get" : words_.front();
    if ((action == "ls" || action == "get") && words_.size() <= 1) return List(context);
    const bool sets = action == "set" && words_.size() == 3;
    if (!sets && !((action == "get" || action == "unset") && words_.size() == 2)) {
      return Fail(context, {base::Code::kInvalid,
                            "config: expected get [KEY], set KEY VALUE or unset KEY; see: trainctl "
                            "config --help"});
    }
    const base::Result<const ConfigKey*> key = FindKey(words_[1]);
    if (!key.ok()) return Fail(context, key.error());
    if (action == "get") return Get(context, **key);
    return Set(context, **key, sets ? words_[2] : "");
  }

 private:
  static base::Result<const ConfigKey*> FindKey(const std::string& name) {
    std::vector<std::string_view> names;
    for (const ConfigKey& key : kConfigKeys) {
      if (key.name == name) return &key;
      names.push_back(key.name);
    }
    const std::string hint = base::DidYouMean(name, names);
    return base::Error{base::Code::kInvalid, base::WithHint("config: no key '" + name + "'", hint,
                                                            "there are " + Join(names, ", "))};
  }

  static Json RecordOf(const ConfigKey& key, const std::string& value) {
    return {{"key", key.name}, {"value", record::TextOrNull(value)}};
  }

  static int Get(Context& context, const ConfigKey& key) {
    const auto configuration = ReadConfiguration(context.surroundings.configuration_file);
    if (!configuration.ok()) return Fail(context, configuration.error());
    const std::string& value = *configuration.*key.value;
    if (value.empty())
      return Fail(context, {base::Code::kNotFound, std::string(key.name) + " is not set"});
    return Tell(context, value + "\n", OneRecord("settings", "key", RecordOf(key, value)));
  }

  static int Set(Context& context, const ConfigKey& key, const std::string& value) {
    const base::Status changed = ChangeConfiguration(
        context.surroundings.configuration_file, [&](Configuration& configuration) -> base::Status {
          if (const base::Status good = Check(configuration, key, value); !good.ok()) return good;
          configuration.*key.value = value;
          return base::Ok{};
        });
    if (!changed.ok()) return Fail(context, changed.error());
    return Tell(context,
                value.empty() ? std::string(key.name) + " is not set any more.\n"
                              : std::string(key.name) + " is " + value + ".\n",
                OneRecord("settings", "key", RecordOf(key, value)));
  }

  static base::Status Check(const Configuration& configuration, const ConfigKey& key,
                            const std::string& value) {
    if (value.empty()) return base::Ok{};
    if (key.name == "server" && !IsServerAddress(value)) {
      return base::Error{base::Code::kInvalid,
                         "server '" + value + "': expected HOST:PORT, such as 127.0.0.1:7070"};
    }
    if (key.name == "context" && !configuration.contexts.contains(value)) {
      return base::Error{base::Code::kNotFound,
                         "no context '" + value + "': trainctl context ls lists them"};
    }
    return base::Ok{};
  }

  static int List(Context& context) {
    const auto configuration = ReadConfiguration(context.surroundings.configuration_file);
    if (!configuration.ok()) return Fail(context, configuration.error());
    Listing listing{.collection = "settings",
                    .table = TextTable({{"KEY"}, {"VALUE"}, {"MEANING"}}),
                    .name_key = "key"};
    for (const ConfigKey& key : kConfigKeys) {
      const std::string& value = *configuration.*key.value;
      listing.records.push_back(RecordOf(key, value));
      listing.table.AddRow({std::string(key.name), value, std::string(key.meaning)});
    }
    return Print(context, listing);
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> MakeConfig() { return std::make_unique<Config>(); }

}  // namespace trainctl::client
