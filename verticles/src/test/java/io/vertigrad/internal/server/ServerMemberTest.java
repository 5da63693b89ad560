package io.vertigrad.internal.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.job.JobConfig;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.Context;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests a server that is evicted, or leaves, before its shard takes frames. */
@Timeout(60)
class ServerMemberTest extends PointsJob {

  private final Queue<Handler<Void>> held = new ConcurrentLinkedQueue<>();
  private volatile boolean holds = true;

  @Test
  void shouldAbandonAShardThatOpensAfterItsServerWasEvicted() {
    job.put("steps", 20).getJsonObject("workers").put("count", 1);
    deploy(coordinator);
    JobConfig config = JobConfig.read("test", job);
    JsonObject beside = new JsonObject().put("role", "server").put("rank", 0);
    Context real = vertx.getOrCreateContext();
    await(new StrategyHost(vertx, holding(real), config, beside).register());
    Future<String> server =
        vertx.deployVerticle(
            new ParameterServerVerticle(), new DeploymentOptions().setConfig(job.copy()));
    Awaitility.await().atMost(10, TimeUnit.SECONDS).until(() -> !held.isEmpty());

    coordinator.processEnded(ProcessHandle.current().pid(), "cut off");
    awaitShard(1);
    String late = config.addresses().shard(0, 0);
    holds = false;
    held.forEach(real::runOnContext);
    await(server);

    Awaitility.await().atMost(10, TimeUnit.SECONDS).until(() -> !isListening(late));
    deployEvaluatorAndWorkers(1);
    assertEquals("finished", await(coordinator.result()).getString("state"));
  }

  @Test
  void shouldNotJoinAfterItHasLeft() {
    deploy(coordinator);
    FrameCodecs.register(vertx.eventBus());
    JobConfig config = JobConfig.read("test", job);
    Context context = vertx.getOrCreateContext();
    Promise<Void> joined = Promise.promise();
    CountDownLatch left = new CountDownLatch(1);

    context.runOnContext(
        go -> {
          // Blocking tasks of a context run one after another, so the model is built after this.
          vertx.executeBlocking(() -> left.await(10, TimeUnit.SECONDS));
          ServerMember member = new ServerMember(vertx, context, config, Optional.empty());
          member.join().onComplete(joined);
          member.leave();
          left.countDown();
        });

    Exception refused = assertThrows(Exception.class, () -> await(joined.future()));
    assertTrue(refused.getMessage().contains("this server is stopping"), refused::toString);
  }

  @Test
  void shouldAskForTheShardWhoseCheckpointsAreOnItsMachine(@TempDir Path folder) throws Exception {
    Files.createFile(folder.resolve("shard-1-000001-incarnation-0-version-5.checkpoint"));
    job.put("servers", new JsonObject().put("count", 2))
        .put("checkpoint", new JsonObject().put("directory", folder.toString()));
    deploy(coordinator);

    vertx.deployVerticle(
        new ParameterServerVerticle(), new DeploymentOptions().setConfig(job.copy()));

    Awaitility.await()
        .atMost(20, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof MemberJoined member && member.rank() == 1));
  }

  @Test
  void shouldWriteItsShardWhenItLeavesBetweenTimedCheckpoints(@TempDir Path folder)
      throws Exception {
    job.put("steps", 1_000_000)
        .put("checkpoint", JsonObject.of("directory", folder.toString(), "seconds", 3_600))
        .getJsonObject("workers")
        .put("count", 1);
    deploy(coordinator);
    String server =
        await(
            vertx.deployVerticle(
                new ParameterServerVerticle(), new DeploymentOptions().setConfig(job.copy())));
    deployEvaluatorAndWorkers(1);
    Awaitility.await()
        .atMost(20, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof ServerProgress p && p.version() > 10));

    await(vertx.undeploy(server));

    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(1, files.filter(file -> file.toString().endsWith(".checkpoint")).count());
    }
  }

  private void awaitShard(int incarnation) {
    Awaitility.await()
        .atMost(20, TimeUnit.SECONDS)
        .until(
            () -> happened(e -> e instanceof ServerProgress p && p.incarnation() == incarnation));
  }

  /** Returns a context that holds back what is run on it while {@link #holds}. */
  private Context holding(Context real) {
    return (Context)
        Proxy.newProxyInstance(
            Context.class.getClassLoader(),
            new Class<?>[] {Context.class},
            (proxy, method, arguments) -> {
              if (!holds || !method.getName().equals("runOnContext")) {
                return method.invoke(real, arguments);
              }
              @SuppressWarnings("unchecked")
              Handler<Void> action = (Handler<Void>) arguments[0];
              held.add(action);
              return null;
            });
  }

  private boolean isListening(String address) {
    DeliveryOptions soon = new DeliveryOptions().setSendTimeout(200);
    Future<?> answer =
        vertx.eventBus().request(address, null, soon.addHeader("vertigrad-stream", ""));
    try {
      await(answer);
      return true;
    } catch (IllegalStateException failed) {
      return !(failed.getCause().getCause() instanceof ReplyException no
          && no.failureType() == ReplyFailure.NO_HANDLERS);
    }
  }
}
