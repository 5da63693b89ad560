package io.vertigrad.benchmarks.owndata;

import io.vertigrad.compute.data.DataConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * The options of the benchmarks of workers with data of their own.
 *
 * @param only cases whose name contains this text; empty for all
 * @param folder folder of the MNIST files; empty for generated digits
 * @param rounds number of rounds of a run
 * @param epochs passes over a worker's own samples in a round
 * @param seed seed of the first run
 * @param seeds number of runs of each case, with seeds from {@code seed} on
 */
record OwnDataOptions(String only, String folder, int rounds, int epochs, int seed, int seeds) {

  private static final String PREFIX = "vertigrad.benchmarks.";

  /**
   * Reads the properties that {@code benchmarks/run} passes on.
   *
   * @param property returns a system property by its name; null when it is not set
   * @param rounds number of rounds when none is given
   * @param epochs number of local epochs when none is given
   * @param seeds number of seeds when none is given
   * @throws IllegalArgumentException naming the option, what was found and what was expected
   */
  static OwnDataOptions read(UnaryOperator<String> property, int rounds, int epochs, int seeds) {
    return new OwnDataOptions(
        text(property, "only"),
        text(property, "data"),
        number(property, "rounds", rounds, 1),
        number(property, "epochs", epochs, 1),
        number(property, "seed", 0, 0),
        number(property, "seeds", seeds, 1));
  }

  /** Returns the section {@code data} of a job. */
  JsonObject data() {
    return folder.isEmpty()
        ? new JsonObject().put("name", "digits")
        : new JsonObject().put("name", "mnist").put("directory", folder);
  }

  /** Returns the same data set for programs that open it. */
  DataConfig dataConfig() {
    Optional<Path> directory = Optional.of(folder).filter(text -> !text.isEmpty()).map(Path::of);
    return new DataConfig(data().getString("name"), directory, Optional.empty(), Map.of());
  }

  /** Returns what is trained on, for remarks. */
  String dataName() {
    return folder.isEmpty() ? "generated digits, not MNIST" : "MNIST";
  }

  private static String text(UnaryOperator<String> property, String name) {
    String found = property.apply(PREFIX + name);
    return found == null ? "" : found;
  }

  private static int number(UnaryOperator<String> property, String name, int otherwise, int least) {
    String found = text(property, name);
    try {
      int number = found.isEmpty() ? otherwise : Integer.parseInt(found);
      if (number >= least) {
        return number;
      }
    } catch (NumberFormatException e) {
      // The error below reports it.
    }
    throw new IllegalArgumentException(
        "--%s %s: expected a whole number from %s".formatted(name, found, least));
  }
}
