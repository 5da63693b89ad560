package io.vertigrad.internal.server;

import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.transport.Transport;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;

/**
 * A backup under one admission: takes the records of its primary on the event loop of the strategy
 * verticle that will serve the shard, until it is promoted or let go.
 *
 * <p>Belongs to the server's context, on which its futures complete.
 */
final class BackupService {

  private final Context context;
  private final InitialModel model;
  private final ShardBackup backup;
  private final StrategyHost host;
  private final Transport.Listening listening;

  private BackupService(
      Context context,
      InitialModel model,
      ShardBackup backup,
      StrategyHost host,
      Transport.Listening listening) {
    this.context = context;
    this.model = model;
    this.backup = backup;
    this.host = host;
    this.listening = listening;
  }

  /** A whole copy, and where it goes on. */
  record Promotion(InitialModel model, ShardBackup backup, StrategyHost host) {}

  /**
   * Begins to listen.
   *
   * @param context the server's
   * @param address where its primary finds it
   * @param host the strategy verticle beside it
   */
  static Future<BackupService> open(
      Vertx vertx,
      Context context,
      InitialModel model,
      String address,
      ShardBackup backup,
      StrategyHost host) {
    Future<Transport.Listening> listening =
        host.call(
            () ->
                Transport.borrow(
                    vertx, address, record -> Future.succeededFuture(backup.handle(record))));
    return ContextBridge.to(context, listening)
        .map(open -> new BackupService(context, model, backup, host, open));
  }

  /**
   * Ends its part as a backup: from now on its primary is refused.
   *
   * @return what it has, to serve it; fails if that is no whole copy
   */
  Future<Promotion> promote(Admission as) {
    return refuse("it goes on as %s".formatted(as))
        .compose(
            refuses ->
                backup.isComplete()
                    ? Future.succeededFuture(new Promotion(model, backup, host))
                    : Future.failedFuture("this backup has no whole copy of its shard"));
  }

  /** Takes no more records, and needs its strategy verticle no more. */
  void close(String why) {
    refuse(why).onComplete(refuses -> host.release());
  }

  private Future<Void> refuse(String why) {
    return ContextBridge.to(
        context,
        host.call(
            () -> {
              backup.close(why);
              listening.close();
              return Future.succeededFuture();
            }));
  }
}
