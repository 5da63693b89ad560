package io.vertigrad.events;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertx.core.Vertx;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes scalars of your own: named values that the page, Prometheus, trackers and {@code
 * compare} show beside the figures of the job.
 *
 * <p>Each name is published at most once in {@value #INTERVAL_MILLIS} ms. Of the values in between
 * the one of the newest version counts; values of the same version, such as those of a server's
 * partitions, are averaged. Every event has the number of all values so far. {@link #report}
 * returns at once; any thread may use it.
 */
public final class Scalars {

  /** Largest number of names of one source. */
  public static final int NAMES = 32;

  /** Shortest time between two events of one name, in milliseconds. */
  public static final long INTERVAL_MILLIS = 250;

  private static final Logger LOG = LoggerFactory.getLogger(Scalars.class);
  private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_.-]{0,63}");
  private static final Pattern SOURCE = Pattern.compile("[A-Za-z][A-Za-z0-9_. -]{0,63}");

  private final String source;
  private final Consumer<TrainingEvent> events;
  private final Consumer<Runnable> timer;
  private final Map<String, Series> series = new LinkedHashMap<>();
  private final Map<Integer, Scalars> workers = new ConcurrentHashMap<>();
  private boolean timed;
  private boolean refused;

  /** The values of one name since the last event. */
  private static final class Series {

    private long version;
    private double sum;
    private int count;
    private long reports;
    private long notFinite;

    void add(long newVersion, double value) {
      reports++;
      notFinite += Double.isFinite(value) ? 0 : 1;
      if (count == 0 || newVersion > version) {
        version = newVersion;
        sum = value;
        count = 1;
      } else if (newVersion == version) {
        sum += value;
        count++;
      }
    }
  }

  /**
   * Creates the scalars of one source.
   *
   * @param events receives the events; must not block
   * @param timer runs an action after the interval, on any thread
   */
  Scalars(String source, Consumer<TrainingEvent> events, Consumer<Runnable> timer) {
    if (!SOURCE.matcher(source).matches()) {
      throw new IllegalArgumentException(
          ("source of scalars \"%s\": expected a letter and up to 63 more letters, digits, spaces,"
                  + " \"_\", \".\" or \"-\"")
              .formatted(source));
    }
    this.source = source;
    this.events = events;
    this.timer = timer;
  }

  /**
   * Returns the scalars of one source in a job. Keep the object: it limits how often its names are
   * published.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's name
   * @param source who reports, as the page shows it: a letter and up to 63 more letters, digits,
   *     spaces, {@code _}, {@code .} or {@code -}; members are {@code worker 0} and {@code server
   *     0}
   * @return the scalars
   */
  public static Scalars of(Vertx vertx, String job, String source) {
    EventPublisher publisher = new EventPublisher(vertx, new Addresses(job));
    return new Scalars(
        source,
        publisher::publish,
        action ->
            vertx.timer(INTERVAL_MILLIS, TimeUnit.MILLISECONDS).onSuccess(due -> action.run()));
  }

  /**
   * Returns the scalars that this source reports of a worker.
   *
   * @param rank the worker, which is their source
   * @return the same object for the same worker
   */
  public Scalars ofWorker(int rank) {
    return workers.computeIfAbsent(rank, key -> new Scalars("worker " + key, events, timer));
  }

  /**
   * Reports a value. A value that is not finite is published, and drawn as a gap.
   *
   * @param name a letter and up to 63 more letters, digits, {@code _}, {@code .} or {@code -};
   *     names beyond the first {@value #NAMES} are left out, which the log says once
   * @param version version of the parameters that the value belongs to
   * @param value the value
   * @throws IllegalArgumentException when the name has another form
   */
  public void report(String name, long version, double value) {
    synchronized (this) {
      Series known = series.get(name);
      if (known == null) {
        known = admitted(name);
      }
      if (known == null) {
        return;
      }
      known.add(version, value);
      if (timed) {
        return;
      }
      timed = true;
    }
    unlessClosed(() -> timer.accept(this::endInterval));
  }

  private Series admitted(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          ("%s: scalar \"%s\": expected a letter and up to 63 more letters, digits, \"_\", \".\" or"
                  + " \"-\"")
              .formatted(source, name));
    }
    if (series.size() < NAMES) {
      Series created = new Series();
      series.put(name, created);
      return created;
    }
    if (!refused) {
      refused = true;
      LOG.warn(
          "{}: scalar {} and further ones are left out: {} names are published, first come",
          source,
          name,
          NAMES);
    }
    return null;
  }

  /** Does nothing once this Vert.x is closed, and with it everybody who would receive an event. */
  private void unlessClosed(Runnable action) {
    try {
      action.run();
    } catch (RejectedExecutionException closed) {
      LOG.debug("{}: scalars are no longer published, {}", source, closed.getMessage());
    }
  }

  private void endInterval() {
    synchronized (this) {
      timed = false;
    }
    flush();
  }

  /**
   * Publishes what was reported since the last event, without waiting for the end of the interval.
   * Call it before the job ends or this Vert.x is closed.
   */
  public void flush() {
    workers.values().forEach(Scalars::flush);
    List<ScalarReported> due = new ArrayList<>();
    synchronized (this) {
      long now = System.currentTimeMillis();
      series.forEach(
          (name, values) -> {
            if (values.count > 0) {
              double mean = values.sum / values.count;
              due.add(
                  new ScalarReported(
                      now, source, name, values.version, mean, values.reports, values.notFinite));
              values.count = 0;
            }
          });
    }
    unlessClosed(() -> due.forEach(events));
  }
}
