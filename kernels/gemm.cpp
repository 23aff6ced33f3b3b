#include "kernels/gemm.hpp"

#include <algorithm>
#include <vector>

#include <cblas.h>

#include "core/vector_clones.hpp"

namespace wafer::kernels {

namespace {

WAFER_VECTOR_CLONES void widen_bf16(const std::uint16_t* from, Index n, float* __restrict to) {
  for (Index k = 0; k < n; ++k) to[k] = float_of_bf16(from[k]);
}

WAFER_VECTOR_CLONES void widen_f16(const std::uint16_t* from, Index n, float* __restrict to) {
  for (Index k = 0; k < n; ++k) to[k] = float_of_f16(from[k]);
}

blasint blas(Index n) { return static_cast<blasint>(n); }

// OpenBLAS wants a stride of at least one, also for matrices without elements.
blasint stride_of(MatrixView<const float> view) { return blas(view.stride() > 0 ? view.stride() : 1); }

// A 16-bit matrix as float32, in memory of this thread that the next call reuses.
MatrixView<const float> widened(TypedView B) {
  thread_local std::vector<float> scratch;
  scratch.resize(at(B.shape.size()));
  widen(B.type, B.data, scratch);
  return {scratch.data(), B.shape};
}

void clear(MatrixView<float> C) {
  for (Index i = 0; i < C.rows(); ++i)
    for (float& c : C.row(i)) c = 0.0F;
}

void multiply(CBLAS_TRANSPOSE transpose, MatrixView<const float> A, MatrixView<const float> B,
              MatrixView<float> C, Output output) {
  const float beta = output == Output::add ? 1.0F : 0.0F;
  if (C.shape().size() == 0) return;
  if (A.cols() == 0) {
    if (output == Output::overwrite) clear(C);
    return;
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, transpose, blas(C.rows()), blas(C.cols()), blas(A.cols()), 1.0F,
              A.data(), stride_of(A), B.data(), stride_of(B), beta, C.data(), stride_of(C));
}

}  // namespace

void gemm(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C, Output output) {
  assert(A.cols() == B.rows() && C.shape() == (Shape{A.rows(), B.cols()}));
  multiply(CblasNoTrans, A, B, C, output);
}

void gemm(MatrixView<const float> A, TypedView B, MatrixView<float> C, Output output) {
  if (B.type == DType::f32) return gemm(A, MatrixView<const float>(B.as_f32(), B.shape), C, output);
  if (A.rows() > 0 && B.shape.size() > 0) return gemm(A, widened(B), C, output);
  if (output == Output::overwrite) clear(C);
}

void gemm_nt(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C, Output output) {
  assert(A.cols() == B.cols() && C.shape() == (Shape{A.rows(), B.rows()}));
  multiply(CblasTrans, A, B, C, output);
}

void widen(DType type, const std::byte* from, std::span<float> to) {
  const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
  switch (type) {
  case DType::f32:
    std::copy_n(reinterpret_cast<const float*>(from), to.size(), to.data());
    return;
  case DType::bf16:
    return widen_bf16(bits, static_cast<Index>(to.size()), to.data());
  case DType::f16:
    return widen_f16(bits, static_cast<Index>(to.size()), to.data());
  }
}

std::string use_library(int threads) {
  openblas_set_num_threads(threads);
  std::string config =
      openblas_get_config();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64"
  const std::string version = config.substr(0, config.find(' ', config.find(' ') + 1));
  return version + " " + openblas_get_corename();
}

}  // namespace wafer::kernels
