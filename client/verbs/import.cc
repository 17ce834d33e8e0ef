#include <filesystem>
#include <utility>

#include "client/exit_code.h"
#include "client/litgpt/command.h"
#include "client/litgpt/convert.h"
#include "client/litgpt/yaml.h"
#include "client/new_file.h"
#include "client/show/format.h"
#include "client/verbs/verb.h"
#include "common/base/file.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = 1 << 20;

class Import : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Words(
        "WORD", &words_,
        "litgpt, then a LitGPT configuration file with overrides, or a whole LitGPT command line");
    arguments.Text("-o,--output", "FILE", &output_, "where the job file goes; else to stdout");
    arguments.Switch("--overwrite", &overwrite_, "replace FILE");
    arguments.Needs("--overwrite", {"-o"});
    arguments.Text("--job-name", "NAME", &name_,
                   "of the job; else the configuration's, or the model's");
    arguments.Remark(
        "Settings that are not given have LitGPT's defaults (0.5.7), not ours. Each key that has "
        "no counterpart is noted on stderr, none "
        "is\n"
        "dropped in silence. The job is checked as submit does. Typed relative paths are relative "
        "to here, as LitGPT has them; in the job "
        "file\n"
        "they are relative to FILE. The model is read as a Hugging Face folder.");
  }

  int Run(Context& context) override {
    if (words_.front() != "litgpt" || words_.size() < 2) {
      return Fail(context, {base::Code::kInvalid,
                            words_.front() == "litgpt"
                                ? "import litgpt: expected a .yaml file or a command behind it; "
                                  "see: trainctl import --help"
                                : "import " + words_.front() +
                                      ": expected litgpt; see: trainctl import --help"});
    }
    if (ParseOutputFormat(output_)) {
      return Fail(context,
                  {base::Code::kInvalid, "-o " + output_ +
                                             ": expected a FILE, such as job.json; without -o "
                                             "the job file is printed, as JSON"});
    }
    const base::Result<LitgptSource> source = ReadSource();
    if (!source.ok()) return Fail(context, source.error());
    const LitgptJob job = ConvertLitgpt(*source);
    for (const std::string& note : job.notes) context.err << "note: " << note << std::endl;
    if (!job.problems.empty())
      return Fail(context, {base::Code::kInvalid,
                            "this can't be said in a job file\n" + Join(job.problems, "\n")});
    return Write(context, job.job.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }

 private:
  base::Result<LitgptSource> ReadSource() const {
    base::Result<LitgptCommand> command = ReadLitgptCommand({words_.begin() + 1, words_.end()});
    if (!command.ok()) return command.error();
    LitgptSource source{.method = command->method,
                        .name = name_,
                        .origin = command->config.empty() ? "a command line" : command->config};
    if (!command->config.empty()) {
      const base::Result<std::string> text = base::ReadFile(command->config, kMaxConfigBytes);
      if (!text.ok()) return text.error();
      base::Result<LitgptSettings> settings = ReadLitgptYaml(*text, command->config);
      if (!settings.ok()) return settings.error();
      source.settings = std::move(*settings);
    }
    for (LitgptSetting& setting : command->overrides) source.settings.push_back(std::move(setting));
    if (source.name.empty()) source.name = NameOf(command->config, source.settings);
    source.exists = [](const std::string& path) {
      std::error_code error;
      return fs::exists(path, error);
    };
    source.place_path = [this](const std::string& path) { return PlacePath(path); };
    return source;
  }

  static std::string NameOf(const std::string& config, const LitgptSettings& settings) {
    std::string name = fs::path(config).stem().string();
    for (const LitgptSetting& setting : settings) {
      if (name.empty() && setting.key == "checkpoint_dir")
        name = fs::path(setting.value).lexically_normal().filename().string();
    }
    return name.empty() ? "litgpt" : name;
  }

  std::string PlacePath(const std::string& path) const {
    if (output_.empty() || fs::path(path).is_absolute()) return path;
    std::error_code error;
    const fs::path from_here = fs::absolute(path, error).lexically_normal();
    const fs::path folder = fs::absolute(output_, error).lexically_normal().parent_path();
    return from_here.lexically_relative(folder).string();
  }

  int Write(Context& context, const std::string& text) const {
    const job::ReadJob read = job::ReadJobFile(text, {.source = "the job", .base_directory = "/"});
    if (!read.problems.empty()) {
      return Fail(context, {base::Code::kInvalid,
                            "the job would be refused\n" + job::Format(read.problems, "the job")});
    }
    for (const std::string& note : read.notes) context.err << "note: " << note << std::endl;
    if (output_.empty()) {
      context.out << text << std::flush;
      return kExitOk;
    }
    if (const base::Status written = WriteNewFile(output_, text, overwrite_); !written.ok())
      return Fail(context, written.error());
    Say(context,
        "Wrote " + output_ + ". What it would do: trainctl submit " + output_ + " --dry-run\n");
    return kExitOk;
  }

  std::vector<std::string> words_;
  std::string output_, name_;
  bool overwrite_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeImport() { return std::make_unique<Import>(); }

}  // namespace trainctl::client
