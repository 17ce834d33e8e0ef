// What a person has chosen to see, and how keys change it. Pure.
#pragma once

#include <string>

#include "client/screen.h"
#include "client/top/site_view.h"

namespace trainctl::client {

struct TopState {
  std::string selected;      // the id of a job
  std::string to_cancel;     // the id of the job whose end is asked for, and not yet confirmed
  bool asks_again = false;   // it is confirmed once: of a job that runs a second time is asked
  std::string log_of;        // the id of the job whose log is shown; empty: the site is
  int lines_back = 0;        // of the log: how far above its end
  int log_page = 10;         // lines that fit the screen
  int most_back = 0;         // where its first line is the first that is shown
  bool all_devices = false;  // rather than hosts alone
  int devices_first = 0;     // the first row of devices that is shown, of those that scroll
  int devices_page = 0;      // how many are shown; 0: nothing scrolls
  int devices_most = 0;      // where the last row is the last that is shown
  bool help = false;
  JobOrder order = JobOrder::kAge;
  std::string filter;  // see Arranged; empty: all jobs
  bool types = false;  // keys are letters of the filter
  std::string notice;  // what came of the last key
};

enum class TopAction { kNone, kQuit, kCancel };

// The selection is a job that is there: the same, else the one that took its place, else none.
void Settle(const SiteView& site, TopState* state);

// kCancel: the end of state->to_cancel is confirmed, of a job that runs twice; whoever asks for it
// clears that.
TopAction Obey(const KeyPress& key, const SiteView& site, TopState* state);

}  // namespace trainctl::client
