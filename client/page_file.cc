#include "client/page_file.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "client/new_file.h"
#include "common/base/file.h"

namespace trainctl::client {
namespace {

constexpr int kNoBrowser = 127;

// The first Chromium on the path, at most a minute long. What it says of the desktop that it misses
// is of no use.
constexpr const char* kRunChromium =
    "for name in chromium chromium-browser google-chrome google-chrome-stable; do\n"
    "  command -v \"$name\" >/dev/null && exec timeout 60 \"$name\" \"$@\" 2>/dev/null\n"
    "done\n"
    "exit 127";

std::string AbsoluteFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

// A path as a URL has it.
std::string FileUrl(const std::string& path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string url = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_') {
      url += c;
    } else {
      url += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return url;
}

base::Error NotPrinted(const std::string& file, const ProgramOutput& output) {
  const std::string otherwise = "; or write .html, which every browser opens and prints";
  if (output.exit_code == kNoBrowser) {
    return {
        base::Code::kNotFound,
        file + " needs a Chromium, and none is on the path: apt-get install chromium" + otherwise};
  }
  return {base::Code::kIo, file + " was not made: Chromium ended with exit status " +
                               std::to_string(output.exit_code) + otherwise};
}

// Within a folder of its own, whose files nobody else has.
base::Status PrintInto(const Surroundings& surroundings, const std::string& html,
                       const std::string& folder, const std::string& file, bool overwrite) {
  const std::string source = folder + "/page.html", made = folder + "/page.pdf";
  if (const base::Status written = base::WriteFileAtomically(source, html); !written.ok())
    return written;
  std::vector<std::string> command = {
      "/bin/sh", "-c", kRunChromium, "sh", "--headless", "--disable-gpu", "--no-first-run"};
  // Its sandbox refuses root. The page is ours, and forbids scripts and anything from elsewhere.
  if (surroundings.user == "root") command.push_back("--no-sandbox");
  command.insert(command.end(),
                 {"--no-pdf-header-footer", "--print-to-pdf=" + made, FileUrl(source)});
  const base::Result<ProgramOutput> output = surroundings.run(command, "");
  if (!output.ok()) return output.error();
  std::error_code error;
  const bool is_there = std::filesystem::file_size(made, error) > 0 && !error;
  if (output->exit_code != 0 || !is_there) return NotPrinted(file, *output);
  return TakeName(made, file, overwrite);
}

// That folder lies beside the file for so long: some Chromiums see no other place.
base::Status PrintPage(const Surroundings& surroundings, const std::string& html,
                       const std::string& file, bool overwrite) {
  std::string folder = AbsoluteFile(file) + ".XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return base::Error{base::Code::kIo, "cannot make a folder beside " + file + ": " +
                                            std::generic_category().message(errno)};
  }
  base::Status printed = PrintInto(surroundings, html, folder, file, overwrite);
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  return printed;
}

}  // namespace

base::Status WritePage(const Surroundings& surroundings, const std::string& html,
                       const std::string& file, bool overwrite) {
  if (!file.ends_with(".pdf")) return WriteNewFile(file, html, overwrite);
  return PrintPage(surroundings, html, file, overwrite);
}

}  // namespace trainctl::client
