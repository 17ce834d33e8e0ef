#include "client/verbs/program.h"

#include <algorithm>
#include <utility>

#include "client/exit_code.h"
#include "client/server_address.h"
#include "client/show/escaping.h"
#include "client/verbs/verb.h"
#include "common/base/did_you_mean.h"
#include "common/base/version.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kOverview =
    R"(trainctl: fine-tunes language models on the GPUs of one or a few hosts, and compares the runs

Examples
  trainctl quickstart                      a site on this machine, and two runs of a small model
  trainctl submit job.json --wait          run a job, with live progress
  trainctl submit job.json --dry-run       does it fit, how many steps, where would it run
  trainctl compare tiny-a tiny-b           two runs side by side: time, memory, throughput, loss
  trainctl status -w                       the queue, live
  trainctl explain oom                     what to do about out of memory

Usage
  trainctl VERB [arguments]; each verb has --help

)";

constexpr std::string_view kCommonHelp = R"(
Everywhere
  --server HOST:PORT      the coordinator; else TRAINCTL_SERVER, else "server" in
                          ~/.config/trainctl/config.json, else the one that this machine runs
  --context NAME          a site that is reached with TLS (trainctl context); else TRAINCTL_CONTEXT,
                          else the one in use
  -o, --output FORMAT     table, json, jsonl, csv, md, name
  --version               version and commit of trainctl and of the programs beside it

Exit status
  0 ok, or the job ended as expected   1 failure   2 usage or invalid job   3 not found
  5 the coordinator does not answer, or none is known   6 not allowed to this user
  submit --dry-run: 4 would be refused here, or does not fit --within
  wait, submit --wait: 10 failed or not as expected   11 out of memory   12 cancelled   13 diverged   14 met its time_limit
  with --timeout: 124 that time is over, the jobs go on   with Ctrl-C: 130 detached
)";

// trainrank knows LibTorch and NCCL, which trainctl never links.
int PrintVersion(Context& context) {
  context.out << "trainctl " << base::Version() << " (commit " << base::Commit() << ")\n";
  const base::Result<ProgramOutput> rank = context.surroundings.run(
      {context.surroundings.program_directory + "/trainrank", "--version"}, "");
  if (rank.ok() && rank->exit_code == 0) {
    context.out << rank->out;
  } else {
    context.out << "LibTorch and NCCL: unknown, since no trainrank runs beside this binary\n";
  }
  context.out << std::flush;
  return kExitOk;
}

int UnknownVerb(Context& context, const std::string& word) {
  std::vector<std::string_view> names;
  for (const VerbRow& verb : Verbs()) names.push_back(verb.name);
  const std::string hint = base::DidYouMean(word, names);
  const std::string what = word.starts_with("-") ? "unknown option '" : "unknown verb '";
  return Fail(context, {base::Code::kInvalid,
                        base::WithHint(what + word + "'", hint, "see: trainctl --help")});
}

struct CommonOptions {
  std::string server;
  std::string context;
  std::string output;
};

void DeclareCommon(const Verb& verb, Arguments& arguments, CommonOptions* options) {
  arguments.Text("--server", "HOST:PORT", &options->server, "the coordinator (or TRAINCTL_SERVER)");
  if (!arguments.Has("--context"))  // else a verb that makes the site of that name
    arguments.Text("--context", "NAME", &options->context, "a site by its name (trainctl context)");
  if (!verb.HasFormats() || arguments.Has("-o")) return;  // the latter writes a file
  arguments.Text("-o,--output", "FORMAT", &options->output, std::string(kOutputFormats));
}

base::Result<NamedServer> ServerOf(const CommonOptions& options, const Surroundings& surroundings) {
  const std::string& file = surroundings.configuration_file;
  if (!options.context.empty() && !options.server.empty())
    return base::Error{base::Code::kInvalid, "--server and --context: expected one of them"};
  if (!options.context.empty()) return ResolveContext(options.context, "--context", file);
  const bool says_server = !options.server.empty() || !surroundings.environment_server.empty();
  if (!says_server && !surroundings.environment_context.empty())
    return ResolveContext(surroundings.environment_context, "TRAINCTL_CONTEXT", file);
  return ResolveServer(options.server, surroundings.environment_server, file,
                       surroundings.address_files);
}

base::Status ApplyCommon(const CommonOptions& options, Context* context) {
  if (!options.output.empty()) {
    const std::optional<OutputFormat> format = ParseOutputFormat(options.output);
    if (!format) {
      return base::Error{base::Code::kInvalid, "-o " + options.output + ": expected one of " +
                                                   std::string(kOutputFormats)};
    }
    context->format = *format;
    context->format_given = true;
  }
  const base::Result<NamedServer> server = ServerOf(options, context->surroundings);
  if (!server.ok()) return server.error();
  context->server = server->address;
  context->ca_file = server->ca_file;
  if (!server->address.empty()) context->api = context->surroundings.connect(*server);
  return base::Ok{};
}

// "-o json" where the answer has one form. Behind "--" are words of another program.
base::Status RefuseFormat(const VerbRow& row, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    if (name != "-o" && name != "--output") continue;
    return base::Error{base::Code::kInvalid, std::string(row.name) + " takes no " + name +
                                                 ": its answer has one form; see: trainctl " +
                                                 std::string(row.name) + " --help"};
  }
  return base::Ok{};
}

int RunVerb(const VerbRow& row, const std::vector<std::string>& words, Context& context) {
  Arguments arguments(row.name, row.summary, row.examples);
  CommonOptions common;
  const std::unique_ptr<Verb> verb = row.make();
  verb->Declare(arguments);
  DeclareCommon(*verb, arguments, &common);
  if (const base::Status has_one = RefuseFormat(row, words); !verb->HasFormats() && !has_one.ok())
    return Fail(context, has_one.error());
  if (const base::Status parsed = arguments.Parse(words); !parsed.ok())
    return Fail(context, parsed.error());
  if (arguments.wants_help()) {
    context.out << arguments.Help() << std::flush;
    return kExitOk;
  }
  if (const base::Status applied = ApplyCommon(common, &context);
      !applied.ok() && verb->NeedsSite())
    return Fail(context, applied.error());
  return verb->Run(context);
}

bool TakesValue(const std::string& word) {
  return word == "--server" || word == "--context" || word == "-o" || word == "--output";
}

// Where the verb stands: behind the options that may stand before it.
size_t FindVerbPlace(const std::vector<std::string>& words) {
  size_t place = 0;
  while (place < words.size() && words[place].starts_with("-")) {
    const std::string name = words[place].substr(0, words[place].find('='));
    if (!TakesValue(name)) break;
    place += name == words[place] ? 2 : 1;
  }
  return std::min(place, words.size());
}

int Dispatch(const std::vector<std::string>& words, const Surroundings& surroundings) {
  EscapingStream out(surroundings.out, EscapingBuffer::Kind::kOwn);
  EscapingStream err(surroundings.err, EscapingBuffer::Kind::kOwn);
  Context context{.surroundings = surroundings, .out = out, .err = err};
  const size_t place = FindVerbPlace(words);
  if (place == words.size()) {
    context.err << Overview() << std::flush;
    return kExitUsage;
  }
  const std::string& word = words[place];
  if (word == "--help" || word == "-h" || (word == "help" && place + 1 == words.size())) {
    context.out << Overview() << std::flush;
    return kExitOk;
  }
  if (word == "--version") return PrintVersion(context);
  std::vector<std::string> rest(words.begin() + static_cast<ptrdiff_t>(place) + 1, words.end());
  rest.insert(std::find(rest.begin(), rest.end(), "--"), words.begin(),
              words.begin() + static_cast<ptrdiff_t>(place));
  if (word == "help") {
    const VerbRow* asked = FindVerb(rest.front());
    return asked == nullptr ? UnknownVerb(context, rest.front())
                            : RunVerb(*asked, {"--help"}, context);
  }
  const VerbRow* row = FindVerb(word);
  return row == nullptr ? UnknownVerb(context, word) : RunVerb(*row, rest, context);
}

}  // namespace

std::string Overview() {
  std::string text(kOverview);
  for (const VerbRow& verb : Verbs()) {
    std::string line = "  " + std::string(verb.name);
    line.resize(26, ' ');
    text += line + std::string(verb.summary) + "\n";
  }
  return text + std::string(kCommonHelp);
}

VerbHelp HelpOf(const VerbRow& row) {
  Arguments arguments(row.name, row.summary, row.examples);
  CommonOptions common;
  const std::unique_ptr<Verb> verb = row.make();
  verb->Declare(arguments);
  DeclareCommon(*verb, arguments, &common);
  return arguments.Told();
}

int RunProgram(const std::vector<std::string>& words, const Surroundings& surroundings) {
  const int code = Dispatch(words, surroundings);
  if (surroundings.out->flush()) return code;
  if (surroundings.reader_left && surroundings.reader_left()) return code;
  *surroundings.err << "trainctl: not all of the output could be written: is the disk full?\n"
                    << std::flush;
  return code == kExitOk ? kExitFailure : code;
}

}  // namespace trainctl::client
