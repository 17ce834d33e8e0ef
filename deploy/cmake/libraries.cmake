# Debian's libraries, found once. Protobuf comes before gRPC: gRPC's config would otherwise look for
# Protobuf's own config package.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Freetype REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
# deploy/setup installs it too. A host where it could not builds all the same: worker/rank/images
# says then that this build reads no WebP.
pkg_check_modules(WEBP IMPORTED_TARGET libwebp)

# client/plot carries it in the program.
find_file(TRAINCTL_FONT DejaVuSans.ttf PATHS /usr/share/fonts/truetype/dejavu REQUIRED)

# Boost.Asio 1.74 under C++20 uses std::exchange without including <utility>. Precompiled headers
# hold it; g++ takes those only where nothing is included before them.
set(precompiled
  "$<TARGET_PROPERTY:PRECOMPILE_HEADERS>$<TARGET_PROPERTY:PRECOMPILE_HEADERS_REUSE_FROM>")
set(has_no_utility "$<AND:$<COMPILE_LANGUAGE:CXX>,$<STREQUAL:,${precompiled}>>")
add_library(trainctl_asio INTERFACE)
target_compile_options(trainctl_asio INTERFACE "$<${has_no_utility}:SHELL:-include utility>")
target_link_libraries(trainctl_asio INTERFACE Threads::Threads)
# g++'s ThreadSanitizer knows no fences; Asio's are not needed beside its mutex.
if(TRAINCTL_SANITIZE MATCHES thread)
  target_compile_definitions(trainctl_asio INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()

# Apache Arrow's libraries out of the wheel of pyarrow, for worker/rank/tables alone. They name each
# other and symbols of Python's wheel that nobody calls.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/deploy/setup --print arrow
  OUTPUT_VARIABLE arrow OUTPUT_STRIP_TRAILING_WHITESPACE)
file(GLOB arrow_rpath ${arrow}/lib/python3*/site-packages/pyarrow)
file(GLOB arrow_libraries ${arrow_rpath}/libparquet.so.* ${arrow_rpath}/libarrow.so.*)
set(TRAINCTL_ARROW OFF)
if(arrow_libraries)
  set(TRAINCTL_ARROW ON)
  add_library(trainctl_libarrow INTERFACE)
  target_include_directories(trainctl_libarrow SYSTEM INTERFACE ${arrow_rpath}/include)
  # clang's sanitizers are in programs alone; a library finds them there when it is loaded.
  set(unresolved ignore-in-shared-libs)
  if(TRAINCTL_SANITIZE OR TRAINCTL_FUZZ)
    set(unresolved ignore-all)
  endif()
  target_link_options(trainctl_libarrow INTERFACE -Wl,--unresolved-symbols=${unresolved})
  target_link_libraries(trainctl_libarrow INTERFACE ${arrow_libraries})
endif()
