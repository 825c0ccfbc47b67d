# Cuda.cmake: compiles the kernels with nvcc, once per real type and team, for every architecture and as PTX for later
# ones. A warning or a register spill fails the build (ABUT_WERROR). nvcc is called directly, so that CMake needs no CUDA language
# where there is none. Sets cuda_objects; defines ABUT_HAVE_CUDA for the library's host code.

file(GLOB cuda_source CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/cuda.cu)
set(manifold_source ${PROJECT_SOURCE_DIR}/src/kernels/items/manifold.cu)
set(ABUT_CUDA_ARCHITECTURES 80 90 100 120 CACHE STRING "GPU architectures; the first one also as PTX")
set(cuda_flags -std=c++17 -O3 -Xptxas -warn-spills -Xptxas -v
               -Xcompiler -fPIC,-fno-threadsafe-statics,-fno-exceptions
               -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src)
if(ABUT_WERROR)
  list(APPEND cuda_flags -Werror all-warnings -Xptxas -Werror)
endif()
if(ABUT_STRICT)
  list(APPEND cuda_flags -fmad=false -DABUT_STRICT)
endif()

set(NVCC NVCC-NOTFOUND)
if(NOT ABUT_CUDA STREQUAL "OFF")
  find_program(ABUT_NVCC nvcc PATHS $ENV{CUDA_PATH}/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
  mark_as_advanced(ABUT_NVCC)
  set(NVCC ${ABUT_NVCC})
  if(NOT NVCC AND NOT ABUT_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "ABUT_CUDA=${ABUT_CUDA}, but there is no nvcc in PATH, CUDA_PATH, CUDA_HOME or /usr/local/cuda")
  endif()
endif()

# for tests/test_cuda.c too, which needs no nvcc. Loops in graphs came with CUDA 12.4; older ones would end in errors of
# the compiler
find_path(ABUT_CUDA_INCLUDE cuda_runtime_api.h PATHS $ENV{CUDA_PATH}/include $ENV{CUDA_HOME}/include
          /usr/local/cuda/include)
mark_as_advanced(ABUT_CUDA_INCLUDE)
set(header_version 0)
if(ABUT_CUDA_INCLUDE)
  file(STRINGS ${ABUT_CUDA_INCLUDE}/cuda_runtime_api.h header_version REGEX "^#define CUDART_VERSION")
  string(REGEX REPLACE "[^0-9]" "" header_version "${header_version}")
endif()
if(header_version LESS 12040)
  set(ABUT_CUDA_INCLUDE ABUT_CUDA_INCLUDE-NOTFOUND)
endif()
if(NVCC)
  execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE nvcc_version)
  string(REGEX REPLACE ".*release ([0-9.]+).*" "\\1" nvcc_version "${nvcc_version}")
  if(nvcc_version VERSION_LESS 12.4 OR NOT ABUT_CUDA_INCLUDE)
    if(NOT ABUT_CUDA STREQUAL "AUTO")
      message(FATAL_ERROR "ABUT_CUDA=${ABUT_CUDA}, but ${NVCC} is of CUDA ${nvcc_version}, cuda_runtime_api.h of "
                          "${header_version} (0: there is none); 12.4 (12040) is needed")
    endif()
    set(NVCC NVCC-NOTFOUND)
  endif()
endif()
set(loss "kernels are not compiled for GPUs (CUDA 12.4 or later)")
if(ABUT_CUDA STREQUAL "OFF")
  set(loss "kernels are not compiled for GPUs (ABUT_CUDA is OFF)")
endif()
note_dependency(nvcc "${NVCC}" "${NVCC}" "${loss}")

set(cuda_objects "")
add_library(abut_cuda_runtime INTERFACE) # what the objects need
if(NVCC AND cuda_source)
  execute_process(COMMAND ${NVCC} --list-gpu-code OUTPUT_VARIABLE known_architectures)
  list(GET ABUT_CUDA_ARCHITECTURES 0 first)
  set(codes "")
  foreach(architecture IN LISTS ABUT_CUDA_ARCHITECTURES)
    if(NOT known_architectures MATCHES "sm_${architecture}\n")
      message(WARNING "${NVCC} does not know sm_${architecture}: kernels are not compiled for it")
      continue()
    endif()
    set(code sm_${architecture})
    if(architecture STREQUAL first)
      set(code "[sm_${architecture},compute_${architecture}]")
    endif()
    list(APPEND codes -gencode arch=compute_${architecture},code=${code})
  endforeach()
  # what, source, flags
  macro(compile_for_gpus what source)
    set(object ${PROJECT_BINARY_DIR}/cuda/${what}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cuda
      COMMAND ${CMAKE_COMMAND} -DREPORT=${object}.report -P ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake --
              ${NVCC} -c ${codes} ${ARGN} -MD -MF ${object}.d -o ${object} ${source}
      DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake
      DEPFILE ${object}.d
      COMMENT "Compiling kernels for GPUs: ${what}"
      VERBATIM)
    list(APPEND cuda_objects ${object})
  endmacro()
  foreach(method IN LISTS ABUT_METHODS)
    method_definitions(definitions ${method} kernels/method/${method})
    list(TRANSFORM definitions PREPEND -D)
    foreach(bits 64 32)
      foreach(team 32 1)
        compile_for_gpus(${method}_f${bits}_team${team} ${cuda_source} -DABUT_REAL=${bits} -DABUT_TEAM=${team} ${definitions}
                         ${cuda_flags})
      endforeach()
    endforeach()
  endforeach()
  foreach(bits 64 32)
    compile_for_gpus(control_f${bits} ${PROJECT_SOURCE_DIR}/src/kernels/control.cu -DABUT_REAL=${bits} ${cuda_flags})
  endforeach()
  # in double, the oracle of the other, the reverse pass does not fit into a thread's registers
  set(oracle_flags ${cuda_flags})
  list(REMOVE_ITEM oracle_flags -Xptxas -warn-spills -v -Werror all-warnings)
  compile_for_gpus(manifold_f64 ${manifold_source} -DABUT_REAL=64 ${oracle_flags} -Xptxas -v)
  compile_for_gpus(manifold_f32 ${manifold_source} -DABUT_REAL=32 ${cuda_flags})
  add_custom_target(abut_cuda ALL DEPENDS ${cuda_objects})
  get_filename_component(cuda_root ${NVCC} REALPATH)
  get_filename_component(cuda_root ${cuda_root}/../.. ABSOLUTE)
  find_library(ABUT_CUDART cudart_static PATHS ${cuda_root}/lib64 ${cuda_root}/lib ${cuda_root}/targets/x86_64-linux/lib
               REQUIRED NO_DEFAULT_PATH)
  mark_as_advanced(ABUT_CUDART)
  # a static runtime: where there is no driver, it says so, and the CPU goes on
  target_link_libraries(abut_cuda_runtime INTERFACE ${ABUT_CUDART} ${CMAKE_DL_LIBS} rt)
endif()
