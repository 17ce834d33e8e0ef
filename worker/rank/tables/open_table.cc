#include "worker/rank/tables/open_table.h"

#include <dlfcn.h>

#include <filesystem>

namespace trainctl::tables {
namespace {

constexpr std::string_view kParquetMagic = "PAR1", kFileMagic = "ARROW1",
                           kStreamMagic = "\xFF\xFF\xFF\xFF";

// Where the program's own path is not known, a name for the linker to look for.
std::string LibraryPath() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path library = "lib/trainctl/libtrainctl_arrow.so";
  return error ? library.filename() : program.parent_path().parent_path() / library;
}

// The function, an OpenTableFunction.
base::Result<void*> LoadLibrary() {
  const std::string path = LibraryPath();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : ::dlsym(library, TRAINCTL_OPEN_TABLE);
  if (symbol != nullptr) return symbol;
  const char* said = ::dlerror();
  const std::string why = said == nullptr ? "no " TRAINCTL_OPEN_TABLE : said;
  if (library != nullptr) {
    return base::Error{
        base::Code::kNotFound,
        path + " is of another version than this program: start it again (" + why + ")"};
  }
  return base::Error{base::Code::kNotFound,
                     "Arrow and Parquet files are read by Apache Arrow's library, of pyarrow " +
                         std::string(TRAINCTL_PYARROW) +
                         ", which this host lacks: pip install pyarrow==" + TRAINCTL_PYARROW +
                         " beside trainctl's wheel, trainworker-setup for Debian packages, or in "
                         "a clone deploy/setup, then build again (" +
                         why + ")"};
}

}  // namespace

std::optional<TableFormat> TableFormatOf(std::string_view head) {
  if (head.starts_with(kParquetMagic)) return TableFormat::kParquet;
  if (head.starts_with(kFileMagic)) return TableFormat::kFile;
  if (head.starts_with(kStreamMagic)) return TableFormat::kStream;
  return std::nullopt;
}

void PreloadLibrary() { [[maybe_unused]] const base::Result<void*> loaded = LoadLibrary(); }

base::Result<std::unique_ptr<Table>> OpenTable(const TableSource& source) {
  const base::Result<void*> open = LoadLibrary();
  if (!open) return base::Error{open.error().code, source.path + ": " + open.error().message};
  base::Result<std::unique_ptr<Table>> table = base::Error{};
  reinterpret_cast<OpenTableFunction>(*open)(source, &table);
  return table;
}

}  // namespace trainctl::tables
