#include "worker/rank/arrow/columns.h"

#include <algorithm>

#include "common/base/utf8.h"
#include "worker/rank/arrow/errors.h"

namespace trainctl::tables {
namespace {

constexpr int kMostTold = 20;  // columns

base::Error Fault(const std::string& message) { return {base::Code::kInvalid, message}; }

std::string NamesOf(const arrow::Schema& schema) {
  std::string names;
  for (int i = 0; i < schema.num_fields() && i < kMostTold; ++i)
    names += (i == 0 ? "'" : ", '") + schema.field(i)->name() + "'";
  if (schema.num_fields() > kMostTold) names += ", …";
  return names.empty() ? "none" : base::Excerpt(names, kMostErrorBytes);
}

const arrow::DataType& ValueTypeOf(const arrow::DataType& type) {
  return type.id() == arrow::Type::DICTIONARY
             ? *static_cast<const arrow::DictionaryType&>(type).value_type()
             : type;
}

bool IsText(const arrow::DataType& type) {
  return arrow::is_base_binary_like(type.id()) || arrow::is_binary_view_like(type.id()) ||
         type.id() == arrow::Type::NA;
}

bool IsTurns(const arrow::DataType& type) {
  return (arrow::is_list_like(type.id()) || arrow::is_list_view(type.id())) &&
         type.id() != arrow::Type::MAP && type.num_fields() == 1 &&
         type.field(0)->type()->id() == arrow::Type::STRUCT;
}

bool IsPicture(const arrow::DataType& type) {
  if (type.id() != arrow::Type::STRUCT) return IsText(type);
  const auto& parts = static_cast<const arrow::StructType&>(type);
  const auto bytes = parts.GetFieldByName("bytes"), path = parts.GetFieldByName("path");
  return bytes != nullptr && IsText(*bytes->type()) && (path == nullptr || IsText(*path->type()));
}

std::string ExpectedOf(CellKind kind) {
  switch (kind) {
    case CellKind::kText: return "text";
    case CellKind::kTurns: return "lists of turns (structs)";
    case CellKind::kPicture: return "bytes, paths, or structs of bytes and path";
  }
  return "";
}

base::Status CheckType(const arrow::Field& field, CellKind kind, const std::string& path) {
  const arrow::DataType& type = ValueTypeOf(*field.type());
  const bool fits = kind == CellKind::kText    ? IsText(type)
                    : kind == CellKind::kTurns ? IsTurns(type)
                                               : IsPicture(type);
  if (fits) return base::Ok{};
  return Fault(path + ": column '" + field.name() + "' is of type " +
               base::Excerpt(field.type()->ToString(), kMostErrorBytes) + ", expected " +
               ExpectedOf(kind));
}

// The first of the names that is there; −1: none is.
int FieldOf(const arrow::Schema& schema, const WantedColumn& wanted) {
  for (const std::string& name : wanted.names) {
    if (const auto all = schema.GetAllFieldIndices(name); !all.empty()) return all.front();
  }
  return -1;
}

}  // namespace

base::Result<std::vector<int>> ChooseColumns(const arrow::Schema& schema,
                                             const std::vector<WantedColumn>& wanted,
                                             const std::string& path) {
  std::vector<int> fields;
  for (const WantedColumn& column : wanted) {
    const int index = FieldOf(schema, column);
    if (index < 0 && column.is_optional) continue;
    if (index < 0) {
      return Fault(path + ": no column '" + column.names.front() +
                   "', its columns: " + NamesOf(schema) + "; data.columns names others");
    }
    const arrow::Field& field = *schema.field(index);
    if (schema.GetAllFieldIndices(field.name()).size() > 1)
      return Fault(path + ": two columns '" + field.name() + "'");
    if (auto good = CheckType(field, column.kind, path); !good) return good.error();
    fields.push_back(index);
  }
  std::ranges::sort(fields);
  const auto again = std::ranges::unique(fields);  // one column may be wanted for two
  fields.erase(again.begin(), again.end());
  return fields;
}

}  // namespace trainctl::tables
