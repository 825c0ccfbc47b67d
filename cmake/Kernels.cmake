# Kernels.cmake: the kernels (stages: src/kernels/cpu.c; over items: src/kernels/items/items_cpu.c), compiled once per instruction set and real type. Sets kernel_objects.

# never -ffast-math: results must not depend on what a compiler thinks it may reorder
add_library(abut_kernel_flags INTERFACE)
target_link_libraries(abut_kernel_flags INTERFACE abut_flags)
target_compile_options(abut_kernel_flags INTERFACE
  $<IF:$<CONFIG:Debug>,-O1,-O3> -fno-math-errno -fno-trapping-math
  $<IF:$<BOOL:${ABUT_STRICT}>,-ffp-contract=off,-ffp-contract=fast;-fno-signed-zeros>)
target_compile_definitions(abut_kernel_flags INTERFACE $<$<BOOL:${ABUT_STRICT}>:ABUT_STRICT>)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # a quarter of the time that these long inlined bodies take to compile
  target_compile_options(abut_kernel_flags INTERFACE -fno-var-tracking-assignments)
endif()
if(ABUT_SANITIZE MATCHES "undefined") # what a stray pointer does is seen by the address sanitizer; a third of the time
  target_compile_options(abut_kernel_flags INTERFACE -fno-sanitize=null,alignment,object-size,pointer-overflow)
endif()
if(ABUT_FUZZ) # what is fuzzed are readers, and these take minutes to compile with sanitizers
  target_compile_options(abut_kernel_flags INTERFACE -fno-sanitize=all)
endif()
# vector types are an extension; set per source, so that it follows -Wpedantic
set(kernel_warnings -Wno-pedantic -Wno-psabi)

set(avx2_flags -mavx2 -mfma)
set(avx512_flags -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma -mprefer-vector-width=512)

# isa:bits of real:lanes of a vector, widest last
set(ABUT_INSTANCES "" CACHE STRING "instruction sets to compile the kernels for, of scalar, sse2, avx2, avx512; native: the \
widest that this machine runs; empty: all. sse2 or generic runs everywhere")
set(kernel_instances scalar:64:1)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(APPEND kernel_instances sse2:64:2 sse2:32:4 avx2:64:4 avx2:32:8 avx512:64:8 avx512:32:16)
else()
  list(APPEND kernel_instances generic:64:2 generic:32:4)
endif()

# Sets result to the widest instruction set that this machine runs.
function(find_native result)
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "ABUT_INSTANCES=native: compiled here, but not for this machine")
  endif()
  set(widest_first ${kernel_instances})
  list(TRANSFORM widest_first REPLACE ":.*" "")
  list(REVERSE widest_first)
  list(REMOVE_DUPLICATES widest_first)
  unset(native_runs CACHE) # another machine may share the folder
  unset(native_compiles CACHE)
  try_run(native_runs native_compiles ${PROJECT_BINARY_DIR}/native ${PROJECT_SOURCE_DIR}/cmake/native.c
          CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src
          COMPILE_OUTPUT_VARIABLE log RUN_OUTPUT_VARIABLE native ARGS ${widest_first})
  if(NOT native_compiles OR NOT native_runs EQUAL 0)
    message(FATAL_ERROR "cmake/native.c does not compile or run:\n${log}")
  endif()
  string(STRIP "${native}" native)
  set(${result} ${native} PARENT_SCOPE)
endfunction()

if(ABUT_INSTANCES)
  set(wanted ${ABUT_INSTANCES})
  if(wanted STREQUAL "native")
    find_native(wanted)
  endif()
  if(ABUT_TESTS) # the reference of some
    list(APPEND wanted scalar)
  endif()
  list(JOIN wanted "|" wanted)
  list(FILTER kernel_instances INCLUDE REGEX "^(${wanted}):")
endif()
set(kernel_isas ${kernel_instances}) # for the table of what is compiled
list(TRANSFORM kernel_isas REPLACE ":.*" "")
list(REMOVE_DUPLICATES kernel_isas)
list(JOIN kernel_isas ", " kernel_isas)

set(instances "")
foreach(instance IN LISTS kernel_instances)
  string(REGEX REPLACE "^(.*):(.*):.*" "X(\\1, \\2)" line ${instance})
  string(APPEND instances "${line}\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/instances.def CONTENT "${instances}" @ONLY) # kept where it is the same
target_include_directories(abut_flags INTERFACE ${PROJECT_BINARY_DIR}/generated)

# Compiles sources once per instance, targets <name>_<isa>_f<bits>, and adds their objects to the list `objects`. Further
# arguments: definitions.
function(compile_instances objects name sources)
  set(result ${${objects}})
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${kernel_warnings}")
  foreach(instance IN LISTS kernel_instances)
    string(REPLACE ":" ";" parts ${instance})
    list(GET parts 0 isa)
    list(GET parts 1 bits)
    list(GET parts 2 lanes)
    set(target ${name}_${isa}_f${bits})
    add_library(${target} OBJECT ${sources})
    target_compile_definitions(${target} PRIVATE ABUT_ISA=${isa} ABUT_REAL=${bits} ABUT_LANES=${lanes} ${ARGN})
    target_link_libraries(${target} PRIVATE abut_kernel_flags)
    target_compile_options(${target} PRIVATE ${${isa}_flags})
    list(APPEND result $<TARGET_OBJECTS:${target}>)
  endforeach()
  set(${objects} ${result} PARENT_SCOPE)
endfunction()

# What the instances of a method are compiled with; its kernel bodies are in ${path}_kernels.inl.
function(method_definitions result method path)
  set(${result} METHOD=${method} METHOD_KERNELS="${path}_kernels.inl" PARENT_SCOPE)
endfunction()

# the rows of src/host/method/methods.def
set(ABUT_METHODS implicit)

set(kernel_objects "")
compile_instances(kernel_objects abut_items ${PROJECT_SOURCE_DIR}/src/kernels/items/items_cpu.c)
add_library(abut_overlap OBJECT ${PROJECT_SOURCE_DIR}/src/kernels/shape/overlap.c) # a kernel for one pair
target_link_libraries(abut_overlap PRIVATE abut_kernel_flags)
list(APPEND kernel_objects $<TARGET_OBJECTS:abut_overlap>)
foreach(method IN LISTS ABUT_METHODS)
  method_definitions(definitions ${method} kernels/method/${method})
  compile_instances(kernel_objects abut_${method} ${PROJECT_SOURCE_DIR}/src/kernels/cpu.c ${definitions})
endforeach()
