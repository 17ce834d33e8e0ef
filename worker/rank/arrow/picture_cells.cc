#include "worker/rank/arrow/picture_cells.h"

#include <optional>
#include <string_view>
#include <vector>

namespace trainctl::tables {
namespace {

using nlohmann::json;

// nullopt: null, or of another type.
std::optional<std::string_view> BinaryOf(const arrow::Array& array, int64_t index) {
  if (array.IsNull(index)) return std::nullopt;
  switch (array.type_id()) {
    case arrow::Type::BINARY: return static_cast<const arrow::BinaryArray&>(array).GetView(index);
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(index);
    case arrow::Type::BINARY_VIEW:
      return static_cast<const arrow::BinaryViewArray&>(array).GetView(index);
    default: return std::nullopt;
  }
}

void PutBytes(std::string_view bytes, const BatchSource& source, const std::string& path,
              json* cell, CellBudget* budget) {
  if (const int64_t begin = source.PlaceOf(bytes); begin >= 0) {
    cell->update({{"file", path}, {"begin", begin}, {"size", bytes.size()}});
  } else if (budget->Take(bytes.size())) {
    (*cell)["bytes"] = json::binary(std::vector<uint8_t>(bytes.begin(), bytes.end()));
  }
}

}  // namespace

json PictureCellOf(const arrow::Array& array, int64_t index, const BatchSource& source,
                   const std::string& path, CellBudget* budget) {
  if (array.IsNull(index)) return nullptr;
  json cell = json::object();
  if (const auto bytes = BinaryOf(array, index)) {
    PutBytes(*bytes, source, path, &cell, budget);
    return cell;
  }
  if (array.type_id() != arrow::Type::STRUCT) return CellOf(array, index, budget);
  const auto& parts = static_cast<const arrow::StructArray&>(array);
  if (const auto names = parts.GetFieldByName("path")) {
    json name = CellOf(*names, index, budget);
    if (name.is_string()) cell["name"] = std::move(name);
  }
  if (const auto bytes = BinaryOf(*parts.GetFieldByName("bytes"), index))
    PutBytes(*bytes, source, path, &cell, budget);
  return cell;
}

}  // namespace trainctl::tables
