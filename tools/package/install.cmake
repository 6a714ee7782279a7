# `cmake --install`: the command, the kernels and the libraries of isa/ and emu/ with their headers, found by
# find_package(ncemu). The example is tests/tools/package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ncemu_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ncemu)
set(ncemu_libraries ncemu_isa ncemu_data ncemu_timing ncemu_machine ncemu_observe)
if(TARGET ncemu_asm)
  list(APPEND ncemu_libraries ncemu_asm)
endif()

# The rooms see these two only while they are built; a program that links the static rooms needs the libraries.
target_link_libraries(ncemu_data PRIVATE $<INSTALL_INTERFACE:hwy>)
target_link_libraries(ncemu_timing PRIVATE $<INSTALL_INTERFACE:tomlplusplus>)

# The headers are C++20, also for a user whose compiler starts lower.
target_compile_features(ncemu_isa PUBLIC cxx_std_20)

install(TARGETS ${ncemu_libraries} EXPORT ncemuTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ncemu RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY isa emu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ncemu FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY kernels DESTINATION ${CMAKE_INSTALL_DATADIR}/ncemu FILES_MATCHING PATTERN "*.nca")
install(EXPORT ncemuTargets NAMESPACE ncemu:: DESTINATION ${ncemu_package_dir})
configure_package_config_file(tools/package/ncemuConfig.cmake.in ${PROJECT_BINARY_DIR}/ncemuConfig.cmake
                              INSTALL_DESTINATION ${ncemu_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ncemuConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ncemuConfig.cmake ${PROJECT_BINARY_DIR}/ncemuConfigVersion.cmake
        DESTINATION ${ncemu_package_dir})
