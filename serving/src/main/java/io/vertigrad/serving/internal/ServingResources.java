package io.vertigrad.serving.internal;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.shareddata.LocalMap;
import io.vertx.core.shareddata.Shareable;

/**
 * Threads and memory that the predictors of one Vert.x instance share.
 *
 * <p>HTTP has a Vert.x instance of its own. Its connections then never run on an event loop of the
 * job's members, whose heartbeats would wait behind them; and predictors that share a port still
 * find each other's server. Members and predictors only exchange arrays through {@link Predictor}.
 */
final class ServingResources implements Shareable {

  private static final String MAP = "io.vertigrad.serving";
  private static final String KEY = "resources";
  private static final int EVENT_LOOPS = 2;
  private static final int MOST_DECODERS = 4;

  private final Vertx http;
  private final RequestMemory memory = new RequestMemory(Runtime.getRuntime().maxMemory());
  private int users;

  private ServingResources() {
    int decoders = Math.min(MOST_DECODERS, Runtime.getRuntime().availableProcessors() / 2);
    this.http =
        Vertx.vertx(
            new VertxOptions()
                .setEventLoopPoolSize(EVENT_LOOPS)
                .setWorkerPoolSize(Math.max(1, decoders))
                .setFileSystemOptions(
                    new FileSystemOptions()
                        .setClassPathResolvingEnabled(false)
                        .setFileCachingEnabled(false)));
  }

  /**
   * Returns the resources of a Vert.x instance's predictors, for one more of them. Blocks for some
   * milliseconds.
   *
   * @param members the instance that the predictors are deployed in
   */
  static ServingResources acquire(Vertx members) {
    LocalMap<String, ServingResources> shared = members.sharedData().getLocalMap(MAP);
    synchronized (ServingResources.class) {
      ServingResources resources = shared.get(KEY);
      if (resources == null) {
        resources = new ServingResources();
        shared.put(KEY, resources);
      }
      resources.users++;
      return resources;
    }
  }

  /** Returns the Vert.x instance of HTTP; its worker threads decode large requests. */
  Vertx http() {
    return http;
  }

  /** Returns the memory that requests may hold. */
  RequestMemory memory() {
    return memory;
  }

  /** Ends one predictor's use; the last one closes the threads. */
  Future<Void> release(Vertx members) {
    synchronized (ServingResources.class) {
      users--;
      if (users > 0) {
        return Future.succeededFuture();
      }
      members.sharedData().getLocalMap(MAP).remove(KEY);
    }
    return http.close();
  }
}
