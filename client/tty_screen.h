// The terminal that trainctl runs in, drawn on as a whole: its other screen, raw keys, no cursor,
// no line breaks at the right edge. Only rows that changed are sent, so that a slow line bears it.
//
// The terminal is as it was before when the object ends, and while Ctrl-Z stops the program. A
// signal that ends the program finds it so too. What is written to stderr meanwhile stands there
// then (kept_errors.h). At most one object at a time. Not thread-safe;
// signals may come on any thread.
#pragma once

#include <memory>
#include <string>

#include "client/screen.h"

namespace trainctl::client {

// nullptr: stdout is no terminal that could be drawn on, or there are no keys.
std::unique_ptr<Screen> OpenTtyScreen();

}  // namespace trainctl::client
