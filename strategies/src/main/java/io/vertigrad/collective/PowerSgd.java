package io.vertigrad.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.GradientCompression;
import io.vertigrad.codecs.MatrixRange;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.job.Partition;
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
 * <p>{@link #compress} does the same for one worker alone, whose factors then are its own. It takes
 * a matrix in pieces, each a matrix of whole rows, where partitions cut it.
 *
 * <p>Q begins with random numbers that are equal in all workers, and stays for the next step (warm
 * start). Arrays for which this saves nothing are exchanged as they are. What a step has changed
 * counts only when it was {@linkplain #delivered(int, int) delivered}.
 */
public final class PowerSgd implements GradientCompression {

  private static final long SEED = 0x5067;

  /** Words in which a tensor describes a matrix, with a share of its beginning. */
  private static final int DESCRIPTION = 6;

  private final int rank;
  private final List<Matrix> matrices = new ArrayList<>();
  private final int trainable;

  /** The residual, then Q of all matrices. */
  private final float[] memory;

  /** The same after the last step, which has not been delivered yet. */
  private final float[] pending;

  private int factorRows;
  private int factorColumns;
  private int plain;
  private float weight = 1;

  /**
   * A matrix in the vector.
   *
   * @param range its elements
   * @param p index of its first element in the vector of all P
   * @param q index of its first element in the vector of all Q
   */
  private record Matrix(MatrixRange range, int p, int q) {

    int rows() {
      return range.rows();
    }

    int columns() {
      return range.columns();
    }

    /** Returns the first column of a row that is in the range. */
    int from(int row) {
      return row == 0 ? range.offset() : 0;
    }

    /** Returns the column behind the last one of a row that is in the range. */
    int until(int row) {
      return Math.min(range.columns(), range.offset() + range.length() - row * range.columns());
    }

    /** Returns the index of a row's first column in the vector. */
    int at(int row) {
      return range.first() - range.offset() + row * range.columns();
    }
  }

  /**
   * Creates the state of one worker for {@link #sum}, with a matrix for each array.
   *
   * @param blocks the arrays of the vector, of which trainable ones come first
   * @param rank number r of columns of P and Q, at least 1
   */
  public PowerSgd(List<Block> blocks, int rank) {
    this(blocks, List.of(), rank);
  }

  /**
   * Creates the state of one worker for {@link #compress}, with a matrix for each piece of an
   * array.
   *
   * @param blocks the arrays of the vector, of which trainable ones come first
   * @param partitions the ranges that are compressed, in order
   * @param rank number r of columns of P and Q, at least 1
   */
  public PowerSgd(List<Block> blocks, List<Partition> partitions, int rank) {
    this.rank = rank;
    int first = 0;
    for (Block block : blocks) {
      if (block.kind() == Block.Kind.TRAINABLE) {
        add(block, first, partitions);
        first += block.length();
      }
    }
    this.trainable = first;
    this.memory = new float[first + factorColumns * rank];
    this.pending = new float[memory.length];
    reset();
  }

  private void add(Block block, int first, List<Partition> partitions) {
    int rows = block.shape().isEmpty() ? 1 : block.shape().get(0);
    int columns = block.length() / Math.max(1, rows);
    int end = first + block.length();
    if (partitions.isEmpty()) {
      add(first, end, first, columns, 0);
    }
    for (Partition partition : partitions) {
      int from = Math.max(first, partition.first());
      int until = Math.min(end, partition.first() + partition.length());
      if (from < until) {
        add(from, until, first, columns, DESCRIPTION);
      }
    }
  }

  /** Adds a piece of an array that begins at {@code first}, if its factors are smaller. */
  private void add(int from, int until, int first, int columns, int description) {
    int length = until - from;
    if (length > 0) {
      MatrixRange range = new MatrixRange(from, length, columns, (from - first) % columns);
      if ((long) rank * (range.rows() + columns) + description < length) {
        matrices.add(new Matrix(range, factorRows * rank, factorColumns * rank));
        factorRows += range.rows();
        factorColumns += columns;
        return;
      }
    }
    plain += length;
  }

  /**
   * Returns the number of elements that are exchanged of this many elements of a vector.
   *
   * @param length number of elements of the vector
   * @return number of elements of the factors and of what is not compressed
   */
  public int exchanged(int length) {
    return (factorRows + factorColumns) * rank + plain + length - trainable;
  }

  @Override
  public void weigh(float factor) {
    weight = factor;
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
      pending[i] = vector[i] + weight * memory[i];
    }
    float[] p = firstFactors(vector);
    reduction.sum(round, p);
    for (Matrix matrix : matrices) {
      orthonormalise(p, matrix.p(), matrix.rows());
      right(matrix, p, matrix.p());
      subtract(matrix, p);
    }
    float[] total = Arrays.copyOfRange(pending, trainable, pending.length);
    for (int[] range : plainRanges(trainable)) {
      Arrays.fill(pending, range[0], range[1], 0);
    }
    unweigh(0, trainable);
    reduction.sum(round + 1, total);
    System.arraycopy(total, 0, pending, trainable, total.length);
    copyPlain(p, vector);
    for (Matrix matrix : matrices) {
      expand(matrix, p, vector);
      refill(matrix, pending);
    }
  }

  /** Divides the residual of a weighed gradient, so that it is that of a whole one. */
  private void unweigh(int first, int length) {
    for (int i = first; weight != 1 && i < first + length; i++) {
      pending[i] /= weight;
    }
  }

  /** {@inheritDoc} The tensor has the factors of this worker's gradient alone. */
  @Override
  public Tensor compress(int first, FloatBuffer values) {
    int length = values.remaining();
    values.get(pending, first, length);
    for (int i = first; i < first + length; i++) {
      pending[i] += weight * memory[i];
    }
    List<Matrix> within = within(first, length);
    Tensor tensor =
        within.isEmpty()
            ? Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(pending, first, length))
            : factors(first, length, within);
    tensor.addTo(pending, first, -1);
    unweigh(first, length);
    within.forEach(matrix -> refill(matrix, pending));
    return tensor;
  }

  private Tensor factors(int first, int length, List<Matrix> within) {
    List<MatrixRange> ranges = new ArrayList<>();
    int words = length;
    for (Matrix matrix : within) {
      MatrixRange range = matrix.range();
      ranges.add(
          new MatrixRange(range.first() - first, range.length(), range.columns(), range.offset()));
      words += rank * (matrix.rows() + matrix.columns()) - range.length();
    }
    FloatBuffer body = FloatBuffer.allocate(words);
    int end = first;
    for (Matrix matrix : within) {
      body.put(pending, end, matrix.range().first() - end);
      float[] p = new float[matrix.rows() * rank];
      left(matrix, p, 0);
      orthonormalise(p, 0, matrix.rows());
      right(matrix, p, 0);
      body.put(p);
      for (int r = 0; r < rank; r++) {
        for (int column = 0; column < matrix.columns(); column++) {
          body.put(pending[trainable + matrix.q() + column * rank + r]);
        }
      }
      end = matrix.range().end();
    }
    body.put(pending, end, first + length - end);
    return Tensor.lowRank(length, rank, ranges, body.flip());
  }

  @Override
  public void delivered(int first, int length) {
    System.arraycopy(pending, first, memory, first, length);
    for (Matrix matrix : within(first, length)) {
      int q = trainable + matrix.q();
      System.arraycopy(pending, q, memory, q, matrix.columns() * rank);
    }
  }

  @Override
  public FloatBuffer pending() {
    return FloatBuffer.wrap(pending).asReadOnlyBuffer();
  }

  @Override
  public FloatBuffer current() {
    return FloatBuffer.wrap(memory).asReadOnlyBuffer();
  }

  private List<Matrix> within(int first, int length) {
    return matrices.stream()
        .filter(matrix -> matrix.range().first() >= first && matrix.range().end() <= first + length)
        .toList();
  }

  /** Returns {@code M Q} of all matrices, then everything that is not compressed. */
  private float[] firstFactors(float[] vector) {
    float[] p = new float[factorRows * rank + plain + vector.length - trainable];
    for (Matrix matrix : matrices) {
      left(matrix, p, matrix.p());
    }
    int to = factorRows * rank;
    for (int[] range : plainRanges(vector.length)) {
      for (int i = range[0]; i < range[1]; i++) {
        p[to++] = i < trainable ? pending[i] : vector[i];
      }
    }
    return p;
  }

  /** Adds {@code M Q} to P, which begins at {@code first}. */
  private void left(Matrix matrix, float[] p, int first) {
    for (int row = 0; row < matrix.rows(); row++) {
      int at = matrix.at(row);
      for (int column = matrix.from(row); column < matrix.until(row); column++) {
        float value = pending[at + column];
        for (int r = 0; r < rank; r++) {
          p[first + row * rank + r] += value * memory[trainable + matrix.q() + column * rank + r];
        }
      }
    }
  }

  /** Replaces Q by this worker's {@code M^T P}. */
  private void right(Matrix matrix, float[] p, int first) {
    int q = trainable + matrix.q();
    Arrays.fill(pending, q, q + matrix.columns() * rank, 0);
    for (int row = 0; row < matrix.rows(); row++) {
      int at = matrix.at(row);
      for (int column = matrix.from(row); column < matrix.until(row); column++) {
        float value = pending[at + column];
        for (int r = 0; r < rank; r++) {
          pending[q + column * rank + r] += value * p[first + row * rank + r];
        }
      }
    }
  }

  /** Leaves in the residual what this worker's factors miss. */
  private void subtract(Matrix matrix, float[] p) {
    for (int row = 0; row < matrix.rows(); row++) {
      int at = matrix.at(row);
      for (int column = matrix.from(row); column < matrix.until(row); column++) {
        pending[at + column] -= product(matrix, p, row, column);
      }
    }
  }

  private void expand(Matrix matrix, float[] p, float[] vector) {
    for (int row = 0; row < matrix.rows(); row++) {
      int at = matrix.at(row);
      for (int column = matrix.from(row); column < matrix.until(row); column++) {
        vector[at + column] = product(matrix, p, row, column);
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

  private float product(Matrix matrix, float[] p, int row, int column) {
    float sum = 0;
    for (int r = 0; r < rank; r++) {
      sum += p[matrix.p() + row * rank + r] * pending[trainable + matrix.q() + column * rank + r];
    }
    return sum;
  }

  /** Returns the ranges between the matrices, as first element and end. */
  private List<int[]> plainRanges(int length) {
    List<int[]> ranges = new ArrayList<>();
    int end = 0;
    for (Matrix matrix : matrices) {
      ranges.add(new int[] {end, matrix.range().first()});
      end = matrix.range().end();
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
  private void refill(Matrix matrix, float[] state) {
    int q = trainable + matrix.q();
    for (int r = 0; r < rank; r++) {
      boolean zero = true;
      for (int column = 0; column < matrix.columns(); column++) {
        zero &= state[q + column * rank + r] == 0;
      }
      SplitMix64 random = new SplitMix64(SEED, matrix.range().first(), r);
      for (int column = 0; zero && column < matrix.columns(); column++) {
        state[q + column * rank + r] = (float) random.normal();
      }
    }
  }

  private void reset() {
    Arrays.fill(memory, 0);
    matrices.forEach(matrix -> refill(matrix, memory));
  }

  /**
   * Returns a copy of Q, which is the same in all workers that use {@link #sum}.
   *
   * @return one element for each of Q of all matrices
   */
  public float[] warmStart() {
    return Arrays.copyOfRange(memory, trainable, memory.length);
  }

  /**
   * Replaces Q by another worker's.
   *
   * @param q of {@link #warmStart()}
   */
  public void startWith(float[] q) {
    System.arraycopy(q, 0, memory, trainable, memory.length - trainable);
  }

  /**
   * Returns a copy of the residual and Q.
   *
   * @return what {@link #restore} takes
   */
  public float[] memory() {
    return memory.clone();
  }

  /**
   * Restores a state of {@link #memory()}; an empty one for the first step.
   *
   * @param earlier the state
   * @throws IllegalArgumentException when its length differs
   */
  @Override
  public void restore(float[] earlier) {
    if (earlier.length == 0) {
      reset();
      return;
    }
    if (earlier.length != memory.length) {
      throw new IllegalArgumentException(
          "the memory has %s elements, expected 0 or %s: has the rank changed?"
              .formatted(earlier.length, memory.length));
    }
    System.arraycopy(earlier, 0, memory, 0, memory.length);
  }
}
