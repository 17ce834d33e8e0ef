# CPack runs it between installing the components and packing them: what a Debian package has beside
# what "cmake --install" installs.
set(stage ${CPACK_TEMPORARY_DIRECTORY})
set(deploy ${CMAKE_CURRENT_LIST_DIR}/..)
set(share usr/share/trainctl)
set(units usr/lib/systemd/system)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Debian asks for the licence in each package, and for compressed man pages.
foreach(component client coordinator worker)
  string(TOUPPER ${component} key)
  set(doc ${stage}/${component}/usr/share/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${doc})
  file(WRITE ${doc}/copyright "trainctl is under the Apache License, version 2.0:\n"
    "on Debian systems see /usr/share/common-licenses/Apache-2.0\n")
endforeach()
file(REMOVE ${stage}/client/usr/share/doc/trainctl/LICENSE)
run(gzip -9n ${stage}/client/usr/share/doc/trainctl/CHANGELOG.md)
file(GLOB pages ${stage}/client/usr/share/man/man1/*.1)
run(gzip -9n ${pages})

# The worker's way to LibTorch and Arrow, of the versions that it was built with.
file(STRINGS ${deploy}/packages/pip torch_version REGEX "^torch==")
string(REPLACE "torch==" "" torch_version ${torch_version})
file(STRINGS ${deploy}/packages/pip-arrow arrow_version REGEX "^pyarrow==")
string(REPLACE "pyarrow==" "" arrow_version ${arrow_version})
configure_file(${deploy}/debian/worker/trainworker-setup
  ${stage}/worker/usr/sbin/trainworker-setup @ONLY)
file(MAKE_DIRECTORY ${stage}/worker/${units}/trainworker@.service.d)
file(COPY_FILE ${deploy}/debian/worker/needs_libtorch.conf
  ${stage}/worker/${units}/trainworker@.service.d/needs_libtorch.conf)

# Each makes the user that its unit names, so either package may be alone.
foreach(component coordinator worker)
  file(MAKE_DIRECTORY ${stage}/${component}/usr/lib/sysusers.d)
  file(COPY_FILE ${deploy}/debian/sysusers.conf
    ${stage}/${component}/usr/lib/sysusers.d/train${component}.conf)
endforeach()

# Settings are files of the administrator: dpkg keeps what was changed in them.
file(MAKE_DIRECTORY ${stage}/worker/etc/trainctl ${stage}/coordinator/etc/trainctl)
file(RENAME ${stage}/worker/${share}/worker.env ${stage}/worker/etc/trainctl/worker.env)
file(RENAME ${stage}/coordinator/${share}/coordinator.env
  ${stage}/coordinator/etc/trainctl/coordinator.env)
file(REMOVE_RECURSE ${stage}/worker/usr/share/trainctl ${stage}/coordinator/usr/share/trainctl)

# The worker finds LibTorch and Arrow where trainworker-setup puts them, and nowhere that a user may
# write.
set(torch /opt/trainctl/torch)
set(nvidia ${torch}/nvidia)
set(rank ${stage}/worker/usr/bin/trainrank)
if(EXISTS ${rank})
  file(RPATH_SET FILE ${rank} NEW_RPATH
    "${torch}/torch/lib:${nvidia}/cu13/lib:${nvidia}/nccl/lib:${nvidia}/cudnn/lib")
endif()
set(library ${stage}/worker/usr/lib/trainctl/libtrainctl_arrow.so)
if(EXISTS ${library})
  file(RPATH_SET FILE ${library} NEW_RPATH /opt/trainctl/arrow/pyarrow)
endif()
