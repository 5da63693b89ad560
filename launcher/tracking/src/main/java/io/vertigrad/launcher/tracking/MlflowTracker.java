package io.vertigrad.launcher.tracking;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports a run to an MLflow server over its REST API, version 2.0. It makes one run in one
 * experiment, with the keys of the job file as parameters and the points in batches.
 *
 * <p>a separate thread sends the requests. Points wait in a queue of limited length, which drops
 * the oldest points when it is full. A server that does not answer is asked again every few seconds
 * and causes one warning. The tracker never delays the run, except at its end by {@value
 * #CLOSE_SECONDS} s at most.
 */
final class MlflowTracker implements Tracker {

  static final int CLOSE_SECONDS = 5;

  private static final Logger LOG = LoggerFactory.getLogger(MlflowTracker.class);

  /** Limits of one request. */
  private static final int MOST_METRICS = 1_000;

  private static final int MOST_PARAMETERS = 100;
  private static final int MOST_CHARACTERS = 500;
  private static final int MOST_WAITING = 50_000;
  private static final long BATCH_MILLIS = 1_000;
  private static final long RETRY_MILLIS = 5_000;

  /** Sections that describe one run, and what follows from its data. */
  private static final Set<String> LEFT_OUT = Set.of("run", "resolved");

  private final MlflowApi api;
  private final JobConfig job;
  private final Path folder;
  private final Consumer<String> onProblem;
  private final Thread thread = new Thread(this::run, "mlflow");
  private final Deque<Metric> waiting = new ArrayDeque<>();
  private final long retryMillis;

  /** Points that were dropped since the last batch was taken. */
  private int dropped;

  private String runId;
  private boolean parametersSent;
  private boolean warned;
  private boolean refused;
  private End end;

  MlflowTracker(URI server, JobConfig job, Path folder, Consumer<String> onProblem) {
    this(server, job, folder, onProblem, RETRY_MILLIS);
  }

  /** Creates a tracker that retries after {@code retryMillis} when the server did not answer. */
  MlflowTracker(
      URI server, JobConfig job, Path folder, Consumer<String> onProblem, long retryMillis) {
    this.api = new MlflowApi(server, System.getenv());
    this.job = job;
    this.folder = folder;
    this.onProblem = onProblem;
    this.retryMillis = retryMillis;
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public synchronized void add(List<Metric> metrics) {
    waiting.addAll(metrics);
    while (waiting.size() > MOST_WAITING) {
      waiting.removeFirst();
      dropped++;
    }
    notifyAll();
  }

  @Override
  public void end(End how) {
    synchronized (this) {
      end = how;
      notifyAll();
    }
    try {
      thread.join(TimeUnit.SECONDS.toMillis(CLOSE_SECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      thread.interrupt();
      warn("it did not take the last points within %s s".formatted(CLOSE_SECONDS));
    }
  }

  private void run() {
    try {
      while (!refused) {
        boolean last = awaitWork();
        try {
          sendAll();
          if (last) {
            api.update(runId, status(), System.currentTimeMillis());
            return;
          }
        } catch (MlflowApi.RefusedException e) {
          refused = true;
          warn(e.getMessage() + "; nothing more is told to it");
        } catch (IOException e) {
          warn(e.getMessage() + "; it is asked again until the run is over");
          if (last) {
            return;
          }
          pause(retryMillis);
        }
      }
    } catch (InterruptedException theRunIsOver) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits until a batch is complete; returns true when it is the last one. */
  private synchronized boolean awaitWork() throws InterruptedException {
    if (runId == null) {
      return end != null;
    }
    while (waiting.isEmpty() && end == null) {
      wait();
    }
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(BATCH_MILLIS);
    while (end == null && waiting.size() < MOST_METRICS) {
      long left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
      if (left <= 0) {
        break;
      }
      wait(left);
    }
    return end != null;
  }

  private synchronized void pause(long millis) throws InterruptedException {
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (end == null && System.nanoTime() < until) {
      wait(Math.max(1, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime())));
    }
  }

  private void sendAll() throws IOException, InterruptedException {
    begin();
    for (List<Metric> batch = first(); !batch.isEmpty(); batch = first()) {
      JsonArray points = new JsonArray();
      batch.forEach(
          metric ->
              points.add(
                  new JsonObject()
                      .put("key", metric.name())
                      .put("value", metric.value())
                      .put("timestamp", metric.timeMillis())
                      .put("step", metric.step())));
      api.logBatch(runId, new JsonObject().put("metrics", points));
      removeSent(batch.size());
    }
  }

  private synchronized List<Metric> first() {
    dropped = 0;
    return waiting.stream().limit(MOST_METRICS).toList();
  }

  /**
   * Removes the points that were sent. The oldest may have been dropped in the meantime; then fewer
   * are removed.
   */
  private synchronized void removeSent(int count) {
    for (int i = dropped; i < count; i++) {
      waiting.removeFirst();
    }
  }

  private void begin() throws IOException, InterruptedException {
    if (runId == null) {
      Path noted = folder.resolve("mlflow.json");
      String known = Files.exists(noted) ? read(noted) : null;
      if (known != null) {
        api.update(known, "RUNNING", 0);
        parametersSent = true;
        runId = known;
        return;
      }
      String experiment = api.experiment(job.tracking().experiment());
      String name = folder.toAbsolutePath().normalize().getFileName().toString();
      runId = api.createRun(experiment, name, System.currentTimeMillis());
      write(noted, new JsonObject().put("experimentId", experiment).put("runId", runId));
    }
    if (!parametersSent) {
      sendParameters();
      parametersSent = true;
    }
  }

  /** A reader finds no file, or a complete one. */
  private static void write(Path noted, JsonObject run) throws IOException {
    Path unfinished = noted.resolveSibling(noted.getFileName() + ".unfinished");
    Files.writeString(unfinished, run.encodePrettily() + System.lineSeparator());
    Files.move(unfinished, noted, StandardCopyOption.ATOMIC_MOVE);
  }

  private static String read(Path noted) throws IOException {
    try {
      return new JsonObject(Files.readString(noted)).getString("runId");
    } catch (RuntimeException unusable) {
      return null;
    }
  }

  private void sendParameters() throws IOException, InterruptedException {
    Map<String, String> flat = new TreeMap<>();
    flatten("", job.json(), flat);
    flat.keySet().removeIf(key -> job.settings().traits(key).contains(KeyTrait.CHANGEABLE));
    List<JsonObject> entries = new ArrayList<>();
    flat.forEach(
        (key, value) ->
            entries.add(
                new JsonObject()
                    .put("key", key)
                    .put(
                        "value",
                        value.length() > MOST_CHARACTERS
                            ? value.substring(0, MOST_CHARACTERS)
                            : value)));
    for (int first = 0; first < entries.size(); first += MOST_PARAMETERS) {
      List<JsonObject> some =
          entries.subList(first, Math.min(entries.size(), first + MOST_PARAMETERS));
      api.logBatch(runId, new JsonObject().put("params", new JsonArray(new ArrayList<>(some))));
    }
  }

  private static void flatten(String prefix, JsonObject json, Map<String, String> flat) {
    for (String key : json.fieldNames()) {
      Object value = json.getValue(key);
      if (value instanceof JsonObject section) {
        if (!LEFT_OUT.contains(prefix + key)) {
          flatten(prefix + key + ".", section, flat);
        }
      } else if (value != null) {
        flat.put(prefix + key, value instanceof JsonArray list ? list.encode() : value.toString());
      }
    }
  }

  private synchronized String status() {
    return switch (end) {
      case FINISHED -> "FINISHED";
      case FAILED -> "FAILED";
      case STOPPED -> "KILLED";
    };
  }

  /** Warns once in a run; from the tracker's thread, or at the run's end from the caller's. */
  private void warn(String what) {
    synchronized (this) {
      if (warned) {
        return;
      }
      warned = true;
    }
    String line = "MLflow (tracking.mlflow): %s; training goes on".formatted(what);
    LOG.warn(line);
    onProblem.accept(line);
  }
}
