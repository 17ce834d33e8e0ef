# cmake --install: the programs in bin/, what they read in share/trainctl/, and systemd's units with
# the paths of the prefix in lib/systemd/system/. The rank finds LibTorch in a wheel's environment,
# else where the build found it, and so does lib/trainctl/libtrainctl_arrow.so Arrow's library.
# Each component is a Debian package (packages.cmake).
include(GNUInstallDirs)
set(share ${CMAKE_INSTALL_DATADIR}/trainctl)

set(worker_programs trainworker trainshim)
if(TRAINCTL_TORCH)
  list(APPEND worker_programs trainrank)
  list(TRANSFORM torch_rpath REPLACE "^${site_packages}" "$ORIGIN/../.."
    OUTPUT_VARIABLE wheel_rpath)
  set_target_properties(trainrank PROPERTIES INSTALL_RPATH "${wheel_rpath};${torch_rpath}")
endif()
install(TARGETS trainctl RUNTIME COMPONENT client)
install(TARGETS traincoordinator RUNTIME COMPONENT coordinator)
install(TARGETS ${worker_programs} RUNTIME COMPONENT worker)
# Programs look for it in lib/trainctl beside bin, whatever CMAKE_INSTALL_LIBDIR is.
if(TRAINCTL_ARROW)
  install(TARGETS trainctl_arrow LIBRARY DESTINATION lib/trainctl COMPONENT worker)
endif()

# Recipes name models and data beside them.
install(DIRECTORY deploy/recipes deploy/models deploy/data DESTINATION ${share} COMPONENT client
  PATTERN "*.py" EXCLUDE PATTERN .gitignore EXCLUDE PATTERN SmolLM2-135M* EXCLUDE)
install(DIRECTORY deploy/notebooks deploy/reference DESTINATION ${share} COMPONENT client
  PATTERN "*.py" EXCLUDE)
install(FILES deploy/job.schema.json DESTINATION ${share} COMPONENT client)
install(PROGRAMS deploy/local deploy/quickstart deploy/example_model
  DESTINATION ${share} COMPONENT client)
install(PROGRAMS deploy/slurm/trainctl-slurm deploy/slurm/allocation deploy/slurm/node
  DESTINATION ${share}/slurm COMPONENT client)
install(FILES deploy/packages/pip-example DESTINATION ${share}/packages COMPONENT client)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT client)
# The man pages are what the program itself tells.
install(CODE "
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
    COMMAND \"$<TARGET_FILE:trainctl>\" manual
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")" COMPONENT client)

# trainctl_install_unit(COMPONENT UNIT ENV): a unit with the paths of the prefix, and its settings.
function(trainctl_install_unit component unit settings)
  install(FILES deploy/systemd/${settings} DESTINATION ${share} COMPONENT ${component})
  install(CODE "
    set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
    file(READ \"${CMAKE_SOURCE_DIR}/deploy/systemd/${unit}\" text)
    string(REPLACE /opt/trainctl/build/bin \${prefix}/${CMAKE_INSTALL_BINDIR} text \"\${text}\")
    string(REPLACE /opt/trainctl/README.md \${prefix}/${CMAKE_INSTALL_DOCDIR}/README.md
      text \"\${text}\")
    set(file \$ENV{DESTDIR}\${prefix}/lib/systemd/system/${unit})
    message(STATUS \"Installing: \${file}\")
    file(WRITE \${file} \"\${text}\")" COMPONENT ${component})
endfunction()
trainctl_install_unit(coordinator traincoordinator.service coordinator.env)
trainctl_install_unit(worker trainworker@.service worker.env)
include(deploy/cmake/packages.cmake)
