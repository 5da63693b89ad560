package io.vertigrad.examples.stream;

import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.Event;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.EventSource;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * A rotating hyperplane: ten numbers from 0 to 1, and the side of a hyperplane that they lie on. It
 * turns by a right angle every {@code every} events. Event number i follows from the seed and i.
 */
public final class HyperplaneSource implements EventSource {

  private static final int NUMBERS = 10;
  private static final double NOISE = 0.05;

  @Override
  public String kind() {
    return "hyperplane";
  }

  @Override
  public void check(Settings source) {
    HyperplaneConfig.read(source);
  }

  @Override
  public EventReader open(Settings source, Reading reading, Optional<JsonObject> position) {
    long round = position.map(at -> at.getLong("round")).orElse(0L);
    return new HyperplaneReader(HyperplaneConfig.read(source), reading, round);
  }

  /**
   * The settings.
   *
   * @param every events between two turns
   * @param perSecond events of all workers per second
   */
  record HyperplaneConfig(long seed, long every, double perSecond) {

    static HyperplaneConfig read(Settings source) {
      source.string("kind", "hyperplane");
      HyperplaneConfig config =
          new HyperplaneConfig(
              source.longInteger("seed", 1, 0, Long.MAX_VALUE),
              source.longInteger("every", 20_000, 1, Long.MAX_VALUE),
              source.number("perSecond", 2_000, 0.1, 1e9));
      source.refuseUnknown();
      return config;
    }

    /** Returns the values of an event: x0 to x9, then the class. */
    Object[] event(long index) {
      Object[] values = new Object[NUMBERS + 1];
      SplitMix64 random = new SplitMix64(seed, index);
      double side = 0;
      for (int i = 0; i < NUMBERS; i++) {
        double number = random.uniform();
        values[i] = number;
        side += weight(index / every, i) * (number - 0.5);
      }
      boolean noisy = random.uniform() < NOISE;
      values[NUMBERS] = side > 0 != noisy ? "1" : "0";
      return values;
    }

    /** Each pair of weights turns by a right angle. */
    private double weight(long turn, int number) {
      double angle = Math.PI / 2 * turn + Math.PI * new SplitMix64(seed, -1, number / 2).uniform();
      return number % 2 == 0 ? Math.cos(angle) : Math.sin(angle);
    }
  }

  /** Reads the events of one rank. */
  private static final class HyperplaneReader implements EventReader {

    private final HyperplaneConfig config;
    private final Reading reading;
    private final long beganNanos = System.nanoTime();
    private final long firstRound;
    private long round;

    HyperplaneReader(HyperplaneConfig config, Reading reading, long round) {
      this.config = config;
      this.reading = reading;
      this.firstRound = round;
      this.round = round;
    }

    @Override
    public Optional<List<Event>> poll(long millis) {
      double seconds =
          (round - firstRound) * (double) reading.ranks() * reading.batch() / config.perSecond();
      long left = (long) (1e9 * seconds) - (System.nanoTime() - beganNanos);
      if (left > 0) {
        LockSupport.parkNanos(Math.min(left, millis * 1_000_000));
        if (left > millis * 1_000_000) {
          return Optional.empty();
        }
      }
      long first = (round * reading.ranks() + reading.rank()) * reading.batch();
      List<Event> events = new ArrayList<>();
      for (long index = first; index < first + reading.batch(); index++) {
        events.add(new Event(0, index, true, chosen(config.event(index))));
      }
      round++;
      return Optional.of(events);
    }

    /** Returns the fields that the schema asks for: x0 to x9 and class. */
    private Object[] chosen(Object[] all) {
      return reading.fields().stream()
          .map(field -> field.equals("class") ? NUMBERS : Integer.parseInt(field.substring(1)))
          .map(number -> all[number])
          .toArray();
    }

    @Override
    public Optional<JsonObject> position() {
      return Optional.of(new JsonObject().put("round", round));
    }

    @Override
    public String place(Event event) {
      return "hyperplane: event " + event.index();
    }

    @Override
    public String name() {
      return "hyperplane";
    }

    @Override
    public void close() {}
  }
}
