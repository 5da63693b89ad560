package io.vertigrad.internal.collective;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.data.SplitMix64;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Low-rank compression of gradients, PowerSGD (Vogels et al. 2019), with warm start and error
 * feedback. Every array of a model with two or more dimensions is a matrix M of m rows and n
 * columns, where m is the first dimension. One step of the power iteration approximates the sum of
 * all workers' matrices:
 *
 * <pre>
 *   M_i &lt;- gradient_i + e_i
 *   P   &lt;- orthonormal columns of sum_i M_i Q          m x r, exchanged
 *   Q   &lt;- sum_i M_i^T P                               n x r, exchanged
 *   e_i &lt;- M_i - P P^T M_i;      sum = P Q^T
 * </pre>
 *
 * <p>Q begins with random numbers that are equal in all workers, and stays for the next step (warm
 * start). Arrays for which this saves nothing are exchanged as they are. What a step has changed
 * counts only when it was {@linkplain #delivered delivered}.
 */
public final class PowerSgd {

  private static final long SEED = 0x5067;

  private final int rank;
  private final List<Matrix> matrices = new ArrayList<>();
  private final int trainable;
  private final float[] residual;
  private final float[] pendingResidual;
  private int factorRows;
  private int factorColumns;
  private int plain;
  private final float[] q;
  private float[] pendingQ;

  /**
   * A matrix in the vector.
   *
   * @param first index of its first element in the vector
   * @param p index of its first element in the vector of all P
   * @param q index of its first element in the vector of all Q
   */
  private record Matrix(int first, int rows, int columns, int p, int q) {

    int length() {
      return rows * columns;
    }
  }

  /**
   * Creates the state of one worker.
   *
   * @param blocks the arrays of the vector, of which trainable ones come first
   * @param rank number r of columns of P and Q, at least 1
   */
  public PowerSgd(List<Block> blocks, int rank) {
    this.rank = rank;
    int first = 0;
    for (Block block : blocks) {
      if (block.kind() == Block.Kind.TRAINABLE) {
        add(block, first);
        first += block.length();
      }
    }
    this.trainable = first;
    this.residual = new float[first];
    this.pendingResidual = new float[first];
    this.q = new float[factorColumns * rank];
    this.pendingQ = q.clone();
    reset();
  }

  private void add(Block block, int first) {
    int rows = block.shape().isEmpty() ? 1 : block.shape().get(0);
    int columns = block.length() / Math.max(1, rows);
    if ((long) rank * (rows + columns) < (long) rows * columns) {
      matrices.add(new Matrix(first, rows, columns, factorRows * rank, factorColumns * rank));
      factorRows += rows;
      factorColumns += columns;
    } else {
      plain += block.length();
    }
  }

  /** Returns the number of elements that are exchanged of this many elements of a vector. */
  public int exchanged(int length) {
    return (factorRows + factorColumns) * rank + plain + length - trainable;
  }

  /**
   * Replaces a vector by the approximate sum of all workers' vectors.
   *
   * @param vector the gradient, and behind it elements that are summed exactly
   * @param reduction sums vectors over all workers
   * @param round number of the first of two rounds
   */
  void sum(float[] vector, AllReduce reduction, long round) {
    for (int i = 0; i < trainable; i++) {
      pendingResidual[i] = vector[i] + residual[i];
    }
    float[] p = firstFactors(vector);
    reduction.sum(round, p);
    pendingQ = secondFactors(p);
    float[] total = pendingQ.clone();
    subtractOwn(p);
    reduction.sum(round + 1, total);
    pendingQ = total;
    copyPlain(p, vector);
    for (Matrix matrix : matrices) {
      expand(matrix, p, total, vector);
    }
  }

  /** Stores the residual and Q of the last sum. */
  public void delivered() {
    System.arraycopy(pendingResidual, 0, residual, 0, trainable);
    System.arraycopy(pendingQ, 0, q, 0, q.length);
    refill();
  }

  /** Returns {@code M Q} of all matrices, then everything that is not compressed. */
  private float[] firstFactors(float[] vector) {
    float[] p = new float[factorRows * rank + plain + vector.length - trainable];
    for (Matrix matrix : matrices) {
      for (int row = 0; row < matrix.rows(); row++) {
        int at = matrix.first() + row * matrix.columns();
        for (int column = 0; column < matrix.columns(); column++) {
          float value = pendingResidual[at + column];
          for (int r = 0; r < rank; r++) {
            p[matrix.p() + row * rank + r] += value * q[matrix.q() + column * rank + r];
          }
        }
      }
    }
    int to = factorRows * rank;
    for (int[] range : plainRanges(vector.length)) {
      for (int i = range[0]; i < range[1]; i++) {
        p[to++] = i < trainable ? pendingResidual[i] : vector[i];
      }
    }
    return p;
  }

  /** Orthonormalises P and returns this worker's {@code M^T P} of all matrices. */
  private float[] secondFactors(float[] p) {
    float[] own = new float[q.length];
    for (Matrix matrix : matrices) {
      orthonormalise(p, matrix.p(), matrix.rows());
      for (int row = 0; row < matrix.rows(); row++) {
        int at = matrix.first() + row * matrix.columns();
        for (int column = 0; column < matrix.columns(); column++) {
          float value = pendingResidual[at + column];
          for (int r = 0; r < rank; r++) {
            own[matrix.q() + column * rank + r] += value * p[matrix.p() + row * rank + r];
          }
        }
      }
    }
    return own;
  }

  /** Leaves in the residual what this worker's factors miss. */
  private void subtractOwn(float[] p) {
    for (Matrix matrix : matrices) {
      for (int row = 0; row < matrix.rows(); row++) {
        int at = matrix.first() + row * matrix.columns();
        for (int column = 0; column < matrix.columns(); column++) {
          pendingResidual[at + column] -= product(matrix, p, pendingQ, row, column);
        }
      }
    }
    for (int[] range : plainRanges(trainable)) {
      Arrays.fill(pendingResidual, range[0], range[1], 0);
    }
  }

  private void expand(Matrix matrix, float[] p, float[] total, float[] vector) {
    for (int row = 0; row < matrix.rows(); row++) {
      int at = matrix.first() + row * matrix.columns();
      for (int column = 0; column < matrix.columns(); column++) {
        vector[at + column] = product(matrix, p, total, row, column);
      }
    }
  }

  private void copyPlain(float[] p, float[] vector) {
    int from = factorRows * rank;
    for (int[] range : plainRanges(vector.length)) {
      int count = range[1] - range[0];
      System.arraycopy(p, from, vector, range[0], count);
      from += count;
    }
  }

  private float product(Matrix matrix, float[] p, float[] factors, int row, int column) {
    float sum = 0;
    for (int r = 0; r < rank; r++) {
      sum += p[matrix.p() + row * rank + r] * factors[matrix.q() + column * rank + r];
    }
    return sum;
  }

  /** Returns the ranges between the matrices, as first element and end. */
  private List<int[]> plainRanges(int length) {
    List<int[]> ranges = new ArrayList<>();
    int end = 0;
    for (Matrix matrix : matrices) {
      ranges.add(new int[] {end, matrix.first()});
      end = matrix.first() + matrix.length();
    }
    ranges.add(new int[] {end, length});
    return ranges;
  }

  /** Makes the columns orthonormal, Gram-Schmidt; a column without a direction becomes zero. */
  private void orthonormalise(float[] p, int first, int rows) {
    for (int column = 0; column < rank; column++) {
      double before = Math.sqrt(dot(p, first, rows, column, column));
      for (int other = 0; other < column; other++) {
        double share = dot(p, first, rows, column, other);
        for (int row = 0; row < rows; row++) {
          p[first + row * rank + column] -= share * p[first + row * rank + other];
        }
      }
      double norm = Math.sqrt(dot(p, first, rows, column, column));
      boolean direction = norm > 1e-6 * before;
      for (int row = 0; row < rows; row++) {
        int at = first + row * rank + column;
        // NaN stays, so that the step is skipped.
        p[at] = direction || Double.isNaN(norm) ? (float) (p[at] / norm) : 0;
      }
    }
  }

  private double dot(float[] p, int first, int rows, int one, int other) {
    double sum = 0;
    for (int row = 0; row < rows; row++) {
      sum += (double) p[first + row * rank + one] * p[first + row * rank + other];
    }
    return sum;
  }

  /** Gives columns of Q that are zero new random numbers: they would stay zero otherwise. */
  private void refill() {
    for (Matrix matrix : matrices) {
      for (int r = 0; r < rank; r++) {
        boolean zero = true;
        for (int column = 0; column < matrix.columns(); column++) {
          zero &= q[matrix.q() + column * rank + r] == 0;
        }
        SplitMix64 random = new SplitMix64(SEED, matrix.first(), r);
        for (int column = 0; zero && column < matrix.columns(); column++) {
          q[matrix.q() + column * rank + r] = (float) random.bell();
        }
      }
    }
  }

  private void reset() {
    Arrays.fill(residual, 0);
    Arrays.fill(q, 0);
    refill();
  }

  /** Returns Q itself, which is the same in all workers. */
  public float[] warmStart() {
    return q;
  }

  /** Returns a copy of the residual and Q. */
  public float[] memory() {
    float[] memory = Arrays.copyOf(residual, trainable + q.length);
    System.arraycopy(q, 0, memory, trainable, q.length);
    return memory;
  }

  /**
   * Restores a state of {@link #memory()}; an empty one for the first step.
   *
   * @throws IllegalArgumentException when its length differs
   */
  public void restore(float[] memory) {
    if (memory.length == 0) {
      reset();
      return;
    }
    if (memory.length != trainable + q.length) {
      throw new IllegalArgumentException(
          "the memory has %d elements, expected 0 or %d: has the rank changed?"
              .formatted(memory.length, trainable + q.length));
    }
    FloatBuffer.wrap(memory).get(residual).get(q);
  }
}
