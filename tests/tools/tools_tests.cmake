# The reader of traces knows the published definitions, compiled here, and nothing of those that ncemu writes with.
protobuf_generate_cpp(published_sources published_headers ${CMAKE_CURRENT_SOURCE_DIR}/tools/trace/published.proto)
add_library(ncemu_published_trace STATIC ${published_sources} ${published_headers})
target_include_directories(ncemu_published_trace SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR})
target_link_libraries(ncemu_published_trace PUBLIC protobuf::libprotobuf)
add_library(ncemu_trace_reader STATIC tools/trace/trace_reader.cpp)
target_include_directories(ncemu_trace_reader PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(ncemu_trace_reader PRIVATE ncemu_options ncemu_published_trace fmt::fmt ZLIB::ZLIB)

# What the tests of tools/ need beside the rooms: the files library, the verbs, the command itself.
foreach(source ${test_sources})
  if(source MATCHES "^tools/")
    string(REPLACE "/" "_" name ${source})
    string(REPLACE ".cpp" "" name ${name})
    target_link_libraries(${name} PRIVATE ncemu_files ncemu_command ncemu_trace nlohmann_json::nlohmann_json
                                                ZLIB::ZLIB)
    target_compile_definitions(${name} PRIVATE NCEMU_COMMAND="$<TARGET_FILE:ncemu>"
                                               NCEMU_TEST_DIR="${CMAKE_CURRENT_BINARY_DIR}/${name}_files")
    add_dependencies(${name} ncemu)
  endif()
endforeach()
if(TARGET ncemu_mpi)
  target_compile_definitions(tools_command_sweep_test PRIVATE NCEMU_MPIRUN="${MPIEXEC_EXECUTABLE}")
  add_dependencies(tools_command_sweep_test ncemu_mpi)
endif()
target_link_libraries(tools_trace_perfetto_test PRIVATE ncemu_trace_reader)

# Sanitizer flags of the libraries must reach the example, which knows nothing of our options.
if(NCEMU_SANITIZE)
  set(package_flags "-fsanitize=address,undefined")
endif()
add_test(NAME tools_package_test
         COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${PROJECT_BINARY_DIR} -DWORK_DIR=${PROJECT_BINARY_DIR}/package_test
                 -DCXX=${CMAKE_CXX_COMPILER} -DFLAGS=${package_flags}
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/install_and_use.cmake)

# The page of the HTML report in headless Chromium, where there is one; tools/report/check installs the rest.
find_program(NCEMU_NODE node)
find_program(NCEMU_CHROMIUM NAMES chromium chromium-browser google-chrome)
if(NCEMU_NODE AND NCEMU_CHROMIUM AND EXISTS ${PROJECT_SOURCE_DIR}/tools/report/node_modules/playwright-core)
  set(page_files ${CMAKE_CURRENT_BINARY_DIR}/tools_report_page_test_files)
  file(MAKE_DIRECTORY ${page_files})
  add_test(NAME tools_report_page_test COMMAND ${NCEMU_NODE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/report/page_test.mjs)
  set_tests_properties(tools_report_page_test PROPERTIES ENVIRONMENT
    "NCEMU=$<TARGET_FILE:ncemu>;NCEMU_SOURCE_DIR=${PROJECT_SOURCE_DIR};NCEMU_TEST_DIR=${page_files};NCEMU_CHROMIUM=${NCEMU_CHROMIUM}")
else()
  message(STATUS "The HTML report is not tested: that needs node, chromium and tools/report/check")
endif()
