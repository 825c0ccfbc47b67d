# Dependencies.cmake: finds what is optional and says in one table what a missing one costs.
#
# abut_dependencies: what the library links; abut_program_dependencies: what only the program links.

add_library(abut_dependencies INTERFACE)
add_library(abut_program_dependencies INTERFACE)

# One row of the table. found: truth; loss: what does not work without it.
function(note_dependency name found where loss)
  string(SUBSTRING "${name}           " 0 11 name)
  if(found)
    set(row "  ${name}found    ${where}")
  else()
    set(row "  ${name}missing  ${loss}")
  endif()
  set_property(GLOBAL APPEND PROPERTY abut_dependency_rows "${row}")
endfunction()

function(print_dependencies)
  get_property(rows GLOBAL PROPERTY abut_dependency_rows)
  list(JOIN rows "\n" table)
  message(STATUS "abut ${PROJECT_VERSION}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, "
                 "${CMAKE_BUILD_TYPE}, kernels for ${kernel_isas}\n${table}")
endfunction()

# Defines target abut_${key} for a plain C library with one header; sets ${key}_FOUND.
function(find_plain_library key library header)
  find_path(${key}_INCLUDE_DIR ${header})
  find_library(${key}_LIBRARY ${library})
  mark_as_advanced(${key}_INCLUDE_DIR ${key}_LIBRARY)
  set(${key}_FOUND OFF PARENT_SCOPE)
  if(${key}_INCLUDE_DIR AND ${key}_LIBRARY)
    add_library(abut_${key} UNKNOWN IMPORTED)
    set_target_properties(abut_${key} PROPERTIES IMPORTED_LOCATION "${${key}_LIBRARY}"
                                                 INTERFACE_INCLUDE_DIRECTORIES "${${key}_INCLUDE_DIR}")
    set(${key}_FOUND ON PARENT_SCOPE)
  endif()
endfunction()

# Links target into group and defines ABUT_HAVE_<name> for what links group.
function(use_dependency group name target)
  target_link_libraries(${group} INTERFACE ${target})
  target_compile_definitions(${group} INTERFACE ABUT_HAVE_${name}=1)
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
target_link_libraries(abut_dependencies INTERFACE Threads::Threads m)

set(mujoco_loss "reading MJCF and URDF (.abut files still load)")
find_package(MuJoCo 4000000 MODULE QUIET) # versions are as in its header
if(MuJoCo_FOUND)
  use_dependency(abut_dependencies MUJOCO MuJoCo::MuJoCo)
  get_target_property(MuJoCo_LIBRARY MuJoCo::MuJoCo IMPORTED_LOCATION)
elseif(MuJoCo_VERSION)
  string(APPEND mujoco_loss "; ${MuJoCo_INCLUDE_DIR} has version ${MuJoCo_VERSION}, too old: tools/get_mujoco.sh")
endif()
note_dependency(MuJoCo "${MuJoCo_FOUND}" "${MuJoCo_LIBRARY}" "${mujoco_loss}")

find_plain_library(QHULL qhull_r libqhull_r/libqhull_r.h)
if(QHULL_FOUND)
  use_dependency(abut_dependencies QHULL abut_QHULL)
endif()
note_dependency(qhull "${QHULL_FOUND}" "${QHULL_LIBRARY}" "convex hulls of meshes")

# fitting needs both
find_plain_library(CMINPACK cminpack cminpack-1/cminpack.h)
if(CMINPACK_FOUND)
  use_dependency(abut_dependencies CMINPACK abut_CMINPACK)
endif()
note_dependency(cminpack "${CMINPACK_FOUND}" "${CMINPACK_LIBRARY}" "abut fit")
find_plain_library(MESHOPTIMIZER meshoptimizer meshoptimizer.h)
if(MESHOPTIMIZER_FOUND)
  use_dependency(abut_dependencies MESHOPTIMIZER abut_MESHOPTIMIZER)
endif()
note_dependency(meshopt "${MESHOPTIMIZER_FOUND}" "${MESHOPTIMIZER_LIBRARY}" "abut fit, contact meshes")

set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 QUIET COMPONENTS C)
if(HDF5_FOUND)
  target_include_directories(abut_program_dependencies SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
  use_dependency(abut_program_dependencies HDF5 "${HDF5_C_LIBRARIES}")
endif()
note_dependency(HDF5 "${HDF5_FOUND}" "${HDF5_VERSION}" "abut rollout, optimise and manifold --out")

find_plain_library(JANSSON jansson jansson.h)
if(JANSSON_FOUND)
  use_dependency(abut_program_dependencies JANSSON abut_JANSSON)
endif()
note_dependency(jansson "${JANSSON_FOUND}" "${JANSSON_LIBRARY}" "abut query, optimise")
