// The command line of one verb: declared once, then parsed, printed as help and listed for shell
// completion. CLI11 does the parsing, and stays in arguments.cc. Not thread-safe.
//
// The declared variables are written by Parse and must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/job/job_json.h"

namespace trainctl::client {

// All that a verb's help tells.
struct VerbHelp {
  std::string verb, summary, usage;  // "trainctl submit FILE… [options]"
  std::string examples;              // lines that begin with two spaces
  struct Line {
    std::string name, help;  // "-w, --wait"
  };
  std::vector<Line> lines;
  std::vector<std::string> remarks;
};

class Arguments {
 public:
  // "submit", "submit a job or lab file", {"trainctl submit job.json --wait", …}
  Arguments(std::string_view verb, std::string_view summary, std::string_view examples);

  void Positional(std::string name, std::string* value, std::string help);  // exactly one
  void Positionals(std::string name, std::vector<std::string>* values, std::string help,
                   bool required);
  // Every word that is no option of this verb, as it is, options of another program too: a command
  // line that is pasted whole. At least one. From a word "--" on all are.
  void Words(std::string name, std::vector<std::string>* values, std::string help);
  void Switch(std::string names, bool* value, std::string help);  // "-w,--watch"
  void Text(std::string names, std::string placeholder, std::string* value, std::string help);
  void Texts(std::string names, std::string placeholder, std::vector<std::string>* values,
             std::string help, bool required = false);  // as often as it is typed
  void Number(std::string names, std::string placeholder, std::optional<int64_t>* value,
              std::string help, int64_t least = 0,
              int64_t most = kMostNumber);  // a whole number from `least` to `most`
  void Duration(std::string names, std::optional<int64_t>* seconds,
                std::string help);  // "90s", "10min", or bare seconds
  // --set key=value, and --key value or --key=value where key is one of the job schema's.
  void Overrides(std::vector<job::Override>* overrides, std::string help);
  // "--matrix", "KEY=VALUE,VALUE,…": settings, as often as they are typed.
  void Settings(std::string names, std::string placeholder, std::vector<job::Override>* settings,
                std::string help);
  // The option is of use only with one of these.
  void Needs(std::string option, std::vector<std::string> partners);
  // The options that `declare` declares are of use only with one of these actions: the first words
  // of the positional arguments, as "delete" or "token create"; "" where there are none.
  void OnlyWith(const std::vector<std::string>& actions, const std::function<void()>& declare);
  // One of these options is of use with that action, too.
  void AlsoWith(const std::string& option, const std::string& action);
  // The values that an option is completed with; several: a list of them behind commas. What may
  // stand there its reader says, from the same table.
  void Offers(std::string option, std::vector<std::string> values, bool several = false) {
    offers_.push_back({std::move(option), std::move(values), several});
  }
  // Said after the options.
  void Remark(std::string text) { remarks_.push_back(std::move(text)); }

  // kInvalid: what is wrong, with a did-you-mean, and which help to read. Asking for help is no
  // error: see wants_help.
  base::Status Parse(const std::vector<std::string>& words);
  bool wants_help() const { return wants_help_; }

  VerbHelp Told() const;
  // The same as a text, examples first.
  std::string Help() const;
  bool Has(std::string_view flag) const;
  // "--watch", "-w", …, without the job schema's keys.
  std::vector<std::string> Flags() const;
  struct Offer {
    std::string option;  // "--state"
    std::vector<std::string> values;
    bool several = false;
    bool operator==(const Offer&) const = default;
  };
  const std::vector<Offer>& offers() const { return offers_; }
  // The job schema's keys are options too.
  bool takes_overrides() const { return overrides_ != nullptr; }

 private:
  static constexpr int64_t kMostNumber = std::numeric_limits<int64_t>::max();

  enum class Kind {
    kPositional,
    kPositionals,
    kWords,
    kSwitch,
    kText,
    kTexts,
    kNumber,
    kDuration,
    kSettings
  };
  struct Argument {
    Kind kind;
    std::string names;        // of a positional: its name
    std::string placeholder;  // empty: none
    std::string help;
    bool required = false;
    bool* flag = nullptr;
    std::string* text = nullptr;
    std::vector<std::string>* texts = nullptr;
    std::optional<int64_t>* number = nullptr;
    int64_t least = 0, most = kMostNumber;  // of kNumber
    std::vector<job::Override>* settings = nullptr;
    std::vector<std::string> actions;  // empty: of use with all
  };

  base::Result<std::vector<std::string>> TakeOverrides(const std::vector<std::string>& words);
  std::vector<std::string> TakeWords(const std::vector<std::string>& words) const;
  const Argument* FindOption(const std::string& word) const;
  base::Status CheckValues(const std::vector<std::string>& words) const;
  base::Status Read(const std::vector<std::string>& words);
  base::Status ReadNumber(const Argument& argument, const std::string& text) const;
  base::Status CheckRequired() const;
  base::Status CheckPartners() const;
  base::Status CheckActions() const;
  std::string PositionalWords() const;
  static bool IsGiven(const Argument& argument);
  base::Error Wrong(const std::string& what) const;
  base::Error UnknownOption(const std::string& word) const;
  base::Status AddSetting(const Argument& argument, const std::string& text) const;

  std::string verb_, summary_, examples_;
  std::vector<Argument> arguments_;
  std::vector<std::string> remarks_;
  std::vector<Offer> offers_;
  std::vector<std::pair<std::string, std::vector<std::string>>> partners_;  // by the option
  std::vector<job::Override>* overrides_ = nullptr;
  bool wants_help_ = false;
};

}  // namespace trainctl::client
