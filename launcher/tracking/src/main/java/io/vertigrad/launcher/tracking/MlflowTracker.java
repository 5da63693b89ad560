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

  private static final String NOTED = "mlflow.json";
  private static final String RUN = "runId";
  private static final String EXPORTED = "exported";

  private final MlflowApi api;
  private final JobConfig job;
  private final Path folder;
  private final Consumer<String> onProblem;
  private final Thread thread = new Thread(this::run, "mlflow");
  private final Deque<Metric> waiting = new ArrayDeque<>();
  private final ExportedCurves queued = new ExportedCurves();
  private final ExportedCurves sent = new ExportedCurves();

  /** What {@code mlflow.json} contains: the run's id, and the points that the server has. */
  private final JsonObject noted;

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
    noted = read(folder.resolve(NOTED));
    queued.addAll(noted.getJsonObject(EXPORTED, new JsonObject()));
    sent.addAll(noted.getJsonObject(EXPORTED, new JsonObject()));
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public synchronized void add(List<Metric> metrics) {
    waiting.addAll(queued.admit(metrics));
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
      sent.admit(batch);
      noteSent();
    }
  }

  /** Records what a coordinator that resumes the run must not send again. */
  private void noteSent() {
    noted.put(EXPORTED, sent.toJson());
    try {
      write();
    } catch (IOException e) {
      warn("%s; after a resume it may get points twice".formatted(e.getMessage()));
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
    if (runId == null && noted.containsKey(RUN)) {
      api.update(noted.getString(RUN), "RUNNING", 0);
      parametersSent = true;
      runId = noted.getString(RUN);
    } else if (runId == null) {
      String experiment = api.experiment(job.tracking().experiment());
      String name = folder.toAbsolutePath().normalize().getFileName().toString();
      runId = api.createRun(experiment, name, System.currentTimeMillis());
      noted.put("experimentId", experiment).put(RUN, runId);
      write();
    }
    if (!parametersSent) {
      sendParameters();
      parametersSent = true;
    }
  }

  /** Writes the file; a reader finds none, or a complete one. */
  private void write() throws IOException {
    Path file = folder.resolve(NOTED);
    Path unfinished = file.resolveSibling(NOTED + ".unfinished");
    Files.writeString(unfinished, noted.encodePrettily() + System.lineSeparator());
    Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Returns what an earlier coordinator of the run has written; empty if that is unusable. */
  private static JsonObject read(Path file) {
    try {
      JsonObject found = new JsonObject(Files.readString(file));
      found.getString(RUN);
      new ExportedCurves().addAll(found.getJsonObject(EXPORTED, new JsonObject()));
      return found;
    } catch (IOException | RuntimeException unusable) {
      return new JsonObject();
    }
  }

  private void sendParameters() throws IOException, InterruptedException {
    Map<String, String> flat = new TreeMap<>();
    flatten("", job.json(), flat);
    flat.keySet().removeIf(key -> !isParameter(job.settings().traits(key)));
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

  private static boolean isParameter(Set<KeyTrait> traits) {
    return !traits.contains(KeyTrait.CHANGEABLE) && !traits.contains(KeyTrait.OF_RUN);
  }

  private static void flatten(String prefix, JsonObject json, Map<String, String> flat) {
    for (String key : json.fieldNames()) {
      Object value = json.getValue(key);
      if (value instanceof JsonObject section) {
        flatten(prefix + key + ".", section, flat);
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
