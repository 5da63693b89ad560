package io.vertigrad.engine.dl4j.kernels;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The matrix products of a dense layer without the copies that ND4J makes for row-major results.
 *
 * <p>Samples are rows ({@code [n, in]}, {@code [n, out]}, row-major); weights are {@code [in,
 * out]}, column-major. BLAS is column-major, so every product is computed transposed.
 */
final class Gemm {

  private Gemm() {}

  /** {@code y = x w}. */
  static void forward(INDArray x, INDArray w, INDArray y) {
    Nd4j.gemm(w, x.transpose(), y.transpose(), true, false, 1, 0);
  }

  /** {@code dw = x' dy}. */
  static void weightGradient(INDArray x, INDArray dy, INDArray dw) {
    Nd4j.gemm(x.transpose(), dy.transpose(), dw, false, true, 1, 0);
  }

  /** {@code dx = dy w'}. */
  static void inputGradient(INDArray dy, INDArray w, INDArray dx) {
    Nd4j.gemm(w, dy.transpose(), dx.transpose(), false, false, 1, 0);
  }
}
