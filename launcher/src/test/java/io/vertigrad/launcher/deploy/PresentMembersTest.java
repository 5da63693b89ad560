package io.vertigrad.launcher.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.vertigrad.job.Role;
import io.vertigrad.run.RunView.Condition;
import io.vertigrad.run.RunView.Member;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PresentMembersTest {

  private static final long AN_HOUR = TimeUnit.HOURS.toMillis(1);

  @Test
  void shouldWaitUntilEveryNodeHasAMember() {
    Iterator<PresentMembers> joining = List.of(present(0), present(1), present(2)).iterator();

    PresentMembers found = PresentMembers.await(joining::next, () -> 2, AN_HOUR);

    assertEquals(present(2), found);
  }

  @Test
  void shouldNotWaitForANodeThatLeaves() {
    Iterator<Integer> nodes = List.of(3, 3, 2).iterator();

    PresentMembers found =
        assertTimeoutPreemptively(
            Duration.ofSeconds(20),
            () -> PresentMembers.await(() -> present(2), nodes::next, AN_HOUR));

    assertEquals(present(2), found);
  }

  @Test
  void shouldReturnArrivedResultsWhenTheLimitPasses() {
    assertEquals(present(1), PresentMembers.await(() -> present(1), () -> 2, 1));
  }

  private static PresentMembers present(int workers) {
    return new PresentMembers(
        IntStream.range(0, workers)
            .mapToObj(
                rank -> new Member(Role.WORKER, rank, 0, "127.0.0.1 pid " + rank, Condition.UP, ""))
            .toList());
  }
}
