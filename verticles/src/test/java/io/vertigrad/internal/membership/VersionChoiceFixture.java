package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Chooses versions for the workers of one JVM without a coordinator; each blocks its own thread.
 */
public final class VersionChoiceFixture {

  private static final long LIMIT_SECONDS = 10;

  private final VersionChoice choice = new VersionChoice(() -> 1_000);

  /**
   * Reports the candidates of one of {@code workers} workers, all of one incarnation, and waits for
   * the others.
   */
  public synchronized Choice choose(int workers, Candidates candidates) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    int incarnation = candidates.from().incarnation();
    Membership membership = membership(candidates.epoch(), incarnation, workers);
    Optional<Choice> chosen = choice.report(membership, candidates);
    notifyAll();
    while (chosen.isEmpty()) {
      assertTrue(System.nanoTime() < deadline, () -> "missing: " + choice.missing(membership));
      awaitReport();
      chosen = choice.report(membership, candidates);
    }
    return chosen.get();
  }

  static Membership membership(int epoch, int incarnation, int workers) {
    return new Membership(
        epoch,
        IntStream.range(0, workers).mapToObj(rank -> new Member(rank, incarnation, 0)).toList(),
        List.of());
  }

  private void awaitReport() {
    try {
      wait(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
