// How many fields the bytes of a message have, before anything is made of them: an empty field of
// two bytes may become a hundred of memory.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

namespace trainctl::rpc {

inline constexpr int kMaxRequestFields = 10'000;  // nested ones included

// Whether the bytes are a message's, with at most so many fields, nested ones included. What a
// field holds is not looked at.
bool HasAtMostFields(google::protobuf::io::ZeroCopyInputStream* bytes,
                     const google::protobuf::Descriptor* type, int most);

}  // namespace trainctl::rpc
