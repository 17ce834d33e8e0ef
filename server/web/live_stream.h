// Server-sent events: the answer to a request, now and whenever it has changed, looked at once a
// period. A slow peer gets the newest when it has taken the one before: nothing is queued.
//
//   data: {"schema":"trainctl/v1","jobs":…}      the document, on one line
//   event: problem + data: {"error": "…"}        it can't be had: the stream ends
//   :                                            nothing new, so that the peer knows we live
#pragma once

#include <string>

#include "server/web/connection.h"
#include "server/web/streams.h"

namespace trainctl::web {

// Stream: PlainStream or TlsStream. host: where it comes from.
template <class Stream>
void StreamLive(Stream stream, std::string host, Request request, Shared& shared);

}  // namespace trainctl::web
