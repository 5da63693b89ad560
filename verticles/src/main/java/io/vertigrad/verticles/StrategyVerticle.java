package io.vertigrad.verticles;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.host.StrategyService;
import io.vertigrad.internal.host.StrategyService.RemoteMember;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.internal.server.RemoteShard;
import io.vertigrad.internal.worker.RemoteWorker;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
 * leaves. From another JVM of the cluster the two exchange frames, and a member whose strategy
 * verticle ends waits for another one at the same place.
 */
public final class StrategyVerticle extends VerticleBase {

  private static final Logger LOG = LoggerFactory.getLogger(StrategyVerticle.class);

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

  /**
   * Serves members of other JVMs of a cluster, unless a member deployed this strategy for itself.
   */
  private Future<Void> serve(JobConfig job, JsonObject beside) {
    if (!vertx.isClustered() || StrategyHost.isOwned(beside)) {
      return Future.succeededFuture();
    }
    if (job.pipeline().isPresent()) {
      LOG.warn("{} is used by a stage of this JVM only, by none of another one", host.address());
      return Future.succeededFuture();
    }
    RemoteMember member =
        host.strategy().traits().besideServers()
            ? new RemoteShard(vertx, job, host.strategy())
            : new RemoteWorker(vertx, job, host);
    return StrategyService.open(vertx, job, host, member)
        .onSuccess(open -> service = open)
        .onFailure(taken -> host.unregister())
        .mapEmpty();
  }
}
