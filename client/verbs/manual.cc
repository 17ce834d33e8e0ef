#include <filesystem>
#include <system_error>

#include "client/exit_code.h"
#include "client/show/format.h"
#include "client/show/man_page.h"
#include "client/verbs/program.h"
#include "client/verbs/verb.h"
#include "common/base/file.h"
#include "common/base/version.h"

namespace trainctl::client {
namespace {

std::string PageName(std::string_view verb) { return "trainctl-" + std::string(verb); }

ManPage PageOf(const VerbRow& row) {
  const VerbHelp help = HelpOf(row);
  ManPage page{.name = PageName(help.verb),
               .summary = help.summary,
               .version = std::string(base::Version()),
               .usage = help.usage,
               .description = help.remarks,
               .examples = help.examples,
               .see_also = {"trainctl"}};
  for (const VerbHelp::Line& line : help.lines) page.options.emplace_back(line.name, line.help);
  return page;
}

// Its first line is "trainctl: what it is".
ManPage PageOfAll() {
  const std::string overview = Overview();
  const std::string first = overview.substr(0, overview.find('\n'));
  ManPage page{.name = "trainctl",
               .summary = first.substr(first.find(": ") + 2),
               .version = std::string(base::Version()),
               .overview = overview.substr(first.size() + 2)};
  for (const VerbRow& row : Verbs()) page.see_also.push_back(PageName(row.name));
  return page;
}

class Manual : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("DIR", &folder_, "the folder; it is made where it is missing");
    arguments.Remark(
        "The pages tell what --help tells. man finds those in ~/.local/share/man/man1.");
  }

  bool HasFormats() const override { return false; }

  int Run(Context& context) override {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) return Fail(context, {base::Code::kIo, folder_ + ": " + error.message()});
    std::vector<ManPage> pages = {PageOfAll()};
    for (const VerbRow& row : Verbs()) pages.push_back(PageOf(row));
    for (const ManPage& page : pages) {
      const base::Status written =
          base::WriteFileAtomically(folder_ + "/" + page.name + ".1", Roff(page));
      if (!written.ok()) return Fail(context, written.error());
    }
    Say(context, Plural(static_cast<int64_t>(pages.size()), "page") + " in " + folder_ + "\n");
    return kExitOk;
  }

 private:
  std::string folder_;
};

}  // namespace

std::unique_ptr<Verb> MakeManual() { return std::make_unique<Manual>(); }

}  // namespace trainctl::client
