#include "client/show/man_page.h"
#include "client/verbs/verb.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

using ManualTest = ClientTest;

bool HasText(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

TEST_F(ManualTest, NothingInATextIsARequestToRoff) {
  const std::string page = Roff({.name = "trainctl-x",
                                 .summary = "one\ntwo",
                                 .description = {".hidden\n'too \\f"},
                                 .options = {{"-w, --wait", ".5 s"}}});
  EXPECT_TRUE(HasText(page, "\ntrainctl\\-x \\- one two\n")) << page;
  EXPECT_TRUE(HasText(page, ".PP\n\\&.hidden\n\\&'too \\ef\n")) << page;
  EXPECT_TRUE(HasText(page, ".TP\n.B \\-w, \\-\\-wait\n\\&.5 s\n")) << page;
}

TEST_F(ManualTest, EachVerbHasAPageThatTellsItsOptions) {
  const ScratchFolder folder;
  const Ended ended = Trainctl({"manual", folder / "man/man1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const VerbRow& row : Verbs()) {
    const std::string page = folder.Read("man/man1/trainctl-" + std::string(row.name) + ".1");
    EXPECT_TRUE(HasText(page, "\\-\\-server HOST:PORT")) << row.name << "\n" << page;
    EXPECT_TRUE(HasText(page, ".SH EXAMPLES\n.nf\n  ")) << row.name << "\n" << page;
  }
  const std::string submit = folder.Read("man/man1/trainctl-submit.1");
  EXPECT_TRUE(HasText(submit, ".B \\-\\-dry\\-run\n")) << submit;
  const std::string first = folder.Read("man/man1/trainctl.1");
  EXPECT_TRUE(HasText(first, "\ntrainctl \\- fine\\-tunes language models")) << first;
  EXPECT_TRUE(HasText(first, "Exit status")) << first;
}

TEST_F(ManualTest, AFolderThatCannotBeMadeIsSaid) {
  const ScratchFolder folder;
  const std::string file = folder.Write("file", "");
  const Ended ended = Trainctl({"manual", file + "/man1"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(HasText(ended.err, file + "/man1: ")) << ended.err;
}

}  // namespace
}  // namespace trainctl::client
