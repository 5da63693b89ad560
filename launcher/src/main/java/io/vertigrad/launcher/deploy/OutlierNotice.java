package io.vertigrad.launcher.deploy;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.job.ClusterConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.function.Consumer;

/**
 * What the operator of a node reads when the updates of its worker do not fit those of the others.
 * It goes to all nodes, once for each finding, and the one that it names shows it.
 *
 * @param node name of the worker's process
 * @param sentence what was found, and what may be the cause
 */
public record OutlierNotice(String node, String sentence) {

  /** Publishes the notice to all nodes of a job. */
  public void publish(Vertx vertx, Addresses job) {
    JsonObject json = new JsonObject().put("node", node).put("sentence", sentence);
    vertx.eventBus().publish(address(job), json);
  }

  /**
   * Passes on each sentence about the worker of this process.
   *
   * @param cluster names this process
   * @return completes when no later notice can be missed
   */
  public static Future<Void> listen(
      Vertx vertx, Addresses job, ClusterConfig cluster, Consumer<String> sentences) {
    String own = cluster.nodeName(ProcessHandle.current().pid());
    MessageConsumer<JsonObject> consumer = vertx.eventBus().consumer(address(job));
    consumer.handler(
        message -> {
          if (own.equals(message.body().getString("node"))) {
            sentences.accept(message.body().getString("sentence"));
          }
        });
    return consumer.completion();
  }

  private static String address(Addresses job) {
    return job.events() + ".outliers";
  }
}
