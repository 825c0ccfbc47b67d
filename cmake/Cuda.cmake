# Cuda.cmake: compiles every kernel body with nvcc, once per architecture and real type. A warning or a register spill
# fails the build. nvcc is called directly, so that CMake needs no CUDA language where there is none.

file(GLOB cuda_source CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/cuda.cu)
set(cuda_architectures sm_80 sm_90 sm_120)
set(cuda_flags -std=c++17 -O3 -Werror all-warnings -Xptxas -warn-spills -Xptxas -Werror -Xptxas -v
               -Xcompiler -fno-threadsafe-statics,-fno-exceptions
               -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src)
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
note_dependency(nvcc "${NVCC}" "${NVCC}" "kernels are not compiled for GPUs")

# for tests/test_cuda.c too, which needs no nvcc
find_path(ABUT_CUDA_INCLUDE cuda_runtime_api.h PATHS $ENV{CUDA_PATH}/include $ENV{CUDA_HOME}/include
          /usr/local/cuda/include)
mark_as_advanced(ABUT_CUDA_INCLUDE)

if(NVCC AND cuda_source)
  execute_process(COMMAND ${NVCC} --list-gpu-code OUTPUT_VARIABLE known_architectures)
  foreach(architecture IN LISTS cuda_architectures)
    if(NOT known_architectures MATCHES "${architecture}\n")
      message(WARNING "${NVCC} does not know ${architecture}: kernels are not compiled for it")
      continue()
    endif()
    foreach(bits 64 32)
      set(cubin ${PROJECT_BINARY_DIR}/cuda/${architecture}_f${bits}.cubin)
      add_custom_command(
        OUTPUT ${cubin}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cuda
        COMMAND ${CMAKE_COMMAND} -DREPORT=${cubin}.report -P ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake --
                ${NVCC} -cubin -arch=${architecture} -DABUT_REAL=${bits} ${cuda_flags} -MD -MF ${cubin}.d -o ${cubin}
                ${cuda_source}
        DEPENDS ${cuda_source} ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake
        DEPFILE ${cubin}.d
        COMMENT "Compiling f${bits} kernels for ${architecture}"
        VERBATIM)
      list(APPEND cubins ${cubin})
    endforeach()
  endforeach()
  add_custom_target(abut_cuda ALL DEPENDS ${cubins})
endif()
