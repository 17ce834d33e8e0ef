#include "worker/rank/arrow/cells.h"

#include <arrow/type_traits.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/utf8.h"

namespace trainctl::tables {
namespace {

using nlohmann::json;

template <class Array>
json TextOf(const arrow::Array& array, int64_t index, CellBudget* budget) {
  const std::string_view bytes = static_cast<const Array&>(array).GetView(index);
  const bool is_text = budget->Take(bytes.size()) && !base::FindInvalidUtf8(bytes);
  return is_text ? json(std::string(bytes)) : json();
}

template <class Array>
json ListOf(const arrow::Array& array, int64_t index, CellBudget* budget) {
  json list = json::array();
  const auto values = static_cast<const Array&>(array).value_slice(index);
  for (int64_t i = 0; i < values->length() && budget->Take(0); ++i)
    list.push_back(CellOf(*values, i, budget));
  return list;
}

json StructOf(const arrow::StructArray& array, int64_t index, CellBudget* budget) {
  json object = json::object();
  for (int i = 0; i < array.num_fields(); ++i) {
    const std::string& name = array.struct_type()->field(i)->name();
    if (!budget->Take(name.size())) break;
    object[name] = CellOf(*array.field(i), index, budget);
  }
  return object;
}

json WordOf(const arrow::DictionaryArray& array, int64_t index, CellBudget* budget) {
  return CellOf(*array.dictionary(), array.GetValueIndex(index), budget);
}

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

json CellOf(const arrow::Array& array, int64_t index, CellBudget* budget) {
  if (array.IsNull(index)) return nullptr;
  switch (array.type_id()) {
    case arrow::Type::STRING: return TextOf<arrow::StringArray>(array, index, budget);
    case arrow::Type::LARGE_STRING: return TextOf<arrow::LargeStringArray>(array, index, budget);
    case arrow::Type::STRING_VIEW: return TextOf<arrow::StringViewArray>(array, index, budget);
    case arrow::Type::BINARY: return TextOf<arrow::BinaryArray>(array, index, budget);
    case arrow::Type::LARGE_BINARY: return TextOf<arrow::LargeBinaryArray>(array, index, budget);
    case arrow::Type::BINARY_VIEW: return TextOf<arrow::BinaryViewArray>(array, index, budget);
    case arrow::Type::LIST: return ListOf<arrow::ListArray>(array, index, budget);
    case arrow::Type::LARGE_LIST: return ListOf<arrow::LargeListArray>(array, index, budget);
    case arrow::Type::LIST_VIEW: return ListOf<arrow::ListViewArray>(array, index, budget);
    case arrow::Type::LARGE_LIST_VIEW:
      return ListOf<arrow::LargeListViewArray>(array, index, budget);
    case arrow::Type::FIXED_SIZE_LIST:
      return ListOf<arrow::FixedSizeListArray>(array, index, budget);
    case arrow::Type::STRUCT:
      return StructOf(static_cast<const arrow::StructArray&>(array), index, budget);
    case arrow::Type::DICTIONARY:
      return WordOf(static_cast<const arrow::DictionaryArray&>(array), index, budget);
    default: return nullptr;
  }
}

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
