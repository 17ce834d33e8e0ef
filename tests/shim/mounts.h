// File systems that fail as real ones do, for tests that run as root; others skip visibly.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <string>

#include "common/base/descriptor.h"

namespace trainctl::tests {

// A small file system in memory, so that it can be full.
class SmallDisk {
 public:
  SmallDisk(std::string path, int kib) : path_(std::move(path)) {
    const std::string size = "size=" + std::to_string(kib) + "k";
    mounted_ = ::mount("test", path_.c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }

  // Leaves not a byte.
  void Fill() const {
    const base::Descriptor file(::open(FillPath().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    const std::string page(4096, 'x');
    while (::write(file.get(), page.data(), page.size()) > 0) {
    }
  }
  void Empty() const { ::unlink(FillPath().c_str()); }

 private:
  std::string FillPath() const { return path_ + "/fill"; }

  std::string path_;
  bool mounted_ = false;
};

// A mount whose server never answers: whoever asks for a path in it hangs in the kernel.
class HungMount {
 public:
  explicit HungMount(std::string path) : path_(std::move(path)) {
    server_ = base::Descriptor(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    const std::string options =
        "fd=" + std::to_string(server_.get()) + ",rootmode=40000,user_id=0,group_id=0";
    mounted_ = server_.open() && ::mount("test", path_.c_str(), "fuse", 0, options.c_str()) == 0;
  }
  ~HungMount() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  HungMount(const HungMount&) = delete;
  HungMount& operator=(const HungMount&) = delete;

  bool mounted() const { return mounted_; }
  std::string Inside() const { return path_ + "/model"; }

 private:
  std::string path_;
  base::Descriptor server_;
  bool mounted_ = false;
};

}  // namespace trainctl::tests
