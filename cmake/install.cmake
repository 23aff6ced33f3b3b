# cmake --install: the program, the model it runs by default, and a CMake package, so that
#   find_package(wafermesh) … target_link_libraries(mine PRIVATE wafer::ops)
# works elsewhere.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(WAFER_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/wafermesh)

if(TARGET wafermesh)
  install(TARGETS wafermesh RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY data/folio data/devices data/configs data/paper DESTINATION ${CMAKE_INSTALL_DATADIR}/wafermesh)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# wafer_flags goes along because a static library names all that it links, private or not.
get_property(libraries GLOBAL PROPERTY WAFER_LIBRARIES)
install(TARGETS ${libraries} wafer_flags EXPORT wafermeshTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wafermesh)
install(EXPORT wafermeshTargets NAMESPACE wafer:: DESTINATION ${WAFER_PACKAGE_DIR})

configure_package_config_file(cmake/wafermeshConfig.cmake.in ${PROJECT_BINARY_DIR}/wafermeshConfig.cmake
  INSTALL_DESTINATION ${WAFER_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wafermeshConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wafermeshConfig.cmake ${PROJECT_BINARY_DIR}/wafermeshConfigVersion.cmake
  DESTINATION ${WAFER_PACKAGE_DIR})
