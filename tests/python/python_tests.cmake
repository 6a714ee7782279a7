# One ctest entry per file of pytest, where the extension is built.
if(TARGET ncemu_python)
  file(GLOB python_tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/python
       ${CMAKE_CURRENT_SOURCE_DIR}/python/test_*.py)
  set(python_environment "PYTHONPATH=${PROJECT_BINARY_DIR}/python:${PROJECT_SOURCE_DIR}/tools/python"
                         "NCEMU_COMMAND=$<TARGET_FILE:ncemu>" PYTHONDONTWRITEBYTECODE=1)
  if(NCEMU_SANITIZE)
    # The interpreter knows nothing of the sanitizers, so they come first; what it leaves behind at its end is its own.
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE asan
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libubsan.so OUTPUT_VARIABLE ubsan
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so OUTPUT_VARIABLE stdcxx
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND python_environment "LD_PRELOAD=${asan} ${ubsan} ${stdcxx}" ASAN_OPTIONS=detect_leaks=0)
  endif()
  # Those who build single targets get the extension too, by the first test that needs it.
  add_test(NAME python_extension
           COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ncemu_python)
  set_tests_properties(python_extension PROPERTIES FIXTURES_SETUP python_extension RESOURCE_LOCK build_directory)
  foreach(test ${python_tests})
    string(REGEX REPLACE "\\.py$" "" name ${test})
    string(REPLACE "/" "_" name python_${name})
    add_test(NAME ${name} COMMAND ${NCEMU_PYTHON} -m pytest -q -p no:cacheprovider
                                  ${CMAKE_CURRENT_SOURCE_DIR}/python/${test})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${python_environment}" FIXTURES_REQUIRED python_extension)
  endforeach()
endif()
