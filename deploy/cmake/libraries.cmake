# Debian's libraries, found once. Protobuf before gRPC: gRPC's config would otherwise look for Protobuf's own config package.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)

# Boost.Asio 1.74 under C++20 uses std::exchange without including <utility>.
add_library(trainctl_asio INTERFACE)
target_compile_options(trainctl_asio INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-include utility>)
target_link_libraries(trainctl_asio INTERFACE Threads::Threads)
if(TRAINCTL_SANITIZE MATCHES thread)  # g++'s ThreadSanitizer knows no fences; Asio's are not needed beside its mutex
  target_compile_definitions(trainctl_asio INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
