package io.vertigrad.compute.pipeline;

import io.vertigrad.compute.ParameterLayout;
import java.util.List;
import java.util.Locale;

/**
 * One stage of a split model.
 *
 * @param index from 0
 * @param first name of its first layer
 * @param last name of its last layer
 * @param layout its arrays; in the whole model's exchange vector its trainable elements are
 *     contiguous, and so are its statistics
 * @param input one sample's dimensions at the input
 * @param output one sample's dimensions at the output
 */
public record StageSpec(
    int index,
    String first,
    String last,
    ParameterLayout layout,
    List<Integer> input,
    List<Integer> output) {

  public StageSpec {
    input = List.copyOf(input);
    output = List.copyOf(output);
  }

  /**
   * Returns the number of elements of one sample at the input.
   *
   * @return a number of elements
   */
  public int inputLength() {
    return product(input);
  }

  /**
   * Returns the number of elements of one sample at the output.
   *
   * @return a number of elements
   */
  public int outputLength() {
    return product(output);
  }

  /**
   * Returns a text for display: {@code stage 1: s1b0-relu to s2b2-relu, 210,000 parameters, [16,
   * 32, 32] out}.
   */
  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "stage %d: %s to %s, %,d parameters, %s out",
        index,
        first,
        last,
        layout.trainable(),
        output);
  }

  private static int product(List<Integer> shape) {
    return shape.stream().reduce(1, Math::multiplyExact);
  }
}
