package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.gpu.CheckRow.Figure;
import io.vertigrad.benchmarks.gpu.CheckRow.Measurement;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The PyTorch programs that rows are compared with.
 *
 * @param versions what PyTorch says about itself; empty without a PyTorch that has the device
 * @param missing why there are no peers; empty when there are
 */
record Peers(JsonObject versions, String missing) {

  private static final int LIMIT_SECONDS = 90;

  /** Asks the Python of the options for its PyTorch. */
  static Peers find(GpuCheckOptions options) throws InterruptedException {
    if (options.list()) {
      return new Peers(new JsonObject(), "");
    }
    Sitting sitting = new Sitting(options);
    sitting.endAt(System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS));
    try {
      return new Peers(sitting.peer("versions-of-pytorch", List.of("--versions")), "");
    } catch (IOException e) {
      String why = e.getMessage().lines().reduce((first, last) -> last).orElse("");
      return new Peers(
          new JsonObject(),
          "%s has no PyTorch for %s: %s".formatted(options.python(), options.device(), why));
    }
  }

  /** Returns the row, beside a peer if there are any. */
  CheckRow beside(CheckRow row, String label, List<String> words) {
    return missing.isEmpty() ? row.beside(measurement(row.unit(), label, words)) : row;
  }

  private static Measurement measurement(CheckRow.Unit unit, String label, List<String> words) {
    return sitting -> {
      List<String> all = new ArrayList<>(words);
      all.addAll(List.of("--seconds", Double.toString(sitting.options().quick() ? 1 : 8)));
      JsonObject answer = sitting.peer("pytorch-" + label, all);
      boolean millis = unit == CheckRow.Unit.MILLIS_PER_STEP;
      return new Figure(
          answer.getDouble(millis ? "millisPerStep" : "samplesPerSecond"),
          answer.getString("mode", ""));
    };
  }

  /** Returns for example {@code 2.11.0, CUDA 13.0, cuDNN 9.1.9}, or why there is none. */
  @Override
  public String toString() {
    if (!missing.isEmpty()) {
      return missing;
    }
    return Optional.ofNullable(versions.getString("cuda"))
        .map(
            cuda ->
                String.format(
                    Locale.ROOT,
                    "%s, CUDA %s, cuDNN %s",
                    versions.getString("torch"),
                    cuda,
                    versions.getValue("cudnn")))
        .orElse(versions.getString("torch", ""));
  }
}
