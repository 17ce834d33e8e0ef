# CPack's side of deploy/debs: one Debian package for each component of install.cmake. What Debian
# wants beside the files is deploy/debian; finish_packages.cmake brings it into each package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trainctl)
set(CPACK_PACKAGE_CONTACT "trainctl <trainctl@localhost>")
set(CPACK_PACKAGE_VENDOR trainctl)
set(CPACK_COMPONENTS_ALL client coordinator worker)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_IGNORE_GROUPS 1)
set(CPACK_DEB_COMPONENT_INSTALL ON)
# Units name the paths of the prefix, so it is the real one, below DESTDIR.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/deploy/cmake/finish_packages.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${torch_rpath} ${arrow_rpath})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)

# trainctl_package(COMPONENT NAME SECTION SUMMARY TEXT): with all of deploy/debian/COMPONENT that
# dpkg runs or reads.
macro(trainctl_package component name section summary text)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${key}_DESCRIPTION "${summary}\n${text}")
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${text}")
  file(GLOB CPACK_DEBIAN_${key}_PACKAGE_CONTROL_EXTRA
    ${CMAKE_SOURCE_DIR}/deploy/debian/${component}/postinst
    ${CMAKE_SOURCE_DIR}/deploy/debian/${component}/prerm
    ${CMAKE_SOURCE_DIR}/deploy/debian/${component}/postrm
    ${CMAKE_SOURCE_DIR}/deploy/debian/${component}/conffiles)
endmacro()

trainctl_package(client trainctl science "trains language models on shared GPUs: the client"
  "What people type: submits jobs, follows them, compares what came of them.")
trainctl_package(coordinator traincoordinator science
  "trains language models on shared GPUs: the coordinator"
  "One per site: accepts jobs, places them on the workers' devices, keeps their results.")
trainctl_package(worker trainworker science
  "trains language models on shared GPUs: a host's workers"
  "One worker for each GPU runs what the coordinator places there.\nLibTorch is not in \
this package: trainworker-setup fetches it.")
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS "python3")
set(CPACK_DEBIAN_COORDINATOR_PACKAGE_DEPENDS "systemd, init-system-helpers")
set(CPACK_DEBIAN_COORDINATOR_PACKAGE_RECOMMENDS "trainctl")
set(CPACK_DEBIAN_WORKER_PACKAGE_DEPENDS "systemd, python3-venv")
set(CPACK_DEBIAN_WORKER_PACKAGE_RECOMMENDS "trainctl")
include(CPack)
