package io.vertigrad.testkit;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Runs events in the order of a fake clock. Drops, repeats and delays frames at random with a seed.
 */
final class SimulatedNetwork {

  private final FakeClock clock;
  private final NetworkConditions conditions;
  private final Random random;
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::millis).thenComparing(Event::order));
  private long order;

  private record Event(long millis, long order, Runnable action) {}

  SimulatedNetwork(FakeClock clock, NetworkConditions conditions, long seed) {
    this.clock = clock;
    this.conditions = conditions;
    this.random = new Random(seed);
  }

  /** Delivers a frame never, once or twice, after a delay. */
  void send(Runnable delivery) {
    if (random.nextDouble() >= conditions.drop()) {
      after(random.nextInt(conditions.delayMillis()), delivery);
    }
    if (random.nextDouble() < conditions.duplicate()) {
      after(random.nextInt(conditions.delayMillis()), delivery);
    }
  }

  void after(long millis, Runnable action) {
    events.add(new Event(clock.millis() + millis, order++, action));
  }

  int random(int bound) {
    return random.nextInt(bound);
  }

  /** Runs until a condition is true; fails if that takes too long. */
  void runUntil(BooleanSupplier done, long limitMillis, Supplier<String> state) {
    while (!done.getAsBoolean()) {
      Event next = events.remove();
      clock.advanceMillis(next.millis() - clock.millis());
      if (clock.millis() > limitMillis) {
        throw new AssertionError("not done after " + limitMillis + " simulated ms: " + state.get());
      }
      next.action().run();
    }
  }
}
