package io.vertigrad.benchmarks.slowlink;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * What a run of two workers did without its warm-up, and what the link between them allows.
 *
 * @param samplesPerSecond of both workers, in the second half of the training
 * @param linkBytesPerSample payload in the busier direction of the link, for each sample that
 *     either worker trains; from the whole run
 */
record SteadyRate(double samplesPerSecond, double linkBytesPerSample) {

  /**
   * The worker at the far end. Servers and the other worker are at the near end, so that the link
   * carries what this one sends, and in the other direction what it receives.
   */
  private static final int FAR_RANK = 1;

  /**
   * Bytes that a full packet takes for each byte of payload: of 1,514 bytes 66 are headers of
   * Ethernet, IPv4 and TCP with time stamps.
   */
  private static final double FRAMING = 1_514 / 1_448.0;

  private static final double BYTES_PER_MEGABIT = 125_000;

  /**
   * Reads the progress of the workers.
   *
   * @param events those of the run, in their order
   * @throws IOException when a worker has reported progress only once
   */
  static SteadyRate of(List<JsonObject> events) throws IOException {
    TreeMap<Integer, List<JsonObject>> progress = new TreeMap<>();
    long begin = Long.MAX_VALUE;
    long end = Long.MIN_VALUE;
    for (JsonObject event : events) {
      if (event.getString("type").equals("workerProgress") && event.getLong("samples") > 0) {
        List<JsonObject> own =
            progress.computeIfAbsent(event.getInteger("rank"), rank -> new ArrayList<>());
        // An event without a new step would make the window longer than its steps.
        if (own.isEmpty() || samples(own.get(own.size() - 1)) < samples(event)) {
          own.add(event);
          begin = Math.min(begin, event.getLong("timeMillis"));
          end = Math.max(end, event.getLong("timeMillis"));
        }
      }
    }
    double rate = 0;
    long trained = 0;
    for (List<JsonObject> own : progress.values()) {
      rate += rate(own, begin + (end - begin) / 2);
      trained += samples(own.get(own.size() - 1));
    }
    List<JsonObject> far = progress.get(FAR_RANK);
    if (far == null || rate == 0) {
      throw new IOException("the run has no progress of worker %s".formatted(FAR_RANK));
    }
    JsonObject first = far.get(0);
    JsonObject last = far.get(far.size() - 1);
    double busiest = Math.max(more(last, first, "bytesSent"), more(last, first, "bytesReceived"));
    double share = (double) samples(last) / trained;
    return new SteadyRate(rate, busiest / more(last, first, "samples") * share);
  }

  private static long more(JsonObject last, JsonObject first, String counter) {
    return last.getLong(counter) - first.getLong(counter);
  }

  /** Returns the samples a second from the first event at or after a time to the last one. */
  private static double rate(List<JsonObject> own, long fromMillis) throws IOException {
    int last = own.size() - 1;
    int first = 0;
    while (first < last - 1 && own.get(first).getLong("timeMillis") < fromMillis) {
      first++;
    }
    double millis =
        last == 0 ? 0 : own.get(last).getLong("timeMillis") - own.get(first).getLong("timeMillis");
    if (millis <= 0) {
      throw new IOException(
          "worker %s took fewer than two steps in its training time"
              .formatted(own.get(0).getInteger("rank")));
    }
    return (samples(own.get(last)) - samples(own.get(first))) * 1e3 / millis;
  }

  private static long samples(JsonObject event) {
    return event.getLong("samples");
  }

  /**
   * Returns the samples a second at which the busier direction of a link would be full; infinite
   * when nothing was exchanged.
   */
  double limit(int megabits) {
    return megabits * BYTES_PER_MEGABIT / (linkBytesPerSample * FRAMING);
  }
}
