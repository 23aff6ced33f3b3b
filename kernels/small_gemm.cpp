#include "kernels/small_gemm.hpp"

#if WAFER_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

#include "kernels/gemm.hpp"

namespace wafer::kernels {

#if WAFER_HAVE_LIBXSMM
void small_gemm(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C) {
  assert(A.cols() == B.rows() && C.shape() == (Shape{A.rows(), B.cols()}) && B.cols() == padded(B.cols()));
  if (C.shape().size() == 0 || A.cols() == 0) return;
  const auto size = [](Index n) { return static_cast<libxsmm_blasint>(n); };
  // LIBXSMM counts by columns: to it these are C^T += B^T A^T.
  const libxsmm_blasint b_stride = size(B.stride()), a_stride = size(A.stride()), c_stride = size(C.stride());
  const float one = 1.0F;
  const int flags = LIBXSMM_GEMM_FLAG_NONE;
  const int prefetch = LIBXSMM_PREFETCH_NONE;
  const auto kernel = libxsmm_smmdispatch(size(C.cols()), size(C.rows()), size(A.cols()), &b_stride,
                                          &a_stride, &c_stride, &one, &one, &flags, &prefetch);
  if (kernel == nullptr) return gemm(A, B, C, Output::add);
  kernel(B.data(), A.data(), C.data());
}
#else
void small_gemm(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C) {
  gemm(A, B, C, Output::add);
}
#endif

}  // namespace wafer::kernels
