// Valid messages, filled by protobuf's reflection with every field at random: a field that either
// direction of a codec forgets fails the round trip.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace trainctl::wire {

std::string AnyName();

// All fields but those of a oneof.
void Fill(google::protobuf::Message* message);

}  // namespace trainctl::wire
