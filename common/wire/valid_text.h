// Protobuf neither writes nor reads a string field that is not UTF-8: a message with one breaks its
// stream, and one that is sent again after each reconnection breaks it for good. Texts of logs,
// files and command lines can hold any bytes, so every message passes here before it is sent.
#pragma once

namespace google::protobuf {
class Message;
}

namespace trainctl::wire {

// U+FFFD in place of each invalid byte, in every string field of the message and of the messages in
// it; bytes fields stay as they are. So do maps: who fills one writes plain characters only. Code
// under ThreadSanitizer can't touch them through a libprotobuf that is not.
void MakeTextValid(google::protobuf::Message* message);

}  // namespace trainctl::wire
