package io.vertigrad.verticles;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.host.StrategyService;
import io.vertigrad.internal.host.StrategyService.MovedMember;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Deployable;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.function.Function;

/**
 * The strategy of one worker or one shard of a job. For a worker it receives the worker's
 * gradients, exchanges with the strategies of the other workers, and returns the next parameters.
 * For a shard it receives the gradients of all workers, partition by partition.
 *
 * <p>Its configuration is the job file with one more key, the member it serves: {@code "beside":
 * {"role": "worker", "rank": 0}}, or {@code "server"} and the shard. A worker or server uses the
 * strategy verticle that was deployed for its rank before it was admitted, and deploys one itself
 * if there is none. In the same Vert.x instance the two pass arrays by reference. If you undeploy
 * it there while its worker trains, the worker fails; if you undeploy it beside a shard, the server
 * leaves.
 *
 * <p>If the member is deployed in another JVM of the cluster, it runs here all the same: a server
 * with its shard, a worker with its replica, for which the other JVM computes the gradients. The
 * verticle in the other JVM joins for it, and waits for another strategy verticle at the same place
 * when this one ends.
 */
public final class StrategyVerticle extends VerticleBase {

  private StrategyHost host;
  private StrategyService service;

  /**
   * Returns the job file in the configuration of a strategy verticle.
   *
   * @param config the job file with the key {@code beside}
   * @return a copy without that key
   */
  public static JsonObject jobFile(JsonObject config) {
    JsonObject file = config.copy();
    file.remove(StrategyHost.BESIDE);
    return file;
  }

  @Override
  public Future<?> start() {
    Object beside = config().getValue(StrategyHost.BESIDE);
    if (!(beside instanceof JsonObject place)) {
      throw new IllegalArgumentException(
          "-conf: key \"%s\" is %s, expected the member beside the strategy, such as {\"role\":"
                  .formatted(StrategyHost.BESIDE, beside)
              + " \"worker\", \"rank\": 0}");
    }
    return VerticleJob.read(vertx, jobFile(config())).compose(job -> stand(job, place));
  }

  @Override
  public Future<?> stop() {
    Future<?> apart = service == null ? Future.succeededFuture() : service.close();
    return host == null ? apart : apart.transform(ended -> host.unregister());
  }

  private Future<Void> stand(JobConfig job, JsonObject beside) {
    FrameCodecs.register(vertx.eventBus());
    host = new StrategyHost(vertx, context, job, beside);
    return host.register().compose(registered -> serve(job, beside));
  }

  /** Runs the member of another JVM of a cluster, unless a member deployed this for itself. */
  private Future<Void> serve(JobConfig job, JsonObject beside) {
    if (!vertx.isClustered() || StrategyHost.isOwned(beside)) {
      return Future.succeededFuture();
    }
    return StrategyService.open(vertx, job, host, member(host))
        .onSuccess(open -> service = open)
        .onFailure(taken -> host.unregister())
        .mapEmpty();
  }

  /** Returns what creates the member's verticle beside its strategy. */
  static Function<MovedMember, Deployable> member(StrategyHost host) {
    return host.strategy().traits().besideServers()
        ? session -> new ParameterServerVerticle(Optional.of(session))
        : session -> new WorkerVerticle(Optional.of(session));
  }
}
