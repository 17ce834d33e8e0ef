# Run when messages are generated anew: removes what is precompiled of them in the build folder
# BUILD. GCC reads a precompiled header that is there, even to build that header again, so the old
# messages would stay in it for ever.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE headers ${BUILD}/cmake_pch.hxx)
foreach(header ${headers})
  file(STRINGS ${header} uses REGEX "<proto/")
  if(uses)
    file(REMOVE ${header}.gch)
  endif()
endforeach()
