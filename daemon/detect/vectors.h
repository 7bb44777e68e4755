// Functions whose loops are worth wider vectors than every machine has: they are compiled twice, and which
// one runs is decided when the program starts. Without multiplications and additions in one, so that both
// compute the same to the bit.
#pragma once

// Sanitizers cannot have functions that are chosen before they are set up; Clang knows this of C functions.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define MARGAY_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define MARGAY_VECTORS
#endif
