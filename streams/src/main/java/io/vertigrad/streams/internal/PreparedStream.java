package io.vertigrad.streams.internal;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.StreamBatches;
import io.vertigrad.compute.data.StreamDataset.Request;
import io.vertigrad.compute.data.StreamRounds;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.streams.Event;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.internal.PositionJournal.Found;
import io.vertigrad.streams.internal.PositionJournal.Step;
import io.vertx.core.json.JsonObject;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The batches of one rank, which a daemon thread reads and prepares ahead. The thread waits when
 * {@value #AHEAD} batches are ready, so the source is never read faster than workers train.
 */
final class PreparedStream implements StreamBatches {

  private static final int AHEAD = 3;

  /** Steps between two complete states in the journal. */
  private static final int STATE_STEPS = 1024;

  private static final long POLL_MILLIS = 50;
  private static final long CLOSE_MILLIS = 2_000;

  private final Request request;
  private final EventSchema schema;
  private final Optional<PositionJournal> journal;
  private final TestCounters counters;
  private final LabelHistory history;
  private final EventReader reader;
  private final Thread thread;
  private final Deque<Prepared> ready = new ArrayDeque<>();
  private RuntimeException failure;
  private boolean closed;
  private Deque<Boolean> answers = new ArrayDeque<>();
  private volatile long unlabelled;
  private long step;
  private Prepared current;

  /**
   * A batch, and the state before it if the journal needs it.
   *
   * @param labels class or value of each event
   * @param previous the label before each event
   */
  private record Prepared(
      Batch batch, float[] labels, float[] previous, Optional<JsonObject> state) {}

  /**
   * Opens the batches; reads again what the journal has recorded since its newest state.
   *
   * @param window number of the last events of this rank that the sliding window holds
   * @param opener opens the source at a position
   */
  PreparedStream(
      Request request,
      EventSchema schema,
      int window,
      Function<Optional<JsonObject>, EventReader> opener) {
    this.request = request;
    this.schema = schema;
    this.journal = request.folder().map(folder -> new PositionJournal(folder, request.rank()));
    this.counters = new TestCounters(schema.classes().size(), window);
    this.history = new LabelHistory(Math.max(1, schema.lags()));
    this.step = request.firstStep();
    Optional<Found> found = journal.flatMap(kept -> kept.find(step));
    Optional<JsonObject> position =
        found.flatMap(state -> Optional.ofNullable(state.state().getJsonObject("position")));
    this.reader = opener.apply(position);
    try {
      catchUp(found);
      journal.ifPresent(
          kept -> {
            kept.deleteFrom(step);
            kept.begin(step, state().put("tests", counters.toJson()));
          });
    } catch (RuntimeException e) {
      reader.close();
      throw e;
    }
    this.thread = new Thread(this::run, "batches of " + request.owner());
    this.thread.setDaemon(true);
    this.thread.start();
  }

  /** Passes over the events of earlier steps. */
  private void catchUp(Optional<Found> found) {
    found.ifPresent(
        state -> {
          history.restore(state.state().getJsonObject("labels"));
          counters.restore(state.state().getJsonObject("tests"));
        });
    long at = found.map(Found::step).orElse(0L);
    List<Step> steps = found.map(Found::steps).orElse(List.of());
    boolean again = reader.position().isPresent();
    for (Step recorded : steps) {
      for (int i = 0; i < recorded.labels().length; i++) {
        counters.count(recorded.labels()[i], recorded.predictions()[i], recorded.previous()[i]);
      }
      if (recorded.labels().length > 0) {
        passOver(recorded, again);
      }
      at++;
    }
    for (; again && at < step; at++) {
      passOver(null, true);
    }
  }

  private void passOver(Step recorded, boolean again) {
    if (!again) {
      for (float label : recorded.labels()) {
        history.add(0, label);
      }
      return;
    }
    Optional<List<Event>> events = reader.poll(POLL_MILLIS);
    while (events.isEmpty()) {
      if (Thread.currentThread().isInterrupted()) {
        throw new DataException(request.owner() + ": interrupted while it read earlier events");
      }
      events = reader.poll(POLL_MILLIS);
    }
    for (Event event : events.get()) {
      history.add(event.lane(), label(event));
    }
  }

  private JsonObject state() {
    JsonObject state = new JsonObject().put("labels", history.toJson());
    reader.position().ifPresent(position -> state.put("position", position));
    return state;
  }

  private void run() {
    try {
      long number = step;
      while (!isClosed()) {
        Optional<JsonObject> state =
            journal.isPresent() && number % STATE_STEPS == 0 && number > request.firstStep()
                ? Optional.of(state())
                : Optional.empty();
        Optional<List<Event>> events = Optional.empty();
        while (events.isEmpty() && !isClosed()) {
          acknowledge();
          events = reader.poll(POLL_MILLIS);
          unlabelled = reader.unlabelled();
        }
        if (events.isEmpty()) {
          return;
        }
        Optional<Prepared> next = prepared(events.get(), state);
        if (next.isEmpty()) {
          continue;
        }
        if (!put(next.get())) {
          return;
        }
        number++;
        if (request.length().isPresent() && number >= rounds()) {
          awaitClose();
        }
      }
    } catch (InterruptedException e) {
      fail(new DataException(request.owner() + ": the thread that reads events was interrupted"));
    } catch (RuntimeException e) {
      fail(
          e instanceof DataException
              ? e
              : new DataException(
                  "%s: reading %s failed: %s".formatted(request.owner(), reader.name(), e), e));
    } finally {
      reader.close();
    }
  }

  private long rounds() {
    return new StreamRounds(request.length().orElseThrow(), request.ranks(), request.batch())
        .rounds();
  }

  /** Returns empty if the reader has refused all events. */
  private Optional<Prepared> prepared(List<Event> events, Optional<JsonObject> state) {
    int most = (int) events.stream().filter(Event::trained).count();
    int width = schema.width();
    float[] features = new float[most * width];
    float[] labels = new float[most];
    float[] previous = new float[most];
    int count = 0;
    for (int i = 0; i < events.size(); i++) {
      Event event = events.get(i);
      try {
        float label = schema.label(event.values()[event.values().length - 1]);
        float[] earlier = history.of(event.lane());
        if (event.trained()) {
          schema.write(event.values(), earlier, features, count * width);
          labels[count] = label;
          previous[count] = earlier[0];
          count++;
        }
        history.add(event.lane(), label);
      } catch (DataException e) {
        if (!reader.refuse(i, e.getMessage())) {
          throw at(event, e);
        }
        Arrays.fill(features, count * width, Math.min((count + 1) * width, features.length), 0);
      }
    }
    if (count == 0) {
      return Optional.empty();
    }
    if (count < most) {
      features = Arrays.copyOf(features, count * width);
      labels = Arrays.copyOf(labels, count);
      previous = Arrays.copyOf(previous, count);
    }
    int[] classes = new int[schema.values() ? 0 : count];
    for (int i = 0; i < classes.length; i++) {
      classes[i] = (int) labels[i];
    }
    Batch batch =
        new Batch(
            count, features, classes, schema.values() ? labels : new float[0], List.of(width), 0);
    return Optional.of(new Prepared(batch, labels, previous, state));
  }

  private float label(Event event) {
    Object[] values = event.values();
    try {
      return schema.label(values[values.length - 1]);
    } catch (DataException e) {
      throw at(event, e);
    }
  }

  private DataException at(Event event, DataException wrong) {
    return new DataException("%s: %s".formatted(reader.place(event), wrong.getMessage()), wrong);
  }

  @Override
  public synchronized boolean await(long millis) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (ready.isEmpty() && failure == null) {
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        return false;
      }
      try {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new DataException(request.owner() + ": interrupted while it waited for events", e);
      }
    }
    if (ready.isEmpty()) {
      throw failure;
    }
    return true;
  }

  @Override
  public boolean ended() {
    return request.length().isPresent() && step >= rounds();
  }

  @Override
  public Batch take() {
    synchronized (this) {
      current = ready.remove();
      notifyAll();
    }
    if (current.state().isPresent()) {
      journal.orElseThrow().begin(step, current.state().get().put("tests", counters.toJson()));
    }
    return current.batch();
  }

  @Override
  public void skip() {
    float[] none = {};
    journal.ifPresent(kept -> kept.append(none, none, none));
    step++;
  }

  @Override
  public void tested(float[] outputs) {
    int count = current.labels().length;
    int classes = schema.classes().size();
    float[] predictions = new float[count];
    for (int i = 0; i < count; i++) {
      predictions[i] = schema.values() ? outputs[i] : largest(outputs, i * classes, classes);
      counters.count(current.labels()[i], predictions[i], current.previous()[i]);
    }
    counters.setUnlabelled(unlabelled);
    journal.ifPresent(kept -> kept.append(current.labels(), predictions, current.previous()));
    step++;
  }

  private static int largest(float[] values, int from, int count) {
    int best = 0;
    for (int i = 1; i < count; i++) {
      best = values[from + i] > values[from + best] ? i : best;
    }
    return best;
  }

  @Override
  public synchronized void answered(boolean applied) {
    answers.add(applied);
  }

  /** Passes the answers on, on the thread that reads. */
  private void acknowledge() {
    Deque<Boolean> given;
    synchronized (this) {
      if (answers.isEmpty()) {
        return;
      }
      given = answers;
      answers = new ArrayDeque<>();
    }
    given.forEach(reader::acknowledge);
  }

  @Override
  public StreamTests tests() {
    return counters.tests();
  }

  @Override
  public String source() {
    return reader.name();
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      notifyAll();
    }
    try {
      thread.join(CLOSE_MILLIS);
      if (thread.isAlive()) {
        thread.interrupt();
        thread.join(CLOSE_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    journal.ifPresent(PositionJournal::close);
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  /** Adds a batch and waits for room; passes on answers meanwhile. */
  private boolean put(Prepared next) throws InterruptedException {
    while (true) {
      acknowledge();
      synchronized (this) {
        if (closed) {
          return false;
        }
        if (ready.size() < AHEAD) {
          ready.add(next);
          notifyAll();
          return true;
        }
        if (answers.isEmpty()) {
          wait(POLL_MILLIS);
        }
      }
    }
  }

  private void awaitClose() throws InterruptedException {
    while (!isClosed()) {
      acknowledge();
      synchronized (this) {
        if (!closed && answers.isEmpty()) {
          wait(POLL_MILLIS);
        }
      }
    }
    acknowledge();
  }

  private synchronized void fail(RuntimeException cause) {
    failure = cause;
    notifyAll();
  }
}
