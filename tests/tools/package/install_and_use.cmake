# cmake -DBUILD_DIR=... -DWORK_DIR=... -DCXX=... -P install_and_use.cmake
# Installs the build under a temporary prefix, then configures, builds and runs the example against it.
file(REMOVE_RECURSE ${WORK_DIR})
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

step("installing" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
step("configuring the example" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK_DIR}/build
     -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS})
step("building the example" ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
step("running the example" ${WORK_DIR}/build/example)
if(NOT output MATCHES "^y\\[0, 0\\] = 3, [0-9.]+ us on trn1\n$")
  message(FATAL_ERROR "the example printed: ${output}")
endif()
step("running the installed command" ${WORK_DIR}/prefix/bin/ncemu --version)
if(NOT output MATCHES "^ncemu [0-9.]+ \\(commit ")
  message(FATAL_ERROR "the installed command printed: ${output}")
endif()
