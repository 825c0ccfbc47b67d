# FindMuJoCo.cmake: MuJoCo's C library: MUJOCO_ROOT, third_party/mujoco (tools/get_mujoco.sh) or the system's.
#
# MUJOCO_ROOT may be a release of MuJoCo's or the folder mujoco of an installed Python wheel (mujoco-core).
# Sets MuJoCo_FOUND, MuJoCo_VERSION (4000000 for 4.0.0), MuJoCo_LIBRARY, MuJoCo_INCLUDE_DIR and target MuJoCo::MuJoCo.

# header and library come from one place: a mixture would be refused at run time
foreach(place IN ITEMS "${MUJOCO_ROOT}" "$ENV{MUJOCO_ROOT}" ${PROJECT_SOURCE_DIR}/third_party/mujoco)
  file(GLOB candidates ${place}/lib/libmujoco.so* ${place}/lib/libmujoco*.dylib ${place}/libmujoco.so*
       ${place}/libmujoco*.dylib)
  if(place AND candidates AND EXISTS ${place}/include/mujoco/mujoco.h)
    list(GET candidates 0 candidate)
    # unset, not found by an earlier configuration, or replaced by another version since
    if(NOT EXISTS "${MuJoCo_LIBRARY}" OR NOT EXISTS "${MuJoCo_INCLUDE_DIR}")
      set(MuJoCo_LIBRARY ${candidate} CACHE FILEPATH "MuJoCo's library" FORCE)
      set(MuJoCo_INCLUDE_DIR ${place}/include CACHE PATH "Folder of mujoco/mujoco.h" FORCE)
    endif()
    break()
  endif()
endforeach()
find_path(MuJoCo_INCLUDE_DIR mujoco/mujoco.h)
find_library(MuJoCo_LIBRARY mujoco)
mark_as_advanced(MuJoCo_INCLUDE_DIR MuJoCo_LIBRARY)

if(MuJoCo_INCLUDE_DIR)
  file(STRINGS ${MuJoCo_INCLUDE_DIR}/mujoco/mujoco.h MuJoCo_line REGEX "#define mjVERSION_HEADER")
  string(REGEX REPLACE ".*mjVERSION_HEADER +([0-9]+).*" "\\1" MuJoCo_VERSION "${MuJoCo_line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MuJoCo REQUIRED_VARS MuJoCo_LIBRARY MuJoCo_INCLUDE_DIR
                                  VERSION_VAR MuJoCo_VERSION)

if(MuJoCo_FOUND AND NOT TARGET MuJoCo::MuJoCo)
  add_library(MuJoCo::MuJoCo UNKNOWN IMPORTED)
  set_target_properties(MuJoCo::MuJoCo PROPERTIES IMPORTED_LOCATION "${MuJoCo_LIBRARY}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${MuJoCo_INCLUDE_DIR}")
endif()
