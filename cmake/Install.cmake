# Install.cmake: the library, its header, the program, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/abut)
install(TARGETS abut EXPORT abutTargets)
install(DIRECTORY include/abut TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE README.md CHANGELOG.md TYPE DOC)
install(EXPORT abutTargets NAMESPACE abut:: DESTINATION ${package_dir})

configure_package_config_file(cmake/abutConfig.cmake.in abutConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(abutConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/abutConfig.cmake ${PROJECT_BINARY_DIR}/abutConfigVersion.cmake
        DESTINATION ${package_dir})

# relative, so that the installed folder may be moved
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/abut.pc.in abut.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/abut.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# a MuJoCo that came with the source tree goes along, in a folder of its own
set(private_libs ${CMAKE_INSTALL_LIBDIR}/abut)
set_target_properties(abut PROPERTIES INSTALL_RPATH "$ORIGIN/abut" INSTALL_RPATH_USE_LINK_PATH ON)
if(MuJoCo_FOUND)
  string(FIND "${MuJoCo_LIBRARY}" "${PROJECT_SOURCE_DIR}/third_party/" at)
  if(at EQUAL 0)
    file(GLOB licenses third_party/mujoco/LICENSE*)
    install(FILES ${MuJoCo_LIBRARY} ${licenses} DESTINATION ${private_libs})
  endif()
endif()
if(TARGET abut_program)
  file(RELATIVE_PATH program_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(abut_program PROPERTIES INSTALL_RPATH "$ORIGIN/${program_to_lib}/abut"
                                                INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS abut_program)
endif()
