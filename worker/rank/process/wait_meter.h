// How long a rank's device stands in a step, for other ranks or for data: the rest of the step is
// its own work. Marks are only recorded here. They are read once the step is over, so that
// measuring waits for nothing. Not thread-safe.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <vector>

#include "worker/rank/process/stream_mark.h"

namespace trainctl::train {

class WaitMeter {
 public:
  struct Wait {
    StreamMark begin, end;
  };
  using Waits = std::vector<Wait>;

  explicit WaitMeter(at::Device device) : device_(device) {}

  // Waits between these two are kept.
  void Begin();
  Waits End();

  // While it lives, the current stream waits.
  class Span {
   public:
    explicit Span(WaitMeter& meter);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    WaitMeter& meter_;
    std::optional<StreamMark> begin_;  // none: it is not kept
  };

 private:
  const at::Device device_;
  bool runs_ = false;
  Waits waits_;
};

// All of them are over.
double TotalSeconds(const WaitMeter::Waits& waits);

}  // namespace trainctl::train
