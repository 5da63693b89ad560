package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.internal.membership.Decision.Adopt;
import io.vertigrad.internal.membership.Decision.Publish;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Rule;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.json.JsonObject;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests what a coordinator does, and how often, with many members. */
final class CoordinatorStateScaleTest {

  private static final int MANY = 200;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @Test
  void shouldPublishOneMembershipForAllChangesOfATick() {
    CoordinatorStateFixture fixture = started(MANY);
    fixture.advance(100);
    int before = fixture.all(Publish.class).size();

    for (int rank = 0; rank < 100; rank++) {
      leave(fixture, rank);
    }
    assertEquals(before + 1, fixture.all(Publish.class).size(), "the first change is published");
    assertEquals(MANY - 1, fixture.published().workers().size());
    fixture.advance(100);
    fixture.acceptAll();

    assertEquals(before + 2, fixture.all(Publish.class).size());
    assertEquals(MANY - 100, fixture.published().workers().size());
  }

  @Test
  void shouldPublishEveryChangeAtOnceWithFewWorkers() {
    CoordinatorStateFixture fixture = started(64);
    int before = fixture.all(Publish.class).size();

    for (int rank = 0; rank < 10; rank++) {
      leave(fixture, rank);
    }

    assertEquals(before + 10, fixture.all(Publish.class).size());
  }

  @Test
  void shouldSpreadEmptyRanksOverTheProcessesThatAreLeft() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 6, true));
    fixture.join(Role.SERVER);
    List<Admission> workers =
        IntStream.range(0, 6).mapToObj(rank -> fixture.joinAt("process " + rank)).toList();
    fixture.acceptAll();

    workers.subList(3, 6).forEach(fixture::silence);
    fixture.advance(20_000);

    List<Admission> asked = fixture.all(Adopt.class).stream().limit(3).map(Adopt::carrier).toList();
    assertEquals(workers.subList(0, 3), asked);
  }

  @Test
  void shouldNameSixteenOfManyMissingMembersAndCountTheOthers() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, MANY, true));
    fixture.join(Role.WORKER);
    fixture.advance(61_000);

    assertEquals(
        "the job did not start within 60 s: missing server 0, "
            + workers(1, 17)
            + " and 183 more; present: worker 0 at nowhere; start the missing ones, or raise"
            + " workers.waitSeconds, which counts from the last sign of a starting member",
        fixture.failure());
  }

  @Test
  void shouldNameSixteenOfManyWorkersThatHoldUpTraining() {
    CoordinatorStateFixture fixture = started(MANY);
    StragglerReport wait = StragglerReport.of(0, 1, IntStream.range(1, MANY).boxed().toList());
    fixture.setStatus(
        new Admission(Role.SERVER, 0, 0),
        ControlCodec.status(new JsonObject().put("version", 1).put("waiting", wait.toJson())));
    fixture.setStatus(worker(0), CoordinatorStateFixture.worker(1, false));

    fixture.advance(15_200);

    StallFound stall = fixture.events(StallFound.class).get(0);
    assertEquals(workers(1, 17) + " and 183 more", stall.missing());
    assertEquals(
        "shard 0, partition 0 waits for step 1 of " + workers(1, 17) + " and 183 more",
        stall.waits());
    assertTrue(stall.lastHeard().length() < 2_000, stall.lastHeard());
  }

  @Test
  void shouldNameSixteenOfManyWorkersThatHaveNotReportedTheirState() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(0, MANY, true));
    for (int rank = 0; rank < MANY; rank++) {
      fixture.join(Role.WORKER);
    }
    Candidates own =
        new Candidates(
            worker(MANY - 1),
            1,
            Rule.COMMON_STATE,
            Optional.empty(),
            List.of(),
            List.of(),
            false,
            true);

    assertTrue(fixture.coordinator.choice(own).isEmpty());

    assertEquals(
        "at membership epoch 1 waits for " + workers(0, 16) + " and 183 more",
        fixture.coordinator.noChoiceReason());
  }

  @Test
  void shouldNotCopyTheMembersForEachJoin() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 4_000, true));
    long few = bytesOfAJoin(fixture, 400);
    long many = bytesOfAJoin(fixture, 3_000);

    assertTrue(many < 2 * few, "bytes of a join: %d, later %d".formatted(few, many));
  }

  private static long bytesOfAJoin(CoordinatorStateFixture fixture, int joins) {
    for (int i = 0; i < joins; i++) {
      fixture.join(Role.WORKER);
    }
    long before = THREADS.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 100; i++) {
      fixture.join(Role.WORKER);
    }
    return (THREADS.getCurrentThreadAllocatedBytes() - before) / 100;
  }

  private static CoordinatorStateFixture started(int workers) {
    return new CoordinatorStateFixture(CoordinatorStateFixture.config(1, workers, true))
        .started(1, workers);
  }

  private static void leave(CoordinatorStateFixture fixture, int rank) {
    fixture.coordinator.leave(worker(rank), LeaveReason.STOPPED, MemberStatus.NONE);
    fixture.acceptAll();
  }

  private static Admission worker(int rank) {
    return new Admission(Role.WORKER, rank, 0);
  }

  private static String workers(int first, int end) {
    List<String> names = new ArrayList<>();
    IntStream.range(first, end).forEach(rank -> names.add("worker " + rank));
    return String.join(", ", names);
  }
}
