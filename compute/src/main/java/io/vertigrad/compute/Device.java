package io.vertigrad.compute;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The device that a model computes on: the processor or a GPU of the machine.
 *
 * @param gpu true for a GPU
 * @param number number of the GPU, from 0 in CUDA's order; empty to let the engine choose
 */
public record Device(boolean gpu, OptionalInt number) {

  /** The processor. */
  public static final Device PROCESSOR = new Device(false, OptionalInt.empty());

  private static final Pattern GPU = Pattern.compile("cuda(?::(\\d{1,3}))?");

  /** Checks that a processor has no number. */
  public Device {
    if (!gpu && number.isPresent()) {
      throw new IllegalArgumentException(
          "processor %s: expected the processor without a number".formatted(number.getAsInt()));
    }
  }

  /**
   * Parses the name of a device in a job file.
   *
   * @param text {@code cpu}, {@code cuda} or {@code cuda:N}
   * @return the device; empty when the text is none of these
   */
  public static Optional<Device> of(String text) {
    if (text.equals("cpu")) {
      return Optional.of(PROCESSOR);
    }
    Matcher found = GPU.matcher(text);
    if (!found.matches()) {
      return Optional.empty();
    }
    return Optional.of(
        new Device(
            true,
            found.group(1) == null
                ? OptionalInt.empty()
                : OptionalInt.of(Integer.parseInt(found.group(1)))));
  }

  /** Returns the name used in job files. */
  @Override
  public String toString() {
    if (!gpu) {
      return "cpu";
    }
    return number.isPresent() ? "cuda:" + number.getAsInt() : "cuda";
  }
}
