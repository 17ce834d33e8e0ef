#include "client/exit_code.h"
#include "client/format.h"
#include "client/verbs.h"

namespace trainctl::client {
namespace {

// Jobs are completed by asking the coordinator; one that does not answer completes nothing.
constexpr std::string_view kJobs = "$(trainctl status -o name 2>/dev/null)";

std::string FlagsOf(const VerbRow& row) {
  Arguments arguments(row.name, row.summary, row.examples);
  const std::unique_ptr<Verb> verb = row.make();
  verb->Declare(arguments);
  return Join(arguments.Flags(), " ") + " --server --output";
}

bool TakesJobs(std::string_view verb) {
  return verb == "status" || verb == "describe" || verb == "logs" || verb == "wait" || verb == "cancel" || verb == "compare" ||
         verb == "metrics";
}

std::string VerbNames() {
  std::vector<std::string_view> names;
  for (const VerbRow& row : Verbs()) names.push_back(row.name);
  return Join(names, " ");
}

std::string BashScript() {
  std::string text = R"script(# trainctl completion for bash: source <(trainctl completion bash)
_trainctl() {
  local word=${COMP_WORDS[COMP_CWORD]} flags= jobs=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ")script" +
                     VerbNames() + R"script( --help --version" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
)script";
  for (const VerbRow& row : Verbs()) {
    text += "    " + std::string(row.name) + ") flags=\"" + FlagsOf(row) + "\"" + (TakesJobs(row.name) ? " jobs=1" : "") + " ;;\n";
  }
  return text + "  esac\n  [ -z \"$jobs\" ] || jobs=" + std::string(kJobs) + R"script(
  case $word in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$jobs" -- "$word")) ;;
  esac
}
complete -o default -F _trainctl trainctl
)script";
}

std::string ZshScript() {
  std::string text = R"script(#compdef trainctl
# trainctl completion for zsh: trainctl completion zsh > ~/.zfunc/_trainctl, with fpath+=~/.zfunc before compinit
_trainctl() {
  local -a verbs flags jobs
  verbs=(
)script";
  for (const VerbRow& row : Verbs()) text += "    '" + std::string(row.name) + ":" + std::string(row.summary) + "'\n";
  text += "  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\n  fi\n  case $words[2] in\n";
  for (const VerbRow& row : Verbs()) {
    text += "    " + std::string(row.name) + ") flags=(" + FlagsOf(row) + ")";
    if (TakesJobs(row.name)) text += "; jobs=(${(f)\"" + std::string(kJobs) + "\"})";
    text += " ;;\n";
  }
  return text + R"script(  esac
  if [[ $words[CURRENT] == -* ]]; then
    compadd -- $flags
  elif (( $#jobs )); then
    compadd -- $jobs
  else
    _files
  fi
}
_trainctl "$@"
)script";
}

class Completion : public Verb {
 public:
  void Declare(Arguments& arguments) override { arguments.Positional("SHELL", &shell_, "bash or zsh"); }

  int Run(Context& context) override {
    if (shell_ != "bash" && shell_ != "zsh") {
      return Fail(context, {base::Code::kInvalid, "completion " + shell_ + ": expected bash or zsh"});
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
