package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.FailureDetector.RunningTimeClock;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests two members in processes of their own, and one without a cluster node. */
final class FailureDetectorTest {

  private final MemberRegistry registry = new MemberRegistry(MemberNames.BY_ROLE, 0);
  private final FailureDetector detector =
      new FailureDetector(
          CoordinatorStateFixture.config(1, 3, true),
          registry,
          new CoordinatorEvents(decision -> {}, () -> 0),
          new RunningTimeClock(() -> 0, 1));

  @BeforeEach
  void join() {
    join("a");
    join("b");
    join("");
  }

  @Test
  void shouldReportMembersThatLeftTheClusterAfterHalfASecond() {
    assertEquals(List.of(), ranks(Set.of("a", "b", "c"), 0));
    assertEquals(List.of(), ranks(Set.of("a", "c"), 100));
    assertEquals(List.of(), ranks(Set.of("a", "c"), 500));
    assertEquals(List.of(1), ranks(Set.of("a", "c"), 600));
  }

  @Test
  void shouldKeepAMemberThatReturnsToTheClusterInTime() {
    ranks(Set.of("a", "c"), 0);
    ranks(Set.of("a", "b", "c"), 400);

    assertEquals(List.of(), ranks(Set.of("a", "c"), 600));
  }

  @Test
  void shouldEvictNobodyWhenTheCoordinatorItselfWasCutOff() {
    ranks(Set.of("c"), 0);

    assertEquals(List.of(), ranks(Set.of("c"), 5_000));
    assertEquals(List.of(), ranks(Set.of("a", "c"), 5_100));
    assertEquals(List.of(1), ranks(Set.of("a", "c"), 5_600));
  }

  private List<Integer> ranks(Set<String> present, long now) {
    return detector.departed(present, now).stream().map(MemberRecord::rank).toList();
  }

  private void join(String node) {
    registry.admit(
        new JoinRequest(
            Role.WORKER,
            "token " + registry.count(Role.WORKER),
            "somewhere",
            node,
            new JobTerms(Map.of(), Map.of()),
            FakeMember.LAYOUT,
            false,
            Optional.empty(),
            OptionalLong.empty(),
            MemberStatus.NONE),
        0);
  }
}
