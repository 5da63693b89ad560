package io.vertigrad.internal.server;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.transport.Transport;
import io.vertx.core.Completable;
import io.vertx.core.Context;
import io.vertx.core.Vertx;

/** Connects a shard to its backup over the job's transport. Belongs to the shard's context. */
final class BackupLink implements ShardReplication.Link {

  private final Transport transport;
  private final Context context;
  private final String address;
  private final long limitMillis;

  /**
   * Creates a link without any traffic.
   *
   * @param limitMillis silence after which the backup counts as failed
   */
  BackupLink(Transport transport, Context context, String address, long limitMillis) {
    this.transport = transport;
    this.context = context;
    this.address = address;
    this.limitMillis = limitMillis;
  }

  @Override
  public void send(Frame record, Completable<Frame> answered) {
    transport.request(
        address,
        record,
        limitMillis,
        (answer, failure) -> {
          if (Vertx.currentContext() == context) {
            answered.complete(answer, failure);
          } else {
            context.runOnContext(go -> answered.complete(answer, failure));
          }
        });
  }
}
