// All that a verb may touch: the coordinator, two streams, time, and facts about terminal and
// machine that main.cc found out. Tests fill it with fakes.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "client/api.h"
#include "client/screen.h"
#include "client/server_address.h"
#include "client/show/output.h"
#include "client/show/text_table.h"
#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::client {

struct Terminal {
  bool is_terminal = false;
  bool interactive = false;             // lines may be redrawn
  bool unicode = true;                  // more than ASCII may be drawn
  bool pictures = false;                // it shows kitty's graphics
  int cell_width = 0, cell_height = 0;  // of a character, in pixels; 0: not known
  TableLayout layout;                   // width and colour
  int height = 0;                       // in lines; 0: not known
};

struct ProgramOutput {
  int exit_code = 0;
  std::string out;  // its stdout
};

// What surrounds the program. Filled in by main.cc.
struct Surroundings {
  std::istream* in = nullptr;
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  Terminal out_terminal;
  Terminal err_terminal;
  const base::Clock* clock = nullptr;

  std::string environment_server;          // TRAINCTL_SERVER; may be empty
  std::string environment_context;         // TRAINCTL_CONTEXT; may be empty
  std::string environment_recipes;         // TRAINCTL_RECIPES; may be empty
  std::string configuration_file;          // ~/.config/trainctl/config.json; may be empty or absent
  std::vector<std::string> address_files;  // of coordinators that this machine may run
  std::string user;                        // who runs the program; may be empty
  std::string program_directory;  // where trainctl's own binary lies, for the programs beside it

  std::function<std::unique_ptr<Api>(const NamedServer& server)> connect;
  std::function<void(double seconds)> sleep;
  // Asks the terminal, which may not answer. May be empty: it does not.
  std::function<std::optional<bool>()> shows_sixels;
  std::function<std::unique_ptr<Screen>()> open_screen;  // nullptr: none can be drawn on
  // Whether nobody reads the output any more, as behind "| head". May be empty: somebody does.
  std::function<bool()> reader_left;
  std::function<std::string()> new_request_id;  // unique for each submission
  std::function<void(const std::string& words)>
      set_farewell;  // what Ctrl-C says before it ends trainctl
  // Runs a program to its end with this on its stdin. kNotFound: there is no such file.
  std::function<base::Result<ProgramOutput>(const std::vector<std::string>& command,
                                            const std::string& input)>
      run;
  // The process goes on as that program, by its path. Returns only why it can't.
  std::function<base::Error(const std::vector<std::string>& command)> become;
};

struct Context {
  const Surroundings& surroundings;
  std::ostream& out;  // both show what a terminal would obey (show/escaping.h)
  std::ostream& err;
  OutputFormat format = OutputFormat::kTable;
  bool format_given = false;
  std::string server;        // "host:port"; empty: none is known
  std::string ca_file;       // of a server that is reached with TLS; empty: without
  std::unique_ptr<Api> api;  // null where none is known

  const base::Clock& clock() const { return *surroundings.clock; }
  bool for_people() const { return format == OutputFormat::kTable; }
};

// kUnavailable where no server is known: how to name one.
base::Result<Api*> NeedApi(Context& context);

// The job, or the group's jobs, of that id or name. NeedApi's error, and those of Api::Get.
base::Result<v1::GetResponse> GetJobs(Context& context, const std::string& job);
base::Result<v1::GetResponse> GetJobs(Context& context, const v1::GetRequest& request);

// The job of that id or name. GetJobs' errors; kInvalid: a group has the name.
base::Result<v1::JobDetail> GetOneJob(Context& context, const std::string& job);

// Prints "trainctl: <message>" and returns the exit code of the error.
int Fail(Context& context, const base::Error& error);
void Warn(Context& context, const std::string& message);
// Words about the result; only people want them: nothing where the output is for scripts.
void Say(Context& context, const std::string& text);

// People read these words, and programs the listing, in the format asked for.
int Tell(Context& context, const std::string& words, const Listing& listing);

// Prints in the format asked for.
int Print(Context& context, const Listing& listing);

}  // namespace trainctl::client
