#include <algorithm>
#include <set>

#include "client/exit_code.h"
#include "client/show/comparison.h"
#include "client/show/explanations.h"
#include "client/show/format.h"
#include "client/verbs/verb.h"
#include "common/job/job_json.h"
#include "common/job/schema.h"
#include "common/rank/metric.h"

namespace trainctl::client {
namespace {

// What is completed by asking the coordinator; one that does not answer completes nothing.
constexpr std::string_view kJobs = "trainctl completion jobs";
constexpr std::string_view kWorkers = "trainctl workers -o name";
constexpr std::string_view kLeases = "trainctl lease ls -o name";
constexpr std::string_view kContexts = "trainctl context ls -o name";
constexpr std::string_view kFormats = "table json jsonl csv md name";

using Offer = Arguments::Offer;

Arguments DeclaredBy(const VerbRow& row, Verb& verb) {
  Arguments arguments(row.name, row.summary, row.examples);
  verb.Declare(arguments);
  return arguments;
}

std::string FlagsOf(const VerbRow& row) {
  const std::unique_ptr<Verb> verb = row.make();
  return Join(DeclaredBy(row, *verb).Flags(), " ") + " --server --context" +
         (verb->HasFormats() ? " --output" : "");
}

// Those that take settings of the job file as options.
std::string VerbsWithSettings() {
  std::vector<std::string_view> names;
  for (const VerbRow& row : Verbs()) {
    const std::unique_ptr<Verb> verb = row.make();
    if (DeclaredBy(row, *verb).takes_overrides()) names.push_back(row.name);
  }
  return Join(names, "|");
}

// The words that a schema allows, of a list's items too.
void AddNames(const job::JsonNode& schema, Offer* offer) {
  if (const job::JsonNode* names = schema.Find("enum")) {
    for (const job::JsonNode& name : names->items) offer->values.push_back(name.text);
  }
  const job::JsonNode* name = schema.Find("const");
  if (name != nullptr && name->Is(job::JsonNode::Type::kString))
    offer->values.push_back(name->text);
  const job::JsonNode* type = schema.Find("type");
  if (type != nullptr && type->text == "boolean") {
    for (const char* word : {"true", "false"}) offer->values.push_back(word);
  }
  if (const job::JsonNode* ways = schema.Find("anyOf")) {
    for (const job::JsonNode& way : ways->items) AddNames(way, offer);
  }
  if (const job::JsonNode* items = schema.Find("items")) {
    AddNames(*items, offer);
    offer->several = true;
  }
}

// What options take words of a table, as a pattern of both shells: "'status --state' | 'rm
// --state'" of verbs, "--precision" of settings.
struct Offered {
  std::string options;
  Offer offer;
};

void Add(const std::string& option, const Offer& offer, std::vector<Offered>* all) {
  for (Offered& one : *all) {
    if (one.offer.values != offer.values || one.offer.several != offer.several) continue;
    one.options += " | " + option;
    return;
  }
  all->push_back({option, offer});
}

std::vector<Offered> OfVerbs() {
  std::vector<Offered> all;
  for (const VerbRow& row : Verbs()) {
    const std::unique_ptr<Verb> verb = row.make();
    const Arguments arguments = DeclaredBy(row, *verb);
    for (const Offer& offer : arguments.offers())
      Add("'" + std::string(row.name) + " " + offer.option + "'", offer, &all);
  }
  return all;
}

std::vector<Offered> OfSettings() {
  std::vector<Offered> all;
  for (const std::string& key : job::SettingKeys()) {
    const job::Field* field = job::FindField(key);
    Offer offer;
    if (field != nullptr) AddNames(field->schema, &offer);
    if (!offer.values.empty()) Add("--" + key, offer, &all);
  }
  return all;
}

std::string SettingKeys() { return Join(job::SettingKeys(), " "); }

std::string MetricNames() {
  std::vector<std::string_view> names;
  for (const job::MetricInfo& metric : job::Metrics()) names.push_back(metric.name);
  return Join(names, " ");
}

// Of `compare --only`.
std::string RowKeys() { return Join(KeysOfAnyComparison(), " "); }

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
    {"rm", "", kJobs},
    {"resume", "", kJobs},
    {"generate", "", kJobs},
    {"compare", "", kJobs},
    {"plot", "", kJobs},
    {"metrics", "", kJobs},
    {"export", "", kJobs},
    {"report", "", kJobs},
    {"artifacts", "ls get", kJobs},
    {"import", "litgpt", ""},
    {"completion", "bash zsh", ""},
    {"local", "up status down", ""},
    {"fence", "", kWorkers},
    {"drain", "", kWorkers},
    {"undrain", "", kWorkers},
    {"workers", "remove", kWorkers},
    {"lease", "create find ls describe extend delete calendar", kLeases},
    {"admin", "audit backup revoke-host token worker-token", ""},
    {"config", "get set unset server context", ""},
    {"context", "add use ls rm", kContexts},
    {"recipes", "ls show path copy submit", "trainctl recipes -o name"},
};

Words WordsOf(std::string_view verb) {
  static const std::string topics = TopicWords();
  if (verb == "explain") return {verb, topics, kJobs};
  for (const Words& words : kWords) {
    if (words.verb == verb) return words;
  }
  return {};
}

// What may stand behind an option.
constexpr Words kValues[] = {
    {"--after|--base|--group|--job", "", kJobs},
    {"--within", "", kLeases},
    {"--context", "", kContexts},
};

std::string VerbNames() {
  std::vector<std::string_view> names;
  for (const VerbRow& row : Verbs()) names.push_back(row.name);
  return Join(names, " ");
}

// Bash would run what it finds in words of others, so that compgen -W never sees them: only names
// without a character of the shell are completed.
constexpr const char* kBashHead =
    R"script(# trainctl completion for bash: source <(trainctl completion bash)
_trainctl_offer() {  # WORD PREFIX SUFFIX, and words on stdin
  local word
  while read -r word; do
    case $word in '' | *[!A-Za-z0-9._/@+-]*) continue ;; esac
    [[ $2$word == "$1"* ]] && COMPREPLY+=("$2$word$3")
  done
}
_trainctl_words() { tr -s ' ' '\n' <<<"$1"; }
_trainctl() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= words= from=
  local verb=${COMP_WORDS[1]} settings= list= several=
  COMPREPLY=()
)script";

// "--set precision=" is completed as --precision is.
constexpr const char* kBashTail = R"script(  local at=$((COMP_CWORD - 1)) valued=
  if [ "$word" = = ]; then
    word= valued=1
  elif [ "$before" = = ]; then
    at=$((at - 1)) valued=1
  fi
  before=${COMP_WORDS[at]}
  if [ -n "$valued" ]; then
    case ${COMP_WORDS[at-1]} in
      --set) before=--$before ;;
      --matrix) before=--$before several=1 ;;
    esac
  fi
  case $before in
    --set | --matrix)
      compopt -o nospace 2>/dev/null
      _trainctl_offer "$word" '' = < <(_trainctl_words "$keys")
      return ;;
    --metric) words=$metrics from= list=1 ;;
    --only) words=$rows from= list=1 ;;
    --name) [ "$verb" != metrics ] || words=$metrics from= list=1 ;;
)script";

std::string BashCases(const std::vector<Offered>& offered) {
  std::string text;
  for (const auto& [options, offer] : offered) {
    text += "    " + options + ") words=\"" + Join(offer.values, " ") +
            "\" from= list=" + (offer.several ? "1" : "$several") + " ;;\n";
  }
  return text;
}

std::string BashScript() {
  std::string text = kBashHead;
  text += "  local keys=\"" + SettingKeys() + "\"\n  local metrics=\"" + MetricNames() +
          "\"\n  local rows=\"" + RowKeys() + "\"\n";
  text += "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    _trainctl_offer \"$word\" '' '' < <(" +
          std::string("_trainctl_words \"") + VerbNames() +
          " --help --version\")\n    return\n  fi\n  case $verb in\n";
  for (const VerbRow& row : Verbs()) {
    const Words words = WordsOf(row.name);
    text += "    " + std::string(row.name) + ") flags=\"" + FlagsOf(row) + "\" words=\"" +
            std::string(words.words) + "\" from=\"" + std::string(words.command) + "\" ;;\n";
  }
  text += "  esac\n  case $verb in " + VerbsWithSettings() + ") settings=1 ;; esac\n" + kBashTail;
  for (const Words& value : kValues) {
    text += "    " + std::string(value.verb) + ") words= from=\"" + std::string(value.command) +
            "\" ;;\n";
  }
  return text + "    -o | --output) case $verb in import | plot | report) ;; *) words=\"" +
         std::string(kFormats) + R"script(" from= ;; esac ;;
  esac
  case "$verb $before" in
)script" +
         BashCases(OfVerbs()) + "  esac\n  [ -z \"$settings\" ] || case $before in\n" +
         BashCases(OfSettings()) +
         R"script(  esac
  case $word in
    -*)
      _trainctl_offer "$word" '' '' < <(_trainctl_words "$flags")
      [ -z "$settings" ] || _trainctl_offer "$word" -- '' < <(_trainctl_words "$keys") ;;
    *)
      local done=
      [ -z "$list" ] || done=${word%"${word##*,}"}
      _trainctl_offer "$word" "$done" '' < <(_trainctl_words "$words"; $from 2>/dev/null) ;;
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

std::string ZshCases(const std::vector<Offered>& offered) {
  std::string text;
  for (const auto& [options, offer] : offered) {
    text += "    " + options + ") " + (offer.several ? "" : "(( several )) && ") +
            "compset -P '*,'; compadd -- " + Join(offer.values, " ") + "; return ;;\n";
  }
  return text;
}

// "--set precision=" and "--precision=" are completed as --precision is.
constexpr const char* kZshValued = R"script(
  local before=$words[CURRENT-1] several=0
  if [[ $before == (--set|--matrix) && $words[CURRENT] == *=* ]]; then
    [[ $before != --matrix ]] || several=1
    before=--${words[CURRENT]%%=*}
    compset -P '*='
  elif [[ $words[CURRENT] == --*=* ]]; then
    before=${words[CURRENT]%%=*}
    compset -P '*='
  fi
  case "$words[2] $before" in
)script";

std::string ZshScript() {
  std::string text = R"script(#compdef trainctl
# trainctl completion for zsh: source <(trainctl completion zsh) after compinit; or trainctl completion zsh > ~/.zfunc/_trainctl, with
# fpath+=~/.zfunc before compinit
_trainctl() {
  local -a verbs flags words_here keys metrics rows
)script";
  text += "  keys=(" + SettingKeys() + ")\n  metrics=(" + MetricNames() + ")\n  rows=(" +
          RowKeys() + ")\n  verbs=(\n";
  for (const VerbRow& row : Verbs())
    text += "    " + Quoted(std::string(row.name) + ":" + std::string(row.summary)) + "\n";
  text += "  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\n  fi";
  text += kZshValued + ZshCases(OfVerbs()) + "  esac\n  if [[ $words[2] == (" +
          VerbsWithSettings() + ") ]]; then case $before in\n" + ZshCases(OfSettings()) +
          "  esac; fi\n";
  text +=
      "  case $before in\n    --set|--matrix) compadd -S = -- $keys; return ;;\n"
      "    --metric) compset -P '*,'; compadd -- $metrics; return ;;\n"
      "    --only) compset -P '*,'; compadd -- $rows; return ;;\n"
      "    --name) if [[ $words[2] == metrics ]]; then compset -P '*,'; compadd -- $metrics; "
      "return; fi ;;\n";
  for (const Words& value : kValues) {
    text += "    " + std::string(value.verb) + ") compadd -- ${(f)\"$(" +
            std::string(value.command) + " 2>/dev/null)\"}; return ;;\n";
  }
  text += "  esac\n  case $words[2] in\n";
  for (const VerbRow& row : Verbs()) {
    text += "    " + std::string(row.name) + ") flags=(" + FlagsOf(row) + ")";
    const Words words = WordsOf(row.name);
    text += "; words_here=(" + std::string(words.words);
    if (!words.command.empty())
      text += " ${(f)\"$(" + std::string(words.command) + " 2>/dev/null)\"}";
    text += ")";
    text += " ;;\n";
  }
  return text + "  esac\n  [[ $words[2] == (" + VerbsWithSettings() +
         R"script() ]] && flags+=(--$^keys)
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
    arguments.Remark(
        "Behind --set and -- stand the job file's settings, and behind one of these the words that "
        "it takes; behind\n"
        "--state the states, behind --metric the metrics, behind --only the rows of compare; ids "
        "and names of jobs are asked of the coordinator.");
  }

  bool NeedsSite() const override { return shell_ == "jobs"; }

  bool HasFormats() const override { return false; }

  int Run(Context& context) override {
    if (shell_ == "jobs") return PrintJobs(context);
    if (shell_ != "bash" && shell_ != "zsh") {
      return Fail(context,
                  {base::Code::kInvalid, "completion " + shell_ + ": expected bash or zsh"});
    }
    context.out << (shell_ == "bash" ? BashScript() : ZshScript()) << std::flush;
    return kExitOk;
  }

 private:
  // For the scripts: ids, names and groups of jobs, a line each.
  static int PrintJobs(Context& context) {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    const base::Result<v1::ListResponse> response = (*api)->List({});
    if (!response.ok()) return Fail(context, response.error());
    std::set<std::string> words;
    for (const v1::JobView& job : response->jobs()) {
      for (const std::string& word : {job.id(), job.name(), job.group(), job.group_name()}) {
        if (!word.empty() && words.insert(word).second) context.out << word << "\n";
      }
    }
    context.out << std::flush;
    return kExitOk;
  }

  std::string shell_;
};

}  // namespace

std::unique_ptr<Verb> MakeCompletion() { return std::make_unique<Completion>(); }

}  // namespace trainctl::client
