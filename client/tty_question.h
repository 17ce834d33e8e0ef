// What the terminal that trainctl runs in says of itself when it is asked.
#pragma once

#include <optional>
#include <string_view>

namespace trainctl::client {

// Whether it shows sixels. Waits some seconds for its word: what comes later reaches the shell as
// if it were typed. false: it does not say so, or there is no terminal, or another program has it,
// or somebody has typed already. Nothing: no word came. A key that stands for a signal, such as
// Ctrl-C, is that signal, once the terminal is as before. Not thread-safe.
std::optional<bool> ShowsSixels();

// The word, "ESC [ ? 62 ; 4 ; 22 c": DA1, where 4 stands for sixels.
bool TellsOfSixels(std::string_view answer);

}  // namespace trainctl::client
