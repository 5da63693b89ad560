package io.vertigrad.benchmarks.gpu;

import io.vertigrad.compute.Device;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * The options of {@code benchmarks/gpu/run}.
 *
 * @param device {@code cuda}, {@code cuda:N}, or {@code cpu} for a rehearsal
 * @param quick whether everything is as small and short as it can be
 * @param minutes time after which no further row begins
 * @param only a regular expression, found in the names of the rows to measure
 * @param data folder with {@code mnist} and {@code cifar10}, each optional
 * @param out folder for the result and the logs
 * @param home folder of {@code conf} and {@code vertigrad} (in a release {@code bin/vertigrad})
 * @param check folder of the peer programs and of what {@code pack} made
 * @param module the transformer of examples/pytorch; it need not exist
 * @param python a Python, for the peers
 * @param list whether only the names of the rows are printed
 */
record GpuCheckOptions(
    Device device,
    boolean quick,
    double minutes,
    Pattern only,
    Optional<Path> data,
    Path out,
    Path home,
    Path check,
    Path module,
    String python,
    boolean list) {

  /**
   * Reads the arguments.
   *
   * @param home folder of the program
   * @param check folder of the peer programs
   * @throws IllegalArgumentException naming the option, what was found and what was expected
   */
  static GpuCheckOptions read(List<String> arguments, Path home, Path check) {
    Device device = Device.of("cuda").orElseThrow();
    boolean quick = false;
    boolean list = false;
    double minutes = 25;
    Pattern only = Pattern.compile("");
    Optional<Path> data = Optional.empty();
    Path out = Path.of("result");
    Path module = check.resolve("transformer.pt");
    String python = "python3";
    for (int i = 0; i < arguments.size(); i++) {
      String option = arguments.get(i);
      if (option.equals("--quick")) {
        quick = true;
        continue;
      }
      if (option.equals("--list")) {
        list = true;
        continue;
      }
      if (i + 1 == arguments.size()) {
        throw new IllegalArgumentException(
            ("found '%s' at the end, expected --quick, --list, or one of --device, --minutes,"
                    + " --only, --data, --out, --module, --python with a value")
                .formatted(option));
      }
      String value = arguments.get(++i);
      switch (option) {
        case "--device" ->
            device =
                Device.of(value)
                    .orElseThrow(
                        () ->
                            new IllegalArgumentException(
                                "--device: found '%s', expected cpu, cuda or cuda:N"
                                    .formatted(value)));
        case "--minutes" -> minutes = minutes(value);
        case "--only" -> only = pattern(value);
        case "--data" -> data = Optional.of(Path.of(value).toAbsolutePath());
        case "--out" -> out = Path.of(value);
        case "--module" -> module = Path.of(value);
        case "--python" -> python = value;
        default ->
            throw new IllegalArgumentException(
                ("found '%s', expected --quick, --list, --device, --minutes, --only, --data, --out,"
                        + " --module or --python")
                    .formatted(option));
      }
    }
    return new GpuCheckOptions(
        device,
        quick,
        minutes,
        only,
        data,
        out.toAbsolutePath(),
        home.toAbsolutePath().normalize(),
        check.toAbsolutePath().normalize(),
        module.toAbsolutePath().normalize(),
        python,
        list);
  }

  /** Returns true when there is no GPU to check, so that figures mean nothing. */
  boolean rehearsal() {
    return !device.gpu();
  }

  private static double minutes(String value) {
    try {
      double minutes = Double.parseDouble(value);
      if (minutes > 0 && minutes < 1e4) {
        return minutes;
      }
    } catch (NumberFormatException e) {
      // The error below reports it.
    }
    throw new IllegalArgumentException(
        "--minutes: found '%s', expected a number above 0".formatted(value));
  }

  private static Pattern pattern(String value) {
    try {
      return Pattern.compile(value);
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException(
          "--only: found '%s', expected a regular expression: %s"
              .formatted(value, e.getDescription()),
          e);
    }
  }
}
