// Live progress of jobs: on a terminal one bar a job, redrawn in place; elsewhere a line at each
// phase and every few seconds. A job that ended leaves one final line. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "client/context.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

class Progress {
 public:
  // Neither out nor clock is owned.
  Progress(std::ostream* out, const Terminal& terminal, const base::Clock* clock)
      : out_(out), terminal_(terminal), clock_(clock) {}

  void Update(const v1::JobView& view);
  // A line above the bars: "the coordinator does not answer; trying again".
  void Note(const std::string& text);
  // Leaves the bars where they are and the cursor below them.
  void Finish();

 private:
  struct Shown {
    v1::JobView view;
    std::string phase;      // of the last line written
    int64_t last_line = 0;  // steady micros
    bool stepped = false;   // its first step was told
    bool ended = false;
  };

  void WriteLine(const v1::JobView& view, Shown* shown);
  void WriteEnd(const v1::JobView& view);
  void EraseBars();
  void DrawBars();
  std::string Bar(const v1::JobView& view) const;
  int64_t Now() const { return clock_->Wall() + site_is_ahead_; }  // of the coordinator's clock

  std::ostream* out_;
  Terminal terminal_;
  const base::Clock* clock_;
  std::map<std::string, Shown> jobs_;
  std::vector<std::string> order_;  // ids, as they appeared
  int bars_drawn_ = 0;
  int64_t site_is_ahead_ = 0;  // micros of this clock, when it told last
};

}  // namespace trainctl::client
