// A rank that does what a script says: steps separated by ';', each a word and what follows it.
//   print TEXT           a line on stdout
//   complain TEXT        a line on stderr
//   started TEXT         the message that a rank is up, with TEXT as its commit
//   message JSON         a line on the messages descriptor
//   messages COUNT TYPE  COUNT lines {"type":"TYPE","n":1} …
//   train FROM TO        for each step: progress, and the metric loss = step
//   overlong BYTES       one message line of that length
//   flood BYTES          that many bytes on stdout, in numbered lines
//   command              reads one line from the commands descriptor, and says started with the
//                        line in hex
//   ignore-term          ignores SIGTERM from here on
//   grandchild           starts a process of another session that ignores SIGTERM and sends
//                        {"type":"saved","kind":"grandchild","path":"<pid>"}
//   environment NAME     prints its value
//   gate PATH            reads a byte from that fifo
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
