package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import java.nio.DoubleBuffer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Computes losses on the device of the outputs, by the definitions of {@link CrossEntropy}, {@link
 * BinaryCrossEntropy} and {@link SquaredError}. Differences of up to single precision remain. The
 * loss and the counts are copied to Java together, before the backward pass, and read once.
 */
final class TensorLosses implements Losses {

  private static final int FIGURES = 3;

  private final ModelConfig config;
  private final Transfers transfers;
  private final Transfers.HostMemory figures;
  private final DoubleBuffer values;

  /** The classes 0, 1, 2, ... */
  private final Tensor classes;

  private final Tensor sums;

  private final Transfers.Mark arrival;

  /** Creates the losses of one model. */
  @SuppressWarnings("try")
  TensorLosses(ModelConfig config, Place place) {
    this.config = config;
    this.transfers = place.transfers();
    this.figures = transfers.hostMemory(ScalarType.Double, FIGURES);
    this.values = figures.bytes().asDoubleBuffer();
    this.arrival = transfers.new Mark(true);
    try (PointerScope temporary = new PointerScope()) {
      TensorOptions options = options(ScalarType.Long, place);
      this.classes = torch.arange(new Scalar(config.classes()), options).retainReference();
      this.sums =
          torch.zeros(new long[] {FIGURES}, options(ScalarType.Double, place)).retainReference();
    }
  }

  private static TensorOptions options(ScalarType type, Place place) {
    return new TensorOptions(type).device(new DeviceOptional(place.device()));
  }

  @Override
  public Tensor gradient(Tensor output, Batch batch, Tensor targets, float scale) {
    Tensor outputs = rows(output);
    Tensor gradient =
        switch (config.loss()) {
          case CROSS_ENTROPY -> {
            Tensor logs = outputs.log_softmax(1);
            send(outputs, logs, targets, 0);
            Scalar share = new Scalar(scale / config.positions());
            logs.exp_().mul_(share);
            yield logs.scatter_(1, targets, logs.gather(1, targets).sub_(share));
          }
          case BINARY_CROSS_ENTROPY -> {
            send(outputs, null, targets, 0);
            yield outputs.sigmoid().sub_(targets).mul_(new Scalar(scale / config.classes()));
          }
          case MEAN_SQUARED_ERROR -> {
            send(outputs, null, targets, 0);
            yield outputs.sub(targets).mul_(new Scalar(2 * scale / config.classes()));
          }
        };
    return gradient.view_as(output);
  }

  @Override
  public double lossSum() {
    arrival.await();
    return values.get(0);
  }

  @Override
  public int correct() {
    if (config.loss() == Loss.MEAN_SQUARED_ERROR) {
      return -1;
    }
    arrival.await();
    return (int) values.get(1);
  }

  @Override
  public Score score(Tensor output, Batch batch, Tensor targets, int topK) {
    Tensor outputs = rows(output);
    Tensor logs = config.loss() == Loss.CROSS_ENTROPY ? outputs.log_softmax(1) : null;
    send(outputs, logs, targets, topK);
    arrival.await();
    return switch (config.loss()) {
      case CROSS_ENTROPY ->
          new Score(
              batch.count(),
              values.get(0),
              (int) values.get(1),
              topK == 0 ? 0 : (int) values.get(2),
              batch.labels().length,
              config.metric());
      case BINARY_CROSS_ENTROPY ->
          new Score(
              batch.count(),
              values.get(0),
              (int) values.get(1),
              0,
              batch.targets().length,
              Metric.LABEL_ACCURACY);
      case MEAN_SQUARED_ERROR -> new Score(batch.count(), values.get(0), 0, 0, 0, Metric.RMSE);
    };
  }

  @Override
  public float[] probabilities(Tensor output) {
    Tensor outputs = rows(output);
    return transfers.read(
        switch (config.loss()) {
          case CROSS_ENTROPY -> outputs.softmax(1);
          case BINARY_CROSS_ENTROPY -> outputs.sigmoid();
          case MEAN_SQUARED_ERROR -> outputs;
        });
  }

  /** Returns the outputs without their history, one row for each class prediction or sample. */
  private Tensor rows(Tensor output) {
    return output.detach().reshape(-1, config.classes());
  }

  /**
   * Starts to copy the sum of the samples' losses and the two counts of correct predictions; a
   * count that the loss does not have, or that was not asked for, is undefined.
   *
   * @param logs logarithms of the probabilities, for cross-entropy
   */
  @SuppressWarnings("try")
  private void send(Tensor outputs, Tensor logs, Tensor targets, int topK) {
    try (PointerScope temporary = new PointerScope()) {
      TensorVector all =
          switch (config.loss()) {
            case CROSS_ENTROPY -> crossEntropy(outputs, logs, targets, topK);
            case BINARY_CROSS_ENTROPY -> binaryCrossEntropy(outputs, targets);
            case MEAN_SQUARED_ERROR -> squaredError(outputs, targets);
          };
      torch.stack_out(sums, all, 0);
      transfers.down(figures.tensor(), sums);
    }
    arrival.set();
  }

  private TensorVector crossEntropy(Tensor outputs, Tensor logs, Tensor targets, int topK) {
    Tensor loss = logs.gather(1, targets).sum(inDouble()).div_(scalar(-config.positions()));
    Tensor own = outputs.gather(1, targets);
    // Of equal classes the first precedes. NaN precedes none and is never the prediction.
    Tensor equal = outputs.eq(own).logical_and_(classes.lt(targets));
    Tensor before =
        equal.logical_or_(outputs.gt(own)).sum(new long[] {1}, true, new ScalarTypeOptional());
    Tensor number = own.eq(own);
    Tensor correct = before.eq(scalar(0)).logical_and_(number).sum(inDouble());
    Tensor correctTop =
        topK == 0 ? correct : before.lt(scalar(topK)).logical_and_(number).sum(inDouble());
    return new TensorVector(loss, correct, correctTop);
  }

  private TensorVector binaryCrossEntropy(Tensor outputs, Tensor targets) {
    // exp of a negative number does not overflow, and log1p keeps the precision of a small one.
    Tensor losses = outputs.abs().neg_().exp_().log1p_();
    losses.add_(outputs.clamp_min(scalar(0))).sub_(outputs.mul(targets));
    Tensor correct = outputs.gt(scalar(0)).eq(targets.gt(scalar(0.5))).sum(inDouble());
    return new TensorVector(
        losses.sum(inDouble()).div_(scalar(config.classes())), correct, correct);
  }

  private TensorVector squaredError(Tensor outputs, Tensor targets) {
    Tensor loss = outputs.to(ScalarType.Double).sub_(targets).square_().sum();
    loss.div_(scalar(config.classes()));
    return new TensorVector(loss, loss, loss);
  }

  private static ScalarTypeOptional inDouble() {
    return new ScalarTypeOptional(ScalarType.Double);
  }

  private static Scalar scalar(double value) {
    return new Scalar(value);
  }

  @Override
  public void close() {
    figures.close();
    classes.close();
    sums.close();
    arrival.close();
  }
}
