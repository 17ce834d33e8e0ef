// stderr while a picture is drawn on the same terminal: what is written there is kept, the first
// 64 KiB of it, and written once the terminal shows lines again. So a message of the program's end
// is seen, and a library's remark is no part of the picture.
//
// At most one object at a time. Keep and Tell may be called by a signal's handler.
#pragma once

namespace trainctl::client {

class KeptErrors {
 public:
  // Where stderr is no terminal nothing is kept: it is written where it goes.
  KeptErrors();
  // It has told.
  ~KeptErrors();
  KeptErrors(const KeptErrors&) = delete;

  void Keep() const;
  // Writes what was kept, and keeps no more.
  void Tell() const;

 private:
  int terminal_ = -1;       // stderr as it was; -1: it is left alone
  int pipe_[2] = {-1, -1};  // of what is written since: its end, and its beginning
};

}  // namespace trainctl::client
