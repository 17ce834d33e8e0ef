# cmake -DOUTPUT=assets.cc -DFILES=a.html|b.js -P embed.cmake: writes the table of assets.h.
# Each byte is escaped, so that a file may hold anything.
string(REPLACE "|" ";" files "${FILES}")
set(text "#include \"server/web/assets.h\"\n\nnamespace trainctl::web {\nnamespace {\n\n")
string(APPEND text "constexpr Asset kAssets[] = {\n")
foreach(file IN LISTS files)
  cmake_path(GET file FILENAME name)
  string(REPLACE "chart.min.js" "chart.js" name "${name}")
  file(READ "${file}" content HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" content "${content}")
  string(REGEX REPLACE "(................................................................)"
    "\\1\"\n    \"" content "${content}")
  string(APPEND text "{\"${name}\",\n    \"${content}\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\n"
  "std::span<const Asset> Assets() { return kAssets; }\n\n}  // namespace trainctl::web\n")
file(WRITE "${OUTPUT}" "${text}")
