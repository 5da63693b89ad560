package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.ControlCodec;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A worker with a fake coordinator. */
@Timeout(20)
final class WorkerMemberTest {

  private static final ParameterLayout LAYOUT =
      new ParameterLayout(List.of(new Block("dense.W", List.of(3, 2), Block.Kind.TRAINABLE)));
  private static final Admission ADMISSION = new Admission(Role.WORKER, 0, 0);
  private static final Membership WITHOUT_SERVER = membership(1, List.of());
  private static final Membership WITH_SERVER = membership(2, List.of(new Member(0, 1, 0)));

  private final Vertx vertx = Vertx.vertx();
  private final JobConfig job = JobConfig.read("test", new JsonObject().put("job", "member-test"));
  private final List<Membership> memberships = new CopyOnWriteArrayList<>();

  @AfterEach
  void close() throws Exception {
    vertx.close().await(10, TimeUnit.SECONDS);
  }

  /** An old membership delivered late would hide a server until the next membership change. */
  @Test
  void shouldReportEachMembershipOnceWhenTwoFollowEachOther() throws Exception {
    vertx.eventBus().consumer(job.addresses().coordinator(), this::answer);
    WorkerMember member = member();
    member.serve(LAYOUT, memberships::add, loop());

    Member joined = member.join().orElseThrow();
    Awaitility.await().until(() -> memberships.contains(WITH_SERVER));

    assertEquals(new Member(0, 0, 0), joined);
    assertEquals(List.of(WITHOUT_SERVER, WITH_SERVER), memberships);
  }

  private WorkerMember member() throws Exception {
    Promise<WorkerMember> made = Promise.promise();
    vertx.runOnContext(
        go -> made.complete(new WorkerMember(vertx, job, false, () -> {}, Optional.empty())));
    return made.future().await(10, TimeUnit.SECONDS);
  }

  /** Returns a loop that never runs. */
  private static TrainingLoop loop() {
    TrainingLoopFixture fixture = new TrainingLoopFixture();
    return fixture.loop(fixture.plan(1, 0, true), Optional::empty);
  }

  private void answer(Message<JsonObject> request) {
    JsonObject answer = new JsonObject().put("state", "running").put("epoch", 0);
    if (request.body().getString("request").equals("join")) {
      request.reply(answer.put("admitted", ControlCodec.write(ADMISSION)).put("run", "test"));
      return;
    }
    request.reply(answer);
    publish(WITHOUT_SERVER);
    publish(WITH_SERVER);
  }

  private void publish(Membership membership) {
    vertx
        .eventBus()
        .publish(
            job.addresses().control(), new JsonObject().put("membership", membership.toJson()));
  }

  private static Membership membership(int epoch, List<Member> servers) {
    return new Membership(epoch, List.of(new Member(0, 0, 0)), servers);
  }
}
