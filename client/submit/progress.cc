#include "client/submit/progress.h"

#include <algorithm>

#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/site_time.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

constexpr int64_t kLineEveryMicros = 10'000'000;
constexpr size_t kMostBars = 12;  // a lab's group may hold more jobs than a terminal has lines
constexpr int kWidthUnknown = 100;

std::string Name(const v1::JobView& view) { return NameWithId(view.name(), view.id()); }

// "loading 1.20 of 13.50 GiB" is the phase "loading": lines are written when it changes, not at
// every byte.
std::string PhaseOf(const v1::JobView& view) {
  const bool counts =
      StateOf(view) == job::JobState::kStarting || StateOf(view) == job::JobState::kRunning;
  const std::string word =
      counts ? view.reason().substr(0, view.reason().find(' ')) : view.reason();
  return view.state() + " " + std::to_string(view.attempt()) + " " + word;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// ", evaluating 12/40": what holds up the steps.
std::string Activity(const v1::JobView& view) {
  return view.reason().empty() ? "" : ", " + InLocalTime(view.reason());
}

std::string Numbers(const v1::JobView& view) {
  std::string text;
  if (view.has_loss()) text += "  loss " + FormatNumber(view.loss());
  if (view.has_tokens_per_second())
    text += "  " + FormatNumber(view.tokens_per_second()) + " tokens/s";
  if (view.peak_allocated_bytes() > 0)
    text += "  peak " + base::FormatBytes(view.peak_allocated_bytes());
  return text;
}

std::string Times(const v1::JobView& view, int64_t now) {
  if (view.started_at() == 0) return "";
  std::string text = "  " + FormatClock(ElapsedSeconds(view, now));
  if (view.remaining_seconds() > 0) text += ", " + FormatClock(view.remaining_seconds()) + " left";
  return text;
}

std::string Steps(const v1::JobView& view) {
  return view.steps() > 0 ? WithThousands(view.step()) + "/" + WithThousands(view.steps())
                          : WithThousands(view.step());
}

// "[=======>      ]"
std::string Gauge(const v1::JobView& view, int width) {
  const double share =
      view.steps() > 0
          ? std::clamp(static_cast<double>(view.step()) / static_cast<double>(view.steps()), 0.0,
                       1.0)
          : 0;
  const int full = static_cast<int>(share * width);
  std::string gauge(static_cast<size_t>(full), '=');
  if (full < width) gauge += '>';
  gauge.resize(static_cast<size_t>(width), ' ');
  return "[" + gauge + "]";
}

}  // namespace

void Progress::Update(const v1::JobView& view) {
  const auto [found, is_new] = jobs_.try_emplace(view.id());
  if (is_new) order_.push_back(view.id());
  Shown& shown = found->second;
  shown.view = view;
  site_is_ahead_ = SiteTime(view, *clock_) - clock_->Wall();
  if (terminal_.interactive) EraseBars();
  if (HasEnded(view)) {
    if (!shown.ended) WriteEnd(view);
    shown.ended = true;
  } else if (!terminal_.interactive) {
    WriteLine(view, &shown);
  }
  if (terminal_.interactive) DrawBars();
  *out_ << std::flush;
}

void Progress::Note(const std::string& text) {
  if (terminal_.interactive) EraseBars();
  *out_ << text << "\n";
  if (terminal_.interactive) DrawBars();
  *out_ << std::flush;
}

void Progress::Finish() {
  if (terminal_.interactive) EraseBars();
  bars_drawn_ = 0;
  *out_ << std::flush;
}

void Progress::WriteLine(const v1::JobView& view, Shown* shown) {
  const std::string phase = PhaseOf(view);
  const int64_t now = clock_->Steady();
  const bool first_step =
      StateOf(view) == job::JobState::kRunning && view.step() > 0 && !shown->stepped;
  if (phase == shown->phase && !first_step && now - shown->last_line < kLineEveryMicros) return;
  std::string line = Name(view) + ": " + Lower(view.state());
  if (StateOf(view) == job::JobState::kRunning && view.step() > 0) {
    line =
        Name(view) + ": step " + Steps(view) + Activity(view) + Numbers(view) + Times(view, Now());
  } else if (!view.reason().empty()) {
    line += ": " + InLocalTime(view.reason());
  }
  *out_ << line << "\n";
  shown->phase = phase;
  shown->last_line = now;
  shown->stepped = shown->stepped || first_step;
}

void Progress::WriteEnd(const v1::JobView& view) {
  std::string line =
      Name(view) + ": " + Styled(view.outcome(), OutcomeStyle(view), terminal_.layout.colour);
  if (view.has_as_expected()) line += view.as_expected() ? ", as expected" : ", not as expected";
  if (view.started_at() != 0) line += " after " + FormatClock(ElapsedSeconds(view, Now()));
  if (view.steps() > 0) line += ", step " + Steps(view);
  line += Numbers(view);
  *out_ << line << "\n";
  if (!view.message().empty() && !Succeeded(view))
    *out_ << "  " << InLocalTime(view.message()) << "\n";
}

std::string Progress::Bar(const v1::JobView& view) const {
  const int width = terminal_.layout.width > 0 ? terminal_.layout.width : kWidthUnknown;
  if (StateOf(view) != job::JobState::kRunning)
    return Truncate(Name(view) + "  " + Lower(view.state()) + "  " + InLocalTime(view.reason()),
                    width - 1);
  const std::string before = Name(view) + " ";
  const std::string after = " " + Steps(view) + Activity(view) + Numbers(view) + Times(view, Now());
  const int gauge = std::min(width - 1 - DisplayWidth(before) - DisplayWidth(after) - 2, 30);
  return Truncate(before + (gauge >= 5 ? Gauge(view, gauge) : "") + after, width - 1);
}

void Progress::EraseBars() {
  for (; bars_drawn_ > 0; --bars_drawn_) *out_ << "\xff[1A\xff[2K";
  *out_ << "\xff\r";
}

void Progress::DrawBars() {
  size_t hidden = 0;
  for (const std::string& id : order_) {
    const Shown& shown = jobs_.at(id);
    if (shown.ended) continue;
    if (static_cast<size_t>(bars_drawn_) == kMostBars) {
      ++hidden;
      continue;
    }
    *out_ << Bar(shown.view) << "\n";
    ++bars_drawn_;
  }
  if (hidden > 0) {
    *out_ << "and " << hidden << " more\n";
    ++bars_drawn_;
  }
}

}  // namespace trainctl::client
