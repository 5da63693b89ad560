package io.vertigrad.internal.backup;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Completable;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.core.spi.cluster.ClusterManager;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;

/** Tests a backup on the event bus of a cluster. */
class BackupServiceTest {

  /** Two listeners at one address would share the frames of workers. */
  @Test
  void shouldServeAtTheReservedAddressWhenThePromotionComesBeforeTheClusterKnowsIt()
      throws Exception {
    TestJob shard = new TestJob("{\"name\": \"sync\"}", 10, 2, 1, 1).withRanks(1);
    ShardBackup backup = new ShardBackup(TestJob.JOB, shard.store(0), 1, true);
    ShardReplication replication = new ShardReplication(TestJob.JOB, 0, 0, shard.layout().hash());
    TestShard primary = shard.shard(0, shard.store(0), () -> new DuplicateWindow(1), replication);
    JobConfig config = JobConfig.read("test", new JsonObject());
    Vertx vertx = get(slowCluster(config.addresses().shard(0, 1)));
    try {
      Context context = vertx.getOrCreateContext();
      StrategyHost host = get(new StrategyFinder(vertx, context, config, Role.SERVER).beside(1, 0));
      BackupService service =
          get(
              BackupService.open(
                  vertx,
                  context,
                  config.addresses(),
                  new Admission(Role.SERVER, 1, 0),
                  backup,
                  host,
                  next -> {}));

      BackupService.Promotion promotion =
          get(
              host.call(
                  () -> {
                    replication.attach(
                        primary.internal(),
                        (record, answered) -> answered.succeed(backup.handle(record)),
                        Assertions::fail);
                    return service.promote(new Admission(Role.SERVER, 0, 1));
                  }));

      assertTrue(promotion.reserved().isPresent());
    } finally {
      get(vertx.close());
    }
  }

  /** Starts a cluster of one node that takes a second to confirm a consumer of this address. */
  private static Future<Vertx> slowCluster(String address) {
    InvocationHandler answers =
        (proxy, method, arguments) -> {
          if (method.getName().equals("getNodes")) {
            return List.of("node");
          }
          int last = method.getParameterCount() - 1;
          if (last >= 0 && arguments[last] instanceof Completable<?> done) {
            boolean slow =
                method.getName().equals("addRegistration") && address.equals(arguments[0]);
            CompletableFuture.delayedExecutor(slow ? 1_000 : 0, TimeUnit.MILLISECONDS)
                .execute(done::succeed);
          }
          if (method.getReturnType() == boolean.class) {
            return true;
          }
          return method.getName().equals("getNodeId") ? "node" : null;
        };
    Object manager =
        Proxy.newProxyInstance(
            ClusterManager.class.getClassLoader(), new Class<?>[] {ClusterManager.class}, answers);
    return Vertx.builder().withClusterManager((ClusterManager) manager).buildClustered();
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }
}
