# Targets: corelane::corelane, the shared library, and corelane::static. Version @VERSION@.
if(TARGET corelane::corelane)
  return()
endif()

find_package(Threads REQUIRED)

add_library(corelane::corelane SHARED IMPORTED)
set_target_properties(corelane::corelane PROPERTIES
  IMPORTED_LOCATION "@PREFIX@/lib/libcorelane_c.so"
  IMPORTED_NO_SONAME TRUE
  INTERFACE_INCLUDE_DIRECTORIES "@PREFIX@/include")

add_library(corelane::static STATIC IMPORTED)
set_target_properties(corelane::static PROPERTIES
  IMPORTED_LOCATION "@PREFIX@/lib/libcorelane_c.a"
  INTERFACE_INCLUDE_DIRECTORIES "@PREFIX@/include"
  INTERFACE_LINK_LIBRARIES "Threads::Threads;dl;m")
