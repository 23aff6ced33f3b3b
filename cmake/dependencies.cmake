# Everything we link, all from the system's packages (scripts/setup installs them on Debian).
set(MPI_CXX_SKIP_MPICXX ON)  # the C API only: MPI dropped its C++ bindings in 2012
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(OpenBLAS REQUIRED IMPORTED_TARGET openblas)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")  # makes code for nothing else
  pkg_check_modules(LIBXSMM REQUIRED IMPORTED_TARGET libxsmm)
endif()
# For the program: keeps memory that was given back for the next buffer; the C library's is cleared page by page
# each time. Sanitizers bring their own.
if(WAFER_PROGRAM AND NOT WAFER_SANITIZE)
  pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
endif()
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_search_module(HDF5 REQUIRED IMPORTED_TARGET hdf5-serial hdf5)
