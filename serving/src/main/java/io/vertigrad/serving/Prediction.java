package io.vertigrad.serving;

import java.util.List;

/**
 * The answer to one request. All of it was computed with one set of parameters.
 *
 * @param outputs for each sample the probability of each class or label, or the values; a sample
 *     with several positions has one probability per class at each position, position after
 *     position
 * @param classes for each sample the name of its most probable class, at each position if there are
 *     several; empty if the model predicts labels or values
 * @param names names of the labels or values, in the order of each sample's outputs; empty if the
 *     model predicts classes, or the data set does not name its targets
 * @param version version of the parameters: updates that were applied to them
 * @param ageMillis time since these parameters were read from the job, or since the model's file
 *     was written, in milliseconds
 */
public record Prediction(
    List<float[]> outputs, List<String> classes, List<String> names, long version, long ageMillis) {

  /**
   * Copies the lists.
   *
   * @param outputs outputs of each sample
   * @param classes most probable classes
   * @param names names of the outputs
   * @param version version of the parameters
   * @param ageMillis age of the parameters
   */
  public Prediction {
    outputs = List.copyOf(outputs);
    classes = List.copyOf(classes);
    names = List.copyOf(names);
  }

  /**
   * Returns a label's probability, or a value in its own unit.
   *
   * @param sample index of the sample
   * @param name one of {@link #names}
   * @return the output of that name
   * @throws IllegalArgumentException if the model has no output of that name
   */
  public float output(int sample, String name) {
    int index = names.indexOf(name);
    if (index < 0) {
      throw new IllegalArgumentException(
          "\"%s\": the model has no such output, expected one of %s".formatted(name, names));
    }
    return outputs.get(sample)[index];
  }
}
