package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Precision;
import io.vertigrad.compute.data.ComponentException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Explains libtorch's errors of too little memory, by one sentence that says what to change. */
final class MemoryShortage {

  private static final String SIZE = "([\\d.]+ \\w+)";
  private static final Pattern GPU =
      Pattern.compile(
          "CUDA out of memory|CUDA error: out of memory|CU(?:BLAS|DNN)_STATUS\\w*ALLOC\\w*FAILED");
  private static final Pattern FIGURES =
      Pattern.compile(
          "Tried to allocate %s. GPU (\\d+) has a total capacity of %s of which %s is free"
              .formatted(SIZE, SIZE, SIZE));
  private static final Pattern OTHERS =
      Pattern.compile("Process (\\d+) has %s memory in use".formatted(SIZE));
  private static final Pattern MACHINE =
      Pattern.compile("can't allocate memory: you tried to allocate (\\d+) bytes|std::bad_alloc");

  /** What lowers the memory of a job's workers on a GPU, in every precision. */
  static final String FEWER = "lower workers.batch, or start fewer workers on this GPU";

  private static final double MIB = 1 << 20;

  private MemoryShortage() {}

  /**
   * Returns the failure to throw in place of one that libtorch reported.
   *
   * @param failure that was caught
   * @param work what failed, such as {@code model resnet20, batch of 128 samples}
   * @param precision in which it was computed
   * @param models the models of this process on the same device, by their names
   * @return the same failure if it has another cause than too little memory
   */
  static RuntimeException explained(
      RuntimeException failure, String work, Precision precision, List<String> models) {
    String advice =
        precision == Precision.FLOAT32
            ? "lower workers.batch, start fewer workers on this GPU, or set model.precision to"
                + " bfloat16"
            : FEWER;
    return explained(failure, work, models, advice);
  }

  /**
   * Returns the failure to throw in place of one that libtorch reported.
   *
   * @param advice what to do when the GPU has too little memory
   * @return the same failure if it has another cause than too little memory
   */
  static RuntimeException explained(
      RuntimeException failure, String work, List<String> models, String advice) {
    String message = String.valueOf(failure.getMessage());
    String explanation =
        GPU.matcher(message).find()
            ? onGpu(message, models, advice)
            : MACHINE.matcher(message).find() ? onProcessor(message) : null;
    return explanation == null
        ? failure
        : ComponentException.ofMachine(work + ": " + explanation, failure);
  }

  private static String onGpu(String message, List<String> models, String advice) {
    Matcher figures = FIGURES.matcher(message);
    String found =
        figures.find()
            ? "GPU %s has %s of its %s free, expected %s more"
                .formatted(figures.group(2), figures.group(4), figures.group(3), figures.group(1))
            : "the GPU is out of memory";
    List<String> users = new ArrayList<>();
    if (!models.isEmpty()) {
      users.add("this process with %s".formatted(String.join(", ", models)));
    }
    OTHERS
        .matcher(message)
        .results()
        .forEach(
            other -> users.add("process %s with %s".formatted(other.group(1), other.group(2))));
    return "%s%s; %s"
        .formatted(
            found,
            users.isEmpty() ? "" : ", and is used by " + String.join(" and by ", users),
            advice);
  }

  private static String onProcessor(String message) {
    Matcher size = MACHINE.matcher(message);
    boolean known = size.find() && size.group(1) != null;
    return "this machine has no memory for %s; lower workers.batch, or start fewer workers on it"
        .formatted(
            known
                ? String.format(
                    Locale.ROOT, "another %,.0f MiB", Long.parseLong(size.group(1)) / MIB)
                : "it");
  }
}
