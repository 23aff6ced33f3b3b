#pragma once

// WAFER_VECTOR_CLONES before a function: the compiler makes it for the vector units of several processors,
// and the loader picks. Only for loops whose bits do not depend on the vectors' width. Sanitizers do not
// support it.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define WAFER_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WAFER_VECTOR_CLONES
#endif
