package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.streams.Event;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.EventSource.Reading;
import io.vertigrad.streams.internal.BusSource.BusConfig;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Reads events that are sent to an address. Each is answered when it was applied. What a worker
 * cannot hold is refused at once, with {@link #FULL}, so memory does not grow with the senders.
 *
 * <p>Event loops add events, one thread reads them.
 */
final class BusReader implements EventReader {

  /** The worker holds as many events as it may; the sender sends again later. */
  static final int FULL = 503;

  /** The event is not what the schema says; sending it again is of no use. */
  static final int REFUSED = 400;

  private static final long FORWARD_MILLIS = TimeUnit.MINUTES.toMillis(10);

  private final BusConfig config;
  private final Reading reading;
  private final EventBus bus;
  private final LineFormat format;
  private final List<String> fields;
  private final Optional<LabelJoin> join;
  private final List<MessageConsumer<Object>> consumers = new ArrayList<>();
  private final Deque<Arrived> arrived = new ArrayDeque<>();
  private final Deque<List<Message<Object>>> unanswered = new ArrayDeque<>();
  private List<Message<Object>> polled = List.of();
  private List<Message<Object>> lastMessages = List.of();
  private List<Event.Original> strays = new ArrayList<>();
  private long count;
  private boolean closed;

  private record Arrived(Event event, Message<Object> message, long nanos) {}

  BusReader(BusConfig config, Reading reading) {
    this.config = config;
    this.reading = reading;
    this.bus = reading.vertx().eventBus();
    this.fields = new ArrayList<>(reading.fields());
    config.labels().ifPresent(labels -> fields.add(labels.key().orElseThrow()));
    this.format = LineFormat.json(fields);
    this.join = config.labels().map(labels -> new LabelJoin(labels));
    if (config.labels().isEmpty()) {
      consume(config.address(), message -> add(values(message), message));
    } else {
      String labels = config.labels().get().place();
      routed(config.address(), this::hold);
      routed(labels, this::label);
    }
  }

  private interface Handling {
    void of(Object[] values, Message<Object> message);
  }

  private interface Receiving {
    void of(Message<Object> message);
  }

  private void consume(String address, Receiving receiving) {
    MessageConsumer<Object> consumer = bus.consumer(address);
    consumer.handler(
        message -> {
          try {
            receiving.of(message);
          } catch (DataException wrong) {
            addUnreadable(message, wrong.getMessage());
          }
        });
    consumers.add(consumer);
  }

  /** Consumes an address so that events and labels of one key reach the same worker. */
  private void routed(String address, Handling handling) {
    consume(ofRank(address, reading.rank()), message -> handling.of(values(message), message));
    consume(
        address,
        message -> {
          Object[] values = values(message);
          int rank = Math.floorMod(key(values).hashCode(), reading.ranks());
          if (rank == reading.rank()) {
            handling.of(values, message);
          } else {
            bus.request(
                    ofRank(address, rank),
                    message.body(),
                    new DeliveryOptions().setSendTimeout(FORWARD_MILLIS))
                .onSuccess(reply -> message.reply(reply.body()))
                .onFailure(
                    why ->
                        message.fail(
                            why instanceof ReplyException refused && refused.failureCode() > 0
                                ? refused.failureCode()
                                : FULL,
                            why.getMessage()));
          }
        });
  }

  private static String ofRank(String address, int rank) {
    return address + "." + rank;
  }

  private String key(Object[] values) {
    Object key = values[fields.size() - 1];
    if (key == null) {
      throw new DataException(
          "field \"%s\" is missing, expected the key that event and label share"
              .formatted(fields.get(fields.size() - 1)));
    }
    return String.valueOf(key);
  }

  private Object[] values(Message<Object> message) {
    byte[] bytes = bytes(message);
    return format.read(bytes, 0, bytes.length);
  }

  private static byte[] bytes(Message<Object> message) {
    Object body = message.body();
    return body instanceof JsonObject json
        ? json.toBuffer().getBytes()
        : body instanceof Buffer buffer
            ? buffer.getBytes()
            : String.valueOf(body).getBytes(StandardCharsets.UTF_8);
  }

  private synchronized void add(Object[] values, Message<Object> message) {
    add(new Event(0, ++count, true, values), message);
  }

  private synchronized void addUnreadable(Message<Object> message, String why) {
    add(Event.unreadable(0, ++count, true, why), message);
  }

  private void add(Event event, Message<Object> message) {
    if (closed || arrived.size() >= config.most()) {
      message.fail(FULL, full());
      return;
    }
    arrived.add(new Arrived(event, message, System.nanoTime()));
    notifyAll();
  }

  private String full() {
    return closed
        ? "%s has left: send the event again".formatted(reading.owner())
        : "%s holds %s events already: send the event again later"
            .formatted(reading.owner(), config.most());
  }

  /** Keeps an event until its label comes; the reply says that it is kept. */
  private synchronized void hold(Object[] values, Message<Object> message) {
    String key = key(values);
    Object[] features = Arrays.copyOf(values, reading.fields().size());
    join.orElseThrow()
        .add(key, new LabelJoin.Waiting(++count, System.currentTimeMillis(), features, message));
    message.reply(new JsonObject().put("kept", true));
  }

  private synchronized void label(Object[] values, Message<Object> message) {
    if (closed || arrived.size() >= config.most()) {
      message.fail(FULL, full());
      return;
    }
    Object label = values[reading.fields().size() - 1];
    Optional<LabelJoin.Waiting> event =
        join.orElseThrow().label(key(values), System.currentTimeMillis(), label);
    if (event.isEmpty()) {
      if (strays.size() < config.most()) {
        strays.add(original("%s: a label".formatted(message.address()), message));
      }
      message.fail(
          REFUSED, "no event with the key \"%s\" waits for a label".formatted(key(values)));
      return;
    }
    add(new Event(0, event.get().index(), true, event.get().values()), message);
  }

  @Override
  public synchronized Optional<List<Event>> poll(long millis) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (!isDue()) {
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        return Optional.empty();
      }
      try {
        TimeUnit.NANOSECONDS.timedWait(this, Math.max(1_000_000, Math.min(left, 5_000_000)));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return Optional.empty();
      }
    }
    List<Event> events = new ArrayList<>();
    polled = new ArrayList<>();
    while (events.size() < reading.batch() && !arrived.isEmpty()) {
      Arrived next = arrived.remove();
      events.add(next.event());
      polled.add(next.message());
    }
    lastMessages = List.copyOf(polled);
    unanswered.add(polled);
    return Optional.of(events);
  }

  private boolean isDue() {
    return arrived.size() >= reading.batch()
        || !arrived.isEmpty()
            && System.nanoTime() - arrived.peek().nanos()
                >= TimeUnit.MILLISECONDS.toNanos(config.waitMillis());
  }

  @Override
  public synchronized Event.Original original(int index, Event event) {
    return original(place(event), lastMessages.get(index));
  }

  private static Event.Original original(String place, Message<Object> message) {
    return new Event.Original(place, "", new byte[0], bytes(message));
  }

  @Override
  public synchronized long unmatched() {
    return join.map(LabelJoin::unmatched).orElse(0L);
  }

  @Override
  public synchronized List<Event.Original> strays() {
    List<Event.Original> since = strays;
    strays = new ArrayList<>();
    return since;
  }

  @Override
  public synchronized boolean refuse(int index, String why) {
    polled.get(index).fail(REFUSED, why);
    polled.set(index, null);
    if (polled.stream().allMatch(message -> message == null)) {
      unanswered.removeLast();
    }
    return true;
  }

  @Override
  public synchronized void acknowledge(boolean applied) {
    for (Message<Object> message : unanswered.remove()) {
      if (message != null && applied) {
        message.reply(new JsonObject().put("applied", true));
      } else if (message != null) {
        message.fail(FULL, "its gradient was left out of the training: send the event again");
      }
    }
  }

  @Override
  public synchronized long unlabelled() {
    return join.map(LabelJoin::unlabelled).orElse(0L);
  }

  @Override
  public Optional<JsonObject> position() {
    return Optional.empty();
  }

  @Override
  public String place(Event event) {
    return "%s: event %s of this worker".formatted(config.address(), event.index());
  }

  @Override
  public String name() {
    return "address " + config.address();
  }

  @Override
  public void close() {
    consumers.forEach(MessageConsumer::unregister);
    synchronized (this) {
      closed = true;
      arrived.forEach(event -> event.message().fail(FULL, full()));
      arrived.clear();
      unanswered.forEach(
          batch ->
              batch.stream()
                  .filter(message -> message != null)
                  .forEach(message -> message.fail(FULL, full())));
      unanswered.clear();
    }
  }
}
