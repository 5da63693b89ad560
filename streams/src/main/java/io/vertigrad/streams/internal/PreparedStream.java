package io.vertigrad.streams.internal;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.ComponentException;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The batches of one rank, which a daemon thread reads and prepares ahead. The thread waits when
 * {@value #AHEAD} batches are ready, so the source is never read faster than workers train.
 */
final class PreparedStream implements StreamBatches {

  private static final Logger LOG = LoggerFactory.getLogger(PreparedStream.class);
  private static final int AHEAD = 3;

  /** Steps between two complete states in the journal. */
  private static final int STATE_STEPS = 1024;

  /** Events after a bad one that are looked at before the training ends. */
  private static final int LOOKED_AHEAD = 1_000;

  /** Steps after which a journal that could not be written is tried again. */
  private static final int RETRY_STEPS = 32;

  private static final long POLL_MILLIS = 50;
  private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long CLOSE_MILLIS = 2_000;

  private final Request request;
  private final EventSchema schema;
  private final BadEvents badEvents;
  private final String source;
  private final List<String> warnings = new ArrayList<>();
  private final float[] scratch;
  private final Optional<PositionJournal> journal;
  private final TestCounters counters;
  private final LabelHistory history;
  private final EventReader reader;

  /** Whether the source can be read again from a position. */
  private final boolean replayed;

  private final Thread thread;
  private final Deque<Prepared> ready = new ArrayDeque<>();
  private RuntimeException failure;
  private boolean closed;
  private Deque<Boolean> answers = new ArrayDeque<>();
  private volatile long unlabelled;
  private volatile long unmatched;
  private long lost;

  /** Events that were trained on and were not found again, and the steps that had them. */
  private long gone;

  private long stepsGone;

  /** True if events were lost since the last state, which holds their number. */
  private boolean losses;

  private long step;
  private Prepared current;

  /**
   * A batch, and the state before it if the journal needs it.
   *
   * @param labels class or value of each event
   * @param previous the label before each event
   * @param bad number of events that were left out
   * @param cursor where the batch ended
   */
  private record Prepared(
      Batch batch,
      float[] labels,
      float[] previous,
      int bad,
      long[] cursor,
      Optional<JsonObject> state) {}

  /**
   * Opens the batches; reads again what the journal has recorded since its newest state.
   *
   * @param badEvents what becomes of events that cannot be trained on; this closes it
   * @param window number of the last events of this rank that the sliding window holds
   * @param source what the source is called in the message of its failure
   * @param opener opens the source at a position
   */
  PreparedStream(
      Request request,
      EventSchema schema,
      BadEvents badEvents,
      int window,
      String source,
      Function<Optional<JsonObject>, EventReader> opener) {
    this.request = request;
    this.schema = schema;
    this.badEvents = badEvents;
    this.source = source;
    this.scratch = new float[schema.width()];
    this.journal = request.folder().map(folder -> new PositionJournal(folder, request.rank()));
    this.counters = new TestCounters(schema.classes().size(), window);
    this.history = new LabelHistory(Math.max(1, schema.lags()));
    this.step = request.firstStep();
    EventReader opened = null;
    try {
      Optional<Found> found = journal.flatMap(kept -> kept.find(step));
      opened =
          opener.apply(
              found.flatMap(at -> Optional.ofNullable(at.state().getJsonObject("position"))));
      this.reader = opened;
      this.replayed = reader.position().isPresent();
      catchUp(found);
      journal.ifPresent(
          kept -> {
            kept.deleteFrom(step);
            kept.begin(step, state().put("tests", counters.toJson()));
          });
    } catch (RuntimeException | Error e) {
      close(opened);
      throw failure(e, step);
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
    for (Step recorded : found.map(Found::steps).orElse(List.of())) {
      count(recorded, counters);
      if (recorded.cursor().isPresent()) {
        if (replayed) {
          passOver(at, recorded);
        } else {
          remember(0, recorded);
        }
      }
      at++;
    }
    if (gone > 0) {
      warn(
          "%s: %s events of %s steps, which were trained on, are no longer there"
              .formatted(reader.name(), gone, stepsGone));
    }
    if (found.isPresent() && at < step) {
      warn(
          "%s: the positions of steps %s to %s were not written; their events are %s, and counted in no test"
              .formatted(
                  reader.name(),
                  at,
                  step - 1,
                  replayed ? "read again to find where they end" : "not known"));
    }
    for (; replayed && at < step; at++) {
      readAgain(at);
    }
    takeOver();
    counters.setUnlabelled(unlabelled, unmatched);
  }

  /** Returns the tests of the steps before the first one of a request, as far as recorded. */
  static Optional<StreamTests> recorded(Request request, EventSchema schema, int window) {
    Optional<PositionJournal> journal =
        request.folder().map(folder -> new PositionJournal(folder, request.rank()));
    return journal
        .flatMap(kept -> kept.find(request.firstStep()))
        .map(
            found -> {
              TestCounters counters = new TestCounters(schema.classes().size(), window);
              counters.restore(found.state().getJsonObject("tests"));
              found.steps().forEach(step -> count(step, counters));
              return counters.tests();
            });
  }

  private static void count(Step recorded, TestCounters counters) {
    for (int i = 0; i < recorded.labels().length; i++) {
      counters.count(recorded.labels()[i], recorded.predictions()[i], recorded.previous()[i]);
    }
    counters.addBad(recorded.bad());
  }

  private void remember(int lane, Step recorded) {
    for (float label : recorded.labels()) {
      history.add(lane, label);
    }
  }

  /** Passes over the events of a step that is in the journal. */
  private void passOver(long at, Step recorded) {
    long[] cursor = recorded.cursor().orElseThrow();
    OptionalInt lane = reader.skipTo(cursor);
    if (lane.isPresent()) {
      remember(lane.getAsInt(), recorded);
      return;
    }
    int events = readAgain(at);
    // Positions of earlier versions of this program have no hash.
    long[] now = Arrays.copyOf(reader.cursor(), Math.min(cursor.length, reader.cursor().length));
    if (!Arrays.equals(now, cursor)) {
      throw new DataException(
          "%s: step %s of %s was trained on other events: %s; expected the source that the run began with: start a new run with train"
              .formatted(
                  reader.name(),
                  at,
                  request.owner(),
                  now[0] == cursor[0]
                      ? "they end at %s as before, but differ".formatted(now[0])
                      : "they ended at %s, and end at %s now"
                          .formatted(Arrays.toString(cursor), Arrays.toString(now))));
    }
    if (events < recorded.labels().length) {
      gone += recorded.labels().length - events;
      stepsGone++;
    }
  }

  /** Reads the events of an earlier step again; returns how many can be trained on. */
  private int readAgain(long at) {
    long deadline = System.nanoTime() + AGAIN_NANOS;
    Optional<List<Event>> events = reader.poll(POLL_MILLIS);
    while (events.isEmpty()) {
      if (Thread.currentThread().isInterrupted()) {
        throw new DataException(request.owner() + ": interrupted while it read earlier events");
      }
      if (System.nanoTime() > deadline) {
        throw new DataException(
            "%s: the events of step %s, which were read before, did not come within %s s from %s on; expected the source that the run began with"
                .formatted(
                    reader.name(),
                    at,
                    TimeUnit.NANOSECONDS.toSeconds(AGAIN_NANOS),
                    reader.position().map(JsonObject::encode).orElse("its beginning")));
      }
      events = reader.poll(POLL_MILLIS);
    }
    reader.strays();
    return prepared(events.get(), Optional.empty(), true)
        .map(prepared -> prepared.labels().length)
        .orElse(0);
  }

  private JsonObject state() {
    JsonObject state = new JsonObject().put("labels", history.toJson());
    reader.position().ifPresent(position -> state.put("position", position));
    return state;
  }

  private RuntimeException failure(Throwable thrown, long number) {
    return ComponentException.of(source, "step " + number, thrown);
  }

  private void close(EventReader opened) {
    try {
      if (opened != null) {
        opened.close();
      }
    } catch (RuntimeException | Error thrown) {
      LOG.warn("{}: {} was not closed", request.owner(), source, thrown);
    }
    badEvents.close();
  }

  private void run() {
    long number = step;
    try {
      while (!isClosed()) {
        Optional<JsonObject> state =
            needsState(number) && number > request.firstStep()
                ? Optional.of(state())
                : Optional.empty();
        Optional<List<Event>> events = Optional.empty();
        while (events.isEmpty() && !isClosed()) {
          acknowledge();
          events = reader.poll(POLL_MILLIS);
          badEvents.unmatched(reader.strays());
          takeOver();
        }
        if (events.isEmpty()) {
          return;
        }
        Optional<Prepared> next = prepared(events.get(), state, false);
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
    } catch (RuntimeException | Error e) {
      // The worker waits for batches: no error may end this thread without a word.
      fail(failure(e, number));
    } finally {
      close(reader);
    }
  }

  private boolean needsState(long number) {
    boolean found = losses;
    losses = false;
    return journal.isPresent()
        && (found
            || number % STATE_STEPS == 0
            || journal.get().isBroken() && number % RETRY_STEPS == 0);
  }

  /** Takes over what the reader has found, on the thread that reads. */
  private void takeOver() {
    reader.warnings().forEach(this::warn);
    unlabelled = reader.unlabelled();
    unmatched = reader.unmatched();
    long all = reader.lost();
    counters.addLost(all - lost);
    losses |= all > lost;
    lost = all;
  }

  private synchronized void warn(String message) {
    warnings.add(message);
  }

  private long rounds() {
    return new StreamRounds(request.length().orElseThrow(), request.ranks(), request.batch())
        .rounds();
  }

  /**
   * Makes a batch of events; those that cannot be trained on are left out.
   *
   * @param again true if the events were trained on before
   * @return without events if all were left out; empty if all were left out of a source that cannot
   *     be read again, so that nothing follows from the number of its steps
   */
  private Optional<Prepared> prepared(
      List<Event> events, Optional<JsonObject> state, boolean again) {
    int most = (int) events.stream().filter(Event::trained).count();
    int width = schema.width();
    float[] features = new float[most * width];
    float[] labels = new float[most];
    float[] previous = new float[most];
    int count = 0;
    int bad = 0;
    for (int i = 0; i < events.size(); i++) {
      Event event = events.get(i);
      boolean trained = event.trained();
      try {
        event
            .problem()
            .ifPresent(
                why -> {
                  throw new DataException(why);
                });
        float label = schema.label(event.values()[event.values().length - 1]);
        float[] earlier = history.of(event.lane());
        schema.write(
            event.values(), earlier, trained ? features : scratch, trained ? count * width : 0);
        if (trained) {
          labels[count] = label;
          previous[count] = earlier[0];
          count++;
        }
        history.add(event.lane(), label);
      } catch (DataException e) {
        bad += trained ? 1 : 0;
        leaveOut(i, event, e.getMessage(), again || !trained);
        if (trained) {
          Arrays.fill(features, count * width, (count + 1) * width, 0);
        }
      }
    }
    if (badEvents.refuses() && !again) {
      throw badEvents.refusal(events.size() + lookAhead());
    }
    if (!replayed) {
      counters.addBad(bad);
      bad = 0;
    }
    if (count == 0 && !replayed) {
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
    return Optional.of(new Prepared(batch, labels, previous, bad, reader.cursor(), state));
  }

  /**
   * Looks for further bad events in what follows, as far as it is there, so that one error names
   * them all.
   *
   * @return number of events that were looked at
   */
  private int lookAhead() {
    int looked = 0;
    try {
      while (looked < LOOKED_AHEAD) {
        List<Event> events = reader.poll(0).orElse(List.of());
        if (events.stream().noneMatch(Event::trained)) {
          break;
        }
        for (int i = 0; i < events.size(); i++) {
          if (events.get(i).trained()) {
            looked++;
            look(i, events.get(i));
          }
        }
      }
    } catch (DataException end) {
      LOG.debug("{}: no further", reader.name(), end);
    }
    return looked;
  }

  private void look(int index, Event event) {
    try {
      event
          .problem()
          .ifPresent(
              why -> {
                throw new DataException(why);
              });
      schema.label(event.values()[event.values().length - 1]);
      schema.write(event.values(), new float[0], new float[schema.width()], 0);
    } catch (DataException e) {
      badEvents.leaveOut(reader.original(index, event), e.getMessage(), false, false);
    }
  }

  private void leaveOut(int index, Event event, String why, boolean again) {
    boolean reported = !again && reader.refuse(index, why);
    badEvents.leaveOut(reader.original(index, event), why, reported, again);
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
    journal.ifPresent(kept -> kept.append(Step.EMPTY));
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
    counters.setUnlabelled(unlabelled, unmatched);
    counters.addBad(current.bad());
    journal.ifPresent(
        kept ->
            kept.append(
                new Step(
                    current.labels(),
                    predictions,
                    current.previous(),
                    current.bad(),
                    Optional.of(current.cursor()))));
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

  /** Returns the messages since the last call; used by the thread that trains. */
  @Override
  public List<String> warnings() {
    List<String> all = new ArrayList<>();
    synchronized (this) {
      all.addAll(warnings);
      warnings.clear();
    }
    all.addAll(badEvents.takeWarnings());
    journal.ifPresent(kept -> all.addAll(kept.takeWarnings()));
    all.forEach(message -> LOG.warn("{}: {}", request.owner(), message));
    return all;
  }

  @Override
  public String source() {
    try {
      return reader.awaited();
    } catch (RuntimeException | Error e) {
      throw failure(e, step);
    }
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
