# What `cmake --install` lays out, and the target that builds as much as a run needs. Included by
# the root CMakeLists.txt after every folder, since it looks at the targets that they made.
#
#   bin/assay  libexec/assay/{assay-worker,libassay_worker.so,libassay_python_backend.so}
#   lib/assay/backends/<HW>/  include/assay/
#   share/assay/{schemas,workloads,model_zoo,datasets,python}/  lib/cmake/assay/
#
# find_package(assay) gives assay::backend_api and assay_add_backend() to a vendor's own tree.
include(CMakePackageConfigHelpers)

# assay_targets_below(<folder> <result>): the programs and plugins that a folder and its
# sub-folders make, tests apart.
function(assay_targets_below folder result)
  set(found)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(EXECUTABLE|MODULE_LIBRARY)$" AND NOT target MATCHES "_test$")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(sub_folder IN LISTS folders)
    assay_targets_below("${sub_folder}" below)
    list(APPEND found ${below})
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# assay_runtime: the program, its worker and the backends, without tests, benchmarks, and backends
# that are built on demand (the target property ASSAY_ON_DEMAND).
function(assay_add_runtime_target)
  set(targets)
  foreach(folder IN ITEMS src python backends)
    assay_targets_below("${PROJECT_SOURCE_DIR}/${folder}" below)
    foreach(target IN LISTS below)
      get_target_property(on_demand ${target} ASSAY_ON_DEMAND)
      if(NOT on_demand)
        list(APPEND targets ${target})
      endif()
    endforeach()
  endforeach()
  add_custom_target(assay_runtime DEPENDS ${targets})
endfunction()

function(assay_install_programs)
  if(TARGET assay)
    install(TARGETS assay RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
  if(TARGET assay-worker)
    install(TARGETS assay-worker RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/assay")
    install(TARGETS assay_worker_library LIBRARY DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/assay")
  endif()
endfunction()

# Schemas are installed by the room that owns them; tasks and models are plain files.
function(assay_install_data)
  foreach(folder IN ITEMS workloads model_zoo datasets)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}")
      install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/assay"
        PATTERN "CMakeLists.txt" EXCLUDE PATTERN "__pycache__" EXCLUDE)
    endif()
  endforeach()
endfunction()

function(assay_install_package)
  set(destination "${CMAKE_INSTALL_LIBDIR}/cmake/assay")
  set(generated "${PROJECT_BINARY_DIR}/package")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/assay" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(TARGETS assay_backend_api EXPORT assayTargets)
  install(EXPORT assayTargets NAMESPACE assay:: DESTINATION "${destination}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/assayConfig.cmake.in"
    "${generated}/assayConfig.cmake" INSTALL_DESTINATION "${destination}")
  write_basic_package_version_file("${generated}/assayConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${generated}/assayConfig.cmake" "${generated}/assayConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/AssayBackend.cmake" DESTINATION "${destination}")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endfunction()

assay_add_runtime_target()
assay_install_programs()
assay_install_data()
assay_install_package()
