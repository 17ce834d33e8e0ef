#include "worker/rank/arrow/cells.h"

#include <arrow/type_traits.h>

#include <string>

#include "common/base/utf8.h"

namespace trainctl::tables {
namespace {

using nlohmann::json;

template <class Array>
json TextOf(const arrow::Array& array, int64_t index) {
  const std::string_view bytes = static_cast<const Array&>(array).GetView(index);
  return base::FindInvalidUtf8(bytes) ? json() : json(std::string(bytes));
}

template <class Array>
json ListOf(const arrow::Array& array, int64_t index) {
  json list = json::array();
  const auto values = static_cast<const Array&>(array).value_slice(index);
  for (int64_t i = 0; i < values->length(); ++i) list.push_back(CellOf(*values, i));
  return list;
}

json StructOf(const arrow::StructArray& array, int64_t index) {
  json object = json::object();
  for (int i = 0; i < array.num_fields(); ++i)
    object[array.struct_type()->field(i)->name()] = CellOf(*array.field(i), index);
  return object;
}

json WordOf(const arrow::DictionaryArray& array, int64_t index) {
  return CellOf(*array.dictionary(), array.GetValueIndex(index));
}

}  // namespace

json CellOf(const arrow::Array& array, int64_t index) {
  if (array.IsNull(index)) return nullptr;
  switch (array.type_id()) {
    case arrow::Type::STRING: return TextOf<arrow::StringArray>(array, index);
    case arrow::Type::LARGE_STRING: return TextOf<arrow::LargeStringArray>(array, index);
    case arrow::Type::STRING_VIEW: return TextOf<arrow::StringViewArray>(array, index);
    case arrow::Type::BINARY: return TextOf<arrow::BinaryArray>(array, index);
    case arrow::Type::LARGE_BINARY: return TextOf<arrow::LargeBinaryArray>(array, index);
    case arrow::Type::BINARY_VIEW: return TextOf<arrow::BinaryViewArray>(array, index);
    case arrow::Type::LIST: return ListOf<arrow::ListArray>(array, index);
    case arrow::Type::LARGE_LIST: return ListOf<arrow::LargeListArray>(array, index);
    case arrow::Type::LIST_VIEW: return ListOf<arrow::ListViewArray>(array, index);
    case arrow::Type::LARGE_LIST_VIEW: return ListOf<arrow::LargeListViewArray>(array, index);
    case arrow::Type::FIXED_SIZE_LIST: return ListOf<arrow::FixedSizeListArray>(array, index);
    case arrow::Type::STRUCT: return StructOf(static_cast<const arrow::StructArray&>(array), index);
    case arrow::Type::DICTIONARY:
      return WordOf(static_cast<const arrow::DictionaryArray&>(array), index);
    default: return nullptr;
  }
}

}  // namespace trainctl::tables
