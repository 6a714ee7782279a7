# One test per file of tests/python/nki: kernels of the Python interface. The system's Python, with numpy and pytest.
set(NCEMU_PYTHON /usr/bin/python3 CACHE FILEPATH "Python that runs the tests of the Python interface")
execute_process(COMMAND ${NCEMU_PYTHON} -c "import numpy, pytest" RESULT_VARIABLE without_pytest
                OUTPUT_QUIET ERROR_QUIET)
if(without_pytest)
  message(STATUS "without pytest for ${NCEMU_PYTHON}: the tests of the Python interface are left out")
  return()
endif()
file(GLOB nki_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.py)
foreach(file ${nki_tests})
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME python_nki_${name} COMMAND ${NCEMU_PYTHON} -m pytest -q -p no:cacheprovider ${file})
  set_tests_properties(python_nki_${name} PROPERTIES ENVIRONMENT "NCEMU_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endforeach()
