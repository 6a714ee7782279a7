# One test per file of tests/python/nki: kernels of the Python interface. Where the extension is built, in the environment
# that python_tests.cmake makes.
if(NOT TARGET ncemu_python)
  return()
endif()
file(GLOB nki_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.py)
foreach(file ${nki_tests})
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME python_nki_${name} COMMAND ${NCEMU_PYTHON} -m pytest -q -p no:cacheprovider ${file})
  set_tests_properties(python_nki_${name} PROPERTIES ENVIRONMENT "${python_environment};NCEMU_BUILD=${PROJECT_BINARY_DIR}"
                                                      FIXTURES_REQUIRED python_extension)
endforeach()
