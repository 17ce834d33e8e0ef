# Before project(): compilers, linker and caches. LibTorch and nvcc come from the folder that
# deploy/setup fills; TRAINCTL_TOOLCHAIN names another.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "")
endif()
if(NOT DEFINED TRAINCTL_TOOLCHAIN)
  execute_process(COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/deploy/setup --print
    OUTPUT_VARIABLE TRAINCTL_TOOLCHAIN OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(TRAINCTL_TOOLCHAIN ${TRAINCTL_TOOLCHAIN}
    CACHE PATH "Python environment that holds torch and nvcc")
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are cached too; ccache wants to be told that they may be. Paths are hashed
  # relative to the build folder, so that a second clone finds what the first one compiled.
  set(ccache ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_CURRENT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${ccache})
endif()
# mold links in a quarter of the time of GNU ld: a test program under AddressSanitizer has 300 MB.
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
