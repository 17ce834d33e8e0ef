#include <algorithm>

#include "client/exit_code.h"
#include "client/show/explanations.h"
#include "client/show/format.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

// Jobs and workers are completed by asking the coordinator; one that does not answer completes
// nothing.
constexpr std::string_view kJobs = "$(trainctl status -o name 2>/dev/null)";
constexpr std::string_view kWorkers = "$(trainctl workers -o name 2>/dev/null)";
constexpr std::string_view kFormats = "table json jsonl csv md name";

std::string FlagsOf(const VerbRow& row) {
  Arguments arguments(row.name, row.summary, row.examples);
  const std::unique_ptr<Verb> verb = row.make();
  verb->Declare(arguments);
  return Join(arguments.Flags(), " ") + " --server --context --output";
}

// A topic is one word here; explain takes "micro_batch" for "micro batch".
std::string TopicWords() {
  std::string topics;
  for (const Explanation& explanation : Explanations())
    topics += std::string(explanation.topic) + "\n";
  std::replace(topics.begin(), topics.end(), ' ', '_');
  std::replace(topics.begin(), topics.end(), '\n', ' ');
  return topics;
}

// What may stand behind a verb: words, and a command that lists more.
struct Words {
  std::string_view verb, words, command;
};

constexpr Words kWords[] = {
    {"status", "", kJobs},
    {"describe", "", kJobs},
    {"logs", "", kJobs},
    {"wait", "", kJobs},
    {"cancel", "", kJobs},
    {"resume", "", kJobs},
    {"compare", "", kJobs},
    {"plot", "", kJobs},
    {"metrics", "", kJobs},
    {"export", "", kJobs},
    {"report", "", kJobs},
    {"artifacts", "ls get", kJobs},
    {"import", "litgpt", ""},
    {"completion", "bash zsh", ""},
    {"fence", "", kWorkers},
    {"lease", "create find ls describe extend delete calendar",
     "$(trainctl lease ls -o name 2>/dev/null)"},
    {"admin", "audit token worker-token", ""},
    {"context", "add use ls rm", ""},
    {"recipes", "ls show path copy submit", "$(trainctl recipes -o name 2>/dev/null)"},
};

Words WordsOf(std::string_view verb) {
  static const std::string topics = TopicWords();
  if (verb == "explain") return {verb, topics, ""};
  for (const Words& words : kWords) {
    if (words.verb == verb) return words;
  }
  return {};
}

std::string VerbNames() {
  std::vector<std::string_view> names;
  for (const VerbRow& row : Verbs()) names.push_back(row.name);
  return Join(names, " ");
}

std::string BashScript() {
  std::string text = R"script(# trainctl completion for bash: source <(trainctl completion bash)
_trainctl() {
  local word=${COMP_WORDS[COMP_CWORD]} flags= words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ")script" +
                     VerbNames() + R"script( --help --version" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
)script";
  for (const VerbRow& row : Verbs()) {
    const Words words = WordsOf(row.name);
    text += "    " + std::string(row.name) + ") flags=\"" + FlagsOf(row) + "\" words=\"" +
            std::string(words.words) + " " + std::string(words.command) + "\" ;;\n";
  }
  return text + R"script(  esac
  case ${COMP_WORDS[COMP_CWORD-1]} in
    -o | --output) case ${COMP_WORDS[1]} in import | plot | report) ;; *) words=")script" +
         std::string(kFormats) + R"script(" ;; esac ;;
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
  esac
}
complete -o default -F _trainctl trainctl
)script";
}

// One word of a shell.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return quoted + "'";
}

std::string ZshScript() {
  std::string text = R"script(#compdef trainctl
# trainctl completion for zsh: source <(trainctl completion zsh) after compinit; or trainctl completion zsh > ~/.zfunc/_trainctl, with
# fpath+=~/.zfunc before compinit
_trainctl() {
  local -a verbs flags words_here
  verbs=(
)script";
  for (const VerbRow& row : Verbs())
    text += "    " + Quoted(std::string(row.name) + ":" + std::string(row.summary)) + "\n";
  text +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\n  fi\n  case "
      "$words[2] in\n";
  for (const VerbRow& row : Verbs()) {
    text += "    " + std::string(row.name) + ") flags=(" + FlagsOf(row) + ")";
    const Words words = WordsOf(row.name);
    text += "; words_here=(" + std::string(words.words);
    if (!words.command.empty()) text += " ${(f)\"" + std::string(words.command) + "\"}";
    text += ")";
    text += " ;;\n";
  }
  return text + R"script(  esac
  if [[ $words[CURRENT-1] == (-o|--output) && $words[2] != (import|plot|report) ]]; then
    compadd -- )script" +
         std::string(kFormats) + R"script(
  elif [[ $words[CURRENT] == -* ]]; then
    compadd -- $flags
  else
    (( $#words_here )) && compadd -- $words_here
    _files
  fi
}
if [ "$funcstack[1]" = _trainctl ]; then _trainctl "$@"; else compdef _trainctl trainctl; fi
)script";
}

class Completion : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("SHELL", &shell_, "bash or zsh");
  }

  int Run(Context& context) override {
    if (shell_ != "bash" && shell_ != "zsh") {
      return Fail(context,
                  {base::Code::kInvalid, "completion " + shell_ + ": expected bash or zsh"});
    }
    context.out << (shell_ == "bash" ? BashScript() : ZshScript()) << std::flush;
    return kExitOk;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Verb> MakeCompletion() { return std::make_unique<Completion>(); }

}  // namespace trainctl::client
