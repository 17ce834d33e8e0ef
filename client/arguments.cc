#include "client/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <set>
#include <utility>

#include "client/show/format.h"
#include "common/base/did_you_mean.h"
#include "common/base/duration_hint.h"
#include "common/base/parse_number.h"
#include "common/base/size.h"
#include "common/job/foreign_names.h"

namespace trainctl::client {
namespace {

// Every key of the job schema that an override may name: "train.micro_batch_size" and "train".
const std::set<std::string, std::less<>>& SchemaKeys() {
  static const auto* const keys = [] {
    auto* found = new std::set<std::string, std::less<>>();
    for (const std::string& key : job::SettingKeys()) {
      for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
        found->insert(key.substr(0, dot));
      found->insert(key);
    }
    return found;
  }();
  return *keys;
}

// Keys whose last part is what `fits` wants.
std::vector<std::string> KeysWhere(const std::function<bool(const std::string&)>& fits) {
  std::vector<std::string> keys;
  for (const std::string& key : SchemaKeys()) {
    if (fits(job::PlainName(key.substr(key.rfind('.') + 1)))) keys.push_back("--" + key);
  }
  return keys;
}

// The settings that a word without its group means: "--optimizer.lr" for "--lr". Empty: none, or
// too many to say.
std::vector<std::string> KeysMeant(const std::string& word) {
  constexpr size_t kMostMeant = 3, kLeastWithin = 3;
  const std::string name = job::PlainName(word);
  if (name.size() < 2) return {};
  for (const auto& fits : std::initializer_list<std::function<bool(const std::string&)>>{
           [&](const std::string& last) { return last == name; },
           [&](const std::string& last) { return last.starts_with(name); },
           [&](const std::string& last) {
             return name.size() >= kLeastWithin && last.find(name) != std::string::npos;
           },
           [&](const std::string& last) {
             return base::Closest(name, std::vector<std::string_view>{last}).has_value();
           }}) {
    std::vector<std::string> keys = KeysWhere(fits);
    if (!keys.empty()) return keys.size() > kMostMeant ? std::vector<std::string>() : keys;
  }
  return {};
}

std::optional<int64_t> ParseSeconds(const std::string& text) {
  const std::optional<int64_t> bare = base::ParseNumber(text);
  return bare ? bare : base::ParseDuration(text);
}

}  // namespace

Arguments::Arguments(std::string_view verb, std::string_view summary, std::string_view examples)
    : verb_(verb), summary_(summary), examples_(examples) {}

void Arguments::Positional(std::string name, std::string* value, std::string help) {
  arguments_.push_back({.kind = Kind::kPositional,
                        .names = std::move(name),
                        .help = std::move(help),
                        .required = true,
                        .text = value});
}

void Arguments::Positionals(std::string name, std::vector<std::string>* values, std::string help,
                            bool required) {
  arguments_.push_back({.kind = Kind::kPositionals,
                        .names = std::move(name),
                        .help = std::move(help),
                        .required = required,
                        .texts = values});
}

void Arguments::Words(std::string name, std::vector<std::string>* values, std::string help) {
  arguments_.push_back({.kind = Kind::kWords,
                        .names = std::move(name),
                        .help = std::move(help),
                        .required = true,
                        .texts = values});
}

void Arguments::Switch(std::string names, bool* value, std::string help) {
  arguments_.push_back(
      {.kind = Kind::kSwitch, .names = std::move(names), .help = std::move(help), .flag = value});
}

void Arguments::Text(std::string names, std::string placeholder, std::string* value,
                     std::string help) {
  arguments_.push_back({.kind = Kind::kText,
                        .names = std::move(names),
                        .placeholder = std::move(placeholder),
                        .help = std::move(help),
                        .text = value});
}

void Arguments::Texts(std::string names, std::string placeholder, std::vector<std::string>* values,
                      std::string help, bool required) {
  arguments_.push_back({.kind = Kind::kTexts,
                        .names = std::move(names),
                        .placeholder = std::move(placeholder),
                        .help = std::move(help),
                        .required = required,
                        .texts = values});
}

void Arguments::Number(std::string names, std::string placeholder, std::optional<int64_t>* value,
                       std::string help, int64_t least, int64_t most) {
  arguments_.push_back({.kind = Kind::kNumber,
                        .names = std::move(names),
                        .placeholder = std::move(placeholder),
                        .help = std::move(help),
                        .number = value,
                        .least = least,
                        .most = most});
}

void Arguments::Duration(std::string names, std::optional<int64_t>* seconds, std::string help) {
  arguments_.push_back({.kind = Kind::kDuration,
                        .names = std::move(names),
                        .placeholder = "TIME",
                        .help = std::move(help),
                        .number = seconds});
}

void Arguments::Overrides(std::vector<job::Override>* overrides, std::string help) {
  overrides_ = overrides;
  Settings("--set", "KEY=VALUE", overrides, std::move(help));
}

void Arguments::Settings(std::string names, std::string placeholder,
                         std::vector<job::Override>* settings, std::string help) {
  arguments_.push_back({.kind = Kind::kSettings,
                        .names = std::move(names),
                        .placeholder = std::move(placeholder),
                        .help = std::move(help),
                        .settings = settings});
}

base::Error Arguments::Wrong(const std::string& what) const {
  return {base::Code::kInvalid, what + "; see: trainctl " + verb_ + " --help"};
}

base::Error Arguments::UnknownOption(const std::string& word) const {
  const std::string name = word.substr(0, word.find('='));
  if (overrides_ != nullptr && name == "--tags") {  // an object with keys of the user's own
    return Wrong("unknown option '" + name + "': each of its entries is an option, as in " + name +
                 ".KEY VALUE");
  }
  std::vector<std::string> known = Flags();
  if (overrides_ != nullptr) {
    for (const std::string& key : SchemaKeys()) known.push_back("--" + key);
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  std::string hint = base::DidYouMean(name, candidates);
  const std::vector<std::string> meant =
      overrides_ == nullptr ? std::vector<std::string>() : KeysMeant(name);
  const bool is_whole = std::ranges::any_of(meant, [&](const std::string& key) {
    return job::PlainName(key.substr(key.rfind('.') + 1)) == job::PlainName(name);
  });
  if (!meant.empty() && (hint.empty() || is_whole))
    hint = "did you mean '" + Join(meant, "' or '") + "'?";
  if (const job::ForeignName* foreign = job::FindForeignName(name);
      foreign != nullptr && overrides_ != nullptr && !is_whole) {
    const std::string value = foreign->value.empty() ? "" : " " + std::string(foreign->value);
    hint = "did you mean '--" + std::string(foreign->key) + value + "'?";
  }
  return {base::Code::kInvalid, base::WithHint("unknown option '" + name + "'", hint,
                                               "see: trainctl " + verb_ + " --help")};
}

base::Status Arguments::AddSetting(const Argument& argument, const std::string& text) const {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return Wrong(argument.names + " " + text + ": expected " + argument.placeholder +
                 ", such as train.micro_batch_size=8");
  }
  argument.settings->push_back({text.substr(0, equals), text.substr(equals + 1)});
  return base::Ok{};
}

// CLI11 knows nothing of the job's schema, so "--train.micro_batch_size 8" is taken out before it
// reads the rest. A dot makes an option an override even where the schema has no such key: reading
// the job then says so, with its own did-you-mean.
base::Result<std::vector<std::string>> Arguments::TakeOverrides(
    const std::vector<std::string>& words) {
  if (overrides_ == nullptr) return words;
  const std::vector<std::string> flags = Flags();
  std::vector<std::string> rest;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string key = name.starts_with("--") ? name.substr(2) : "";
    const bool own = std::find(flags.begin(), flags.end(), name) != flags.end();
    if (own || key.empty() || (key.find('.') == std::string::npos && !SchemaKeys().contains(key))) {
      rest.push_back(word);
    } else if (equals != std::string::npos) {
      overrides_->push_back({key, word.substr(equals + 1)});
    } else if (i + 1 < words.size()) {
      overrides_->push_back({key, words[++i]});
    } else {
      return Wrong(word + ": expected a value after it, as in " + word + " VALUE");
    }
  }
  return rest;
}

// The option that a word such as "--timeout=2h" names; nullptr: none of this verb's.
const Arguments::Argument* Arguments::FindOption(const std::string& word) const {
  const std::string name = word.substr(0, word.find('='));
  for (const Argument& argument : arguments_) {
    const std::vector<std::string> names = Split(argument.names, ',');
    if (name.starts_with("-") && std::find(names.begin(), names.end(), name) != names.end())
      return &argument;
  }
  return nullptr;
}

bool Arguments::Has(std::string_view flag) const {
  return FindOption(std::string(flag)) != nullptr;
}

std::vector<std::string> Arguments::TakeWords(const std::vector<std::string>& words) const {
  const auto takes_words = [](const Argument& argument) { return argument.kind == Kind::kWords; };
  const auto taker = std::find_if(arguments_.begin(), arguments_.end(), takes_words);
  if (taker == arguments_.end()) return words;
  std::vector<std::string> rest;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      taker->texts->insert(taker->texts->end(), words.begin() + i, words.end());
      break;
    }
    const Argument* option = FindOption(words[i]);
    if (option == nullptr && words[i] != "--help" && words[i] != "-h") {
      taker->texts->push_back(words[i]);
      continue;
    }
    rest.push_back(words[i]);
    const bool has_value = option != nullptr && option->kind != Kind::kSwitch &&
                           words[i].find('=') == std::string::npos;
    if (has_value && i + 1 < words.size()) rest.push_back(words[++i]);
  }
  return rest;
}

base::Status Arguments::Parse(const std::vector<std::string>& words) {
  const base::Result<std::vector<std::string>> rest = TakeOverrides(TakeWords(words));
  if (!rest.ok()) return rest.error();
  if (const base::Status read = Read(*rest); !read.ok() || wants_help_) return read;
  if (const base::Status required = CheckRequired(); !required.ok()) return required;
  if (const base::Status partners = CheckPartners(); !partners.ok()) return partners;
  return CheckActions();
}

// "--name=": CLI11 would take the next word for the value.
base::Status Arguments::CheckValues(const std::vector<std::string>& words) const {
  for (const std::string& word : words) {
    if (word == "--") break;
    const Argument* option = FindOption(word);
    if (option != nullptr && word.find('=') + 1 == word.size())
      return Wrong(word.substr(0, word.size() - 1) + " is empty: expected " + option->placeholder);
  }
  return base::Ok{};
}

// CLI11 takes texts only; numbers are read from them here, so that what it says of a wrong one is
// our own.
base::Status Arguments::Read(const std::vector<std::string>& words) {
  if (const base::Status given = CheckValues(words); !given.ok()) return given;
  CLI::App app;
  app.set_help_flag();
  app.add_flag("-h,--help", wants_help_);
  app.allow_extras();
  // One value each time, which may begin with a bracket or hold commas.
  const auto one_each = [](CLI::Option* option) {
    option->expected(1)->allow_extra_args(false)->take_all();
  };
  std::vector<std::string> numbers(arguments_.size());
  std::vector<std::vector<std::string>> settings(arguments_.size());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    switch (argument.kind) {
      case Kind::kPositional:
      case Kind::kText: app.add_option(argument.names, *argument.text); break;
      case Kind::kPositionals: app.add_option(argument.names, *argument.texts); break;
      case Kind::kTexts: one_each(app.add_option(argument.names, *argument.texts)); break;
      case Kind::kWords: break;
      case Kind::kSwitch: app.add_flag(argument.names, *argument.flag); break;
      case Kind::kSettings: one_each(app.add_option(argument.names, settings[i])); break;
      case Kind::kNumber:
      case Kind::kDuration: app.add_option(argument.names, numbers[i]); break;
    }
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Error& error) {
    const std::string said = error.what(), option = said.substr(0, said.find(':'));
    for (const Argument& argument : arguments_) {
      if (Split(argument.names, ',').back() == option && said.ends_with(" missing"))
        return Wrong(option + ": expected " + argument.placeholder + " after it");
    }
    return Wrong(said);
  }
  for (const std::string& extra : app.remaining()) {
    return extra.starts_with("-") ? UnknownOption(extra)
                                  : Wrong("unexpected argument '" + extra + "'");
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    const std::string option = Split(argument.names, ',').back();
    if (argument.kind == Kind::kText && argument.text->empty() && app.count(option) > 0)
      return Wrong(option + " is empty: expected " + argument.placeholder);
    for (const std::string& setting : settings[i]) {
      if (const base::Status added = AddSetting(argument, setting); !added.ok()) return added;
    }
    if (numbers[i].empty()) continue;
    if (const base::Status read = ReadNumber(argument, numbers[i]); !read.ok()) return read;
  }
  return base::Ok{};
}

base::Status Arguments::ReadNumber(const Argument& argument, const std::string& text) const {
  const bool is_time = argument.kind == Kind::kDuration;
  const std::optional<int64_t> value = is_time ? ParseSeconds(text) : base::ParseNumber(text);
  *argument.number = value;
  if (value && (is_time || (*value >= argument.least && *value <= argument.most)))
    return base::Ok{};
  const std::string least = std::to_string(argument.least);
  const std::string expected =
      is_time ? "a time such as 90s, 10min or 2h"
      : argument.most == kMostNumber
          ? "a whole number, " + least + " or more"
          : "a whole number from " + least + " to " + base::WithThousands(argument.most);
  const std::string hint = is_time ? base::DurationHint(text) : "";
  return Wrong(Split(argument.names, ',').back() + " " + text + ": " +
               (hint.empty() ? "expected " + expected : hint + " (expected " + expected + ")"));
}

base::Status Arguments::CheckRequired() const {
  for (const Argument& argument : arguments_) {
    const bool missing = argument.required && (argument.text != nullptr ? argument.text->empty()
                                                                        : argument.texts->empty());
    if (missing) return Wrong(argument.names + " is missing: " + argument.help);
  }
  return base::Ok{};
}

void Arguments::Needs(std::string option, std::vector<std::string> partners) {
  for (auto& [known, others] : partners_) {
    if (known != option) continue;
    others.insert(others.end(), partners.begin(), partners.end());
    return;
  }
  partners_.emplace_back(std::move(option), std::move(partners));
}

bool Arguments::IsGiven(const Argument& argument) {
  if (argument.flag != nullptr) return *argument.flag;
  if (argument.number != nullptr) return argument.number->has_value();
  if (argument.settings != nullptr) return !argument.settings->empty();
  if (argument.texts != nullptr) return !argument.texts->empty();
  return argument.text != nullptr && !argument.text->empty();
}

base::Status Arguments::CheckPartners() const {
  const auto is_given = [this](const std::string& option) {
    const Argument* argument = FindOption(option);
    return argument != nullptr && IsGiven(*argument);
  };
  for (const auto& [option, partners] : partners_) {
    if (is_given(option) && std::ranges::none_of(partners, is_given))
      return Wrong(option + " has a meaning only with " + Join(partners, " or "));
  }
  return base::Ok{};
}

void Arguments::OnlyWith(const std::vector<std::string>& actions,
                         const std::function<void()>& declare) {
  const size_t first = arguments_.size();
  declare();
  for (size_t i = first; i < arguments_.size(); ++i) arguments_[i].actions = actions;
}

void Arguments::AlsoWith(const std::string& option, const std::string& action) {
  for (Argument& argument : arguments_) {
    if (argument.names == option) argument.actions.push_back(action);
  }
}

std::string Arguments::PositionalWords() const {
  std::vector<std::string> words;
  for (const Argument& argument : arguments_) {
    if (argument.kind == Kind::kPositional) words.push_back(*argument.text);
    if (argument.kind == Kind::kPositionals)
      words.insert(words.end(), argument.texts->begin(), argument.texts->end());
  }
  return Join(words, " ");
}

base::Status Arguments::CheckActions() const {
  const std::string words = PositionalWords();
  const auto is_meant = [&words](const std::string& action) {
    return action.empty() ? words.empty() : (words + " ").starts_with(action + " ");
  };
  for (const Argument& argument : arguments_) {
    const std::vector<std::string>& actions = argument.actions;
    if (actions.empty() || !IsGiven(argument) || std::ranges::any_of(actions, is_meant)) continue;
    const bool is_override = argument.settings != nullptr && argument.settings == overrides_;
    const std::string option =
        is_override ? "--" + overrides_->front().key : Split(argument.names, ',').back();
    std::vector<std::string> named = actions;
    std::erase(named, "");
    return Wrong(option + " has a meaning only with " + verb_ + " " + Join(named, " or "));
  }
  return base::Ok{};
}

std::vector<std::string> Arguments::Flags() const {
  std::vector<std::string> flags;
  for (const Argument& argument : arguments_) {
    if (!argument.names.starts_with("-")) continue;
    for (std::string& name : Split(argument.names, ',')) flags.push_back(std::move(name));
  }
  flags.push_back("--help");
  return flags;
}

VerbHelp Arguments::Told() const {
  VerbHelp told{.verb = verb_,
                .summary = summary_,
                .usage = "trainctl " + verb_,
                .examples = examples_,
                .remarks = remarks_};
  for (const Argument& argument : arguments_) {
    const bool many = argument.kind == Kind::kPositionals || argument.kind == Kind::kWords;
    if (!argument.names.starts_with("-")) {
      const bool is_choice = argument.names.find('|') != std::string::npos;  // each says its own
      const std::string name = argument.names + (many && !is_choice ? "…" : "");
      told.usage += argument.required ? " " + name : " [" + name + "]";
    }
    std::string name = Join(Split(argument.names, ','), ", ");
    if (!argument.placeholder.empty()) name += " " + argument.placeholder;
    told.lines.push_back({std::move(name), argument.help});
  }
  told.usage += " [options]";
  told.lines.push_back({"-h, --help", "show this"});
  return told;
}

std::string Arguments::Help() const {
  constexpr size_t kHelpColumn = 26;
  const VerbHelp told = Told();
  std::string text = "trainctl " + told.verb + ": " + told.summary + "\n\nExamples\n" +
                     told.examples + "\nUsage\n  " + told.usage + "\n\n";
  for (const VerbHelp::Line& line : told.lines) {
    const std::string name = "  " + line.name;
    const auto width = static_cast<size_t>(DisplayWidth(name));
    text += name +
            (width + 2 <= kHelpColumn ? std::string(kHelpColumn - width, ' ')
                                      : "\n" + std::string(kHelpColumn, ' ')) +
            line.help + "\n";
  }
  for (const std::string& remark : told.remarks) text += "\n" + remark + "\n";
  return text;
}

}  // namespace trainctl::client
