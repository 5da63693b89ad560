package io.vertigrad.verticles;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;

/**
 * The strategy of a job beside one worker or one shard. Beside a worker it takes the worker's
 * gradients, talks to the strategies of the other workers, and gives back the next parameters;
 * beside a shard it takes the gradients of all workers, partition by partition.
 *
 * <p>Its configuration is the job file with one more key, whom it stands beside: {@code "beside":
 * {"role": "worker", "rank": 0}}, or {@code "server"} and the shard. A worker or server uses the
 * one that was deployed for its rank in the same Vert.x instance before it was admitted, and
 * deploys one by itself where there is none; arrays pass between the two by reference. Undeploying
 * it while its worker trains makes the worker fail; undeploying it beside a shard makes the server
 * leave.
 */
public final class StrategyVerticle extends VerticleBase {

  private StrategyHost host;

  @Override
  public Future<?> start() {
    JsonObject file = config().copy();
    Object beside = file.remove(StrategyHost.BESIDE);
    if (!(beside instanceof JsonObject place)) {
      throw new IllegalArgumentException(
          "-conf: key \"%s\" is %s, expected whom the strategy stands beside, such as {\"role\":"
                  .formatted(StrategyHost.BESIDE, beside)
              + " \"worker\", \"rank\": 0}");
    }
    return VerticleJob.read(vertx, file).compose(job -> stand(job, place));
  }

  @Override
  public Future<?> stop() {
    return host == null ? Future.succeededFuture() : host.unregister();
  }

  private Future<Void> stand(JobConfig job, JsonObject beside) {
    FrameCodecs.register(vertx.eventBus());
    host = new StrategyHost(vertx, context, job, beside);
    return host.register();
  }
}
