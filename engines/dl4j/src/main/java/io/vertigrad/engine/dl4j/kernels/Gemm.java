package io.vertigrad.engine.dl4j.kernels;

import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.openblas.global.openblas_nolapack;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The matrix products of a dense layer, without the copies that ND4J makes for row-major results.
 *
 * <p>Samples are rows ({@code [n, in]}, {@code [n, out]}, row-major); weights are {@code [in,
 * out]}, column-major. BLAS is column-major, so every product is computed transposed. On a
 * processor, OpenBLAS is called directly: an ND4J operation ends in the same call but costs 20
 * microseconds more.
 */
final class Gemm {

  private static final int COLUMNS = openblas_nolapack.CblasColMajor;
  private static final int PLAIN = openblas_nolapack.CblasNoTrans;
  private static final int TRANSPOSED = openblas_nolapack.CblasTrans;
  private static final boolean ON_PROCESSOR =
      Nd4j.getBackend().getClass().getSimpleName().equals("CpuBackend");

  private Gemm() {}

  /** Computes {@code y = x w}. */
  static void forward(INDArray x, INDArray w, INDArray y) {
    if (ON_PROCESSOR) {
      int n = (int) y.size(0);
      int in = (int) w.size(0);
      int out = (int) w.size(1);
      product(TRANSPOSED, PLAIN, out, n, in, w, in, x, in, y, out);
    } else {
      Nd4j.gemm(w, x.transpose(), y.transpose(), true, false, 1, 0);
    }
  }

  /** Computes {@code dw = x' dy}. */
  static void weightGradient(INDArray x, INDArray dy, INDArray dw) {
    if (ON_PROCESSOR) {
      int n = (int) dy.size(0);
      int in = (int) dw.size(0);
      int out = (int) dw.size(1);
      product(PLAIN, TRANSPOSED, in, out, n, x, in, dy, out, dw, in);
    } else {
      Nd4j.gemm(x.transpose(), dy.transpose(), dw, false, true, 1, 0);
    }
  }

  /** Computes {@code dx = dy w'}. */
  static void inputGradient(INDArray dy, INDArray w, INDArray dx) {
    if (ON_PROCESSOR) {
      int n = (int) dy.size(0);
      int in = (int) w.size(0);
      int out = (int) w.size(1);
      product(PLAIN, PLAIN, in, n, out, w, in, dy, out, dx, in);
    } else {
      Nd4j.gemm(w, dy.transpose(), dx.transpose(), false, false, 1, 0);
    }
  }

  /**
   * Computes {@code c[m, n] = a[m, k] b[k, n]}, all column-major, with the distances between
   * columns.
   */
  private static void product(
      int turnA,
      int turnB,
      int m,
      int n,
      int k,
      INDArray a,
      int columnsA,
      INDArray b,
      int columnsB,
      INDArray c,
      int columnsC) {
    openblas_nolapack.cblas_sgemm(
        COLUMNS,
        turnA,
        turnB,
        m,
        n,
        k,
        1f,
        pointer(a),
        columnsA,
        pointer(b),
        columnsB,
        0f,
        pointer(c),
        columnsC);
  }

  private static FloatPointer pointer(INDArray array) {
    return (FloatPointer) array.data().addressPointer();
  }
}
