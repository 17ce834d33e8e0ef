# cmake --install: the programs in bin/, what they read in share/trainctl/, and systemd's units with
# the paths of the prefix in lib/systemd/system/. The rank finds LibTorch in a wheel's environment,
# else where the build found it.
include(GNUInstallDirs)
set(share ${CMAKE_INSTALL_DATADIR}/trainctl)

set(programs trainctl traincoordinator trainworker trainshim)
if(TRAINCTL_TORCH)
  list(APPEND programs trainrank)
  list(TRANSFORM torch_rpath REPLACE "^${site_packages}" "$ORIGIN/../.."
    OUTPUT_VARIABLE wheel_rpath)
  set_target_properties(trainrank PROPERTIES INSTALL_RPATH "${wheel_rpath};${torch_rpath}")
endif()
install(TARGETS ${programs} RUNTIME)

# Recipes name models and data beside them.
install(DIRECTORY deploy/recipes deploy/models deploy/data DESTINATION ${share}
  PATTERN "*.py" EXCLUDE PATTERN .gitignore EXCLUDE PATTERN SmolLM2-135M* EXCLUDE)
install(DIRECTORY deploy/notebooks DESTINATION ${share})
install(FILES deploy/job.schema.json deploy/systemd/worker.env DESTINATION ${share})
install(PROGRAMS deploy/local deploy/quickstart deploy/example_model DESTINATION ${share})
install(FILES deploy/packages/pip-example DESTINATION ${share}/packages)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The man pages are what the program itself tells.
install(CODE "
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
    COMMAND \"$<TARGET_FILE:trainctl>\" manual
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")")
install(CODE "
  set(units \"${CMAKE_SOURCE_DIR}/deploy/systemd\")
  set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
  foreach(name traincoordinator.service trainworker@.service)
    file(READ \${units}/\${name} text)
    string(REPLACE /opt/trainctl/build/bin \${prefix}/${CMAKE_INSTALL_BINDIR} text \"\${text}\")
    string(REPLACE /opt/trainctl/README.md \${prefix}/${CMAKE_INSTALL_DOCDIR}/README.md
      text \"\${text}\")
    set(file \$ENV{DESTDIR}\${prefix}/lib/systemd/system/\${name})
    message(STATUS \"Installing: \${file}\")
    file(WRITE \${file} \"\${text}\")
  endforeach()")
