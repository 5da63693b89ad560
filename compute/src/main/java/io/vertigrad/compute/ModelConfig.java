package io.vertigrad.compute;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which network to build.
 *
 * @param name {@code convnet}, {@code mlp}, {@code resnet20}; a path to a saved DL4J zip or
 *     configuration JSON, to a Keras HDF5 file, with the engine {@code pytorch} to a TorchScript
 *     {@code .pt}; or the class name of a model factory
 * @param options settings of that model, such as {@code hidden} of the MLP; one that is null counts
 *     as absent
 * @param inputShape one sample's dimensions, from the data set
 * @param classes number of outputs, from the data set: of classes, labels or values
 * @param seed seed of the initial parameters
 * @param threads threads one model may compute on
 * @param loss that it is trained and scored by
 * @param positions of how many positions of a sample it tells a class, from the data set; 1 where a
 *     sample as a whole has one
 * @param tokens how many different ids of tokens its samples hold, from the data set; 0 where they
 *     hold numbers
 * @param device where it computes
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
    Device device) {

  /**
   * A network that computes on the processor.
   *
   * @param name of the network
   * @param options settings of that model
   * @param inputShape one sample's dimensions
   * @param classes number of outputs
   * @param seed seed of the initial parameters
   * @param threads threads one model may compute on
   * @param loss that it is trained and scored by
   * @param positions of how many positions of a sample it tells a class
   * @param tokens how many different ids of tokens its samples hold; 0 for numbers
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
        Device.PROCESSOR);
  }

  /**
   * A network that tells one class of each sample, on the processor.
   *
   * @param name of the network
   * @param options settings of that model
   * @param inputShape one sample's dimensions
   * @param classes number of classes
   * @param seed seed of the initial parameters
   * @param threads threads one model may compute on
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
   * What it tells of each sample.
   *
   * @return the targets that its loss takes
   */
  public Targets targets() {
    return new Targets(loss.targets(), classes, positions);
  }

  /**
   * What people are told of its tests beside the loss.
   *
   * @return the metric
   */
  public Metric metric() {
    return Metric.of(loss, tokens > 0);
  }

  /**
   * The same samples and outputs for a model of another name.
   *
   * @param other its name
   * @param settings its options
   * @return what an engine builds it from
   */
  public ModelConfig named(String other, Map<String, Object> settings) {
    return new ModelConfig(
        other, settings, inputShape, classes, seed, threads, loss, positions, tokens, device);
  }

  /**
   * The same model on another device.
   *
   * @param other where it computes
   * @return what an engine builds it from
   */
  public ModelConfig on(Device other) {
    return new ModelConfig(
        name, options, inputShape, classes, seed, threads, loss, positions, tokens, other);
  }
}
