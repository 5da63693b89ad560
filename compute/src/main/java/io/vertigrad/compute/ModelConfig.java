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
 * @param classes number of classes, from the data set
 * @param seed seed of the initial parameters
 * @param threads threads one model may compute on
 */
public record ModelConfig(
    String name,
    Map<String, Object> options,
    List<Integer> inputShape,
    int classes,
    long seed,
    int threads) {

  /** Copies the options and the shape. */
  public ModelConfig {
    options = Collections.unmodifiableMap(new TreeMap<>(options));
    inputShape = List.copyOf(inputShape);
  }
}
