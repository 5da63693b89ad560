package io.vertigrad.compute;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The network to build.
 *
 * @param name {@code convnet}, {@code mlp}, {@code resnet20}; a path to a saved DL4J zip or
 *     configuration JSON, to a Keras HDF5 file, with the engine {@code pytorch} to a {@code .pt2}
 *     of {@code torch.export} or a TorchScript {@code .pt}; or the class name of a model factory
 * @param options settings of that model, such as {@code hidden} of the MLP; a null value counts as
 *     absent
 * @param inputShape one sample's dimensions, from the data set
 * @param classes number of outputs, from the data set: of classes, labels or values
 * @param seed seed of the initial parameters
 * @param threads number of threads that one model may compute on
 * @param loss that the model is trained and scored by
 * @param positions number of positions of a sample that the model predicts a class for, from the
 *     data set; 1 when a sample as a whole has one class
 * @param tokens number of different token ids in the samples, from the data set; 0 when the samples
 *     hold numbers
 * @param device that the model computes on
 * @param precision of its passes
 */
public record ModelConfig(
    String name,
    Map<String, Object> options,
    List<Integer> inputShape,
    int classes,
    long seed,
    int threads,
    Loss loss,
    int positions,
    int tokens,
    Device device,
    Precision precision) {

  /**
   * Describes a network that computes on the processor in float32.
   *
   * @param name of the network
   * @param options settings of that model
   * @param inputShape one sample's dimensions
   * @param classes number of outputs
   * @param seed seed of the initial parameters
   * @param threads number of threads that one model may compute on
   * @param loss that the model is trained and scored by
   * @param positions number of positions of a sample that the model predicts a class for
   * @param tokens number of different token ids in the samples; 0 for numbers
   */
  public ModelConfig(
      String name,
      Map<String, Object> options,
      List<Integer> inputShape,
      int classes,
      long seed,
      int threads,
      Loss loss,
      int positions,
      int tokens) {
    this(
        name,
        options,
        inputShape,
        classes,
        seed,
        threads,
        loss,
        positions,
        tokens,
        Device.PROCESSOR,
        Precision.FLOAT32);
  }

  /**
   * Describes a network on the processor that predicts one class for each sample.
   *
   * @param name of the network
   * @param options settings of that model
   * @param inputShape one sample's dimensions
   * @param classes number of classes
   * @param seed seed of the initial parameters
   * @param threads number of threads that one model may compute on
   */
  public ModelConfig(
      String name,
      Map<String, Object> options,
      List<Integer> inputShape,
      int classes,
      long seed,
      int threads) {
    this(name, options, inputShape, classes, seed, threads, Loss.CROSS_ENTROPY, 1, 0);
  }

  /** Copies the options and the shape. */
  public ModelConfig {
    options = Collections.unmodifiableMap(new TreeMap<>(options));
    inputShape = List.copyOf(inputShape);
  }

  /**
   * Returns what the model predicts for each sample.
   *
   * @return the targets that its loss takes
   */
  public Targets targets() {
    return new Targets(loss.targets(), classes, positions);
  }

  /**
   * Returns the figure that the model's tests report besides the loss.
   *
   * @return the metric
   */
  public Metric metric() {
    return Metric.of(loss, tokens > 0);
  }

  /**
   * Returns this configuration for a model of another name.
   *
   * @param other name of the model
   * @param settings options of the model
   * @return a copy with that name and those options
   */
  public ModelConfig named(String other, Map<String, Object> settings) {
    return new ModelConfig(
        other,
        settings,
        inputShape,
        classes,
        seed,
        threads,
        loss,
        positions,
        tokens,
        device,
        precision);
  }

  /**
   * Returns this configuration for another device.
   *
   * @param other device to compute on
   * @return a copy with that device
   */
  public ModelConfig on(Device other) {
    return new ModelConfig(
        name,
        options,
        inputShape,
        classes,
        seed,
        threads,
        loss,
        positions,
        tokens,
        other,
        precision);
  }

  /**
   * Returns this configuration for another precision.
   *
   * @param other precision of the model's passes
   * @return a copy with that precision
   */
  public ModelConfig in(Precision other) {
    return new ModelConfig(
        name, options, inputShape, classes, seed, threads, loss, positions, tokens, device, other);
  }
}
