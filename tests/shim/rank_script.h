// A rank that does what a script says: steps separated by ';', each a word and what follows it.
//   print TEXT           a line on stdout
//   message JSON         a line on the messages descriptor
//   messages COUNT TYPE  COUNT lines {"type":"TYPE","n":1} …
//   overlong BYTES       one message line of that length
//   flood BYTES          that many bytes on stdout, in numbered lines
//   command              reads one line from the commands descriptor, and sends it on as {"type":"started","commit":"<line, hex>"}
//   ignore-term          ignores SIGTERM from here on
//   grandchild           starts a process of another session that ignores SIGTERM and sends {"type":"saved","kind":"grandchild","path":"<pid>"}
//   environment NAME     prints its value
//   wait                 until a signal ends it
//   exit CODE | signal NUMBER
#pragma once

#include <string_view>

namespace trainctl::tests {

inline constexpr int kMessagesFd = 3;
inline constexpr int kCommandsFd = 4;

// Returns the exit code, 0 unless the script says another.
int RunRankScript(std::string_view script);

}  // namespace trainctl::tests
