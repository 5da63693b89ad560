package io.vertigrad.internal.backup;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.Role;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A backup under one admission. Takes the records of its primary on the event loop of the strategy
 * verticle that will serve the shard, until it is promoted or closed.
 *
 * <p>Belongs to the server's context, on which its futures complete.
 */
public final class BackupService {

  private final Vertx vertx;
  private final Context context;
  private final Addresses addresses;
  private final ShardBackup backup;
  private final StrategyHost host;
  private final Consumer<Admission> onSuccessor;
  private Transport.Listening listening;
  private Optional<Successor> successor = Optional.empty();

  /** The admission that the backup will have after a promotion, and its address. */
  private record Successor(Admission as, StrategyHost.Reservation address) {}

  /**
   * A complete copy, and where the promoted server runs.
   *
   * @param reserved its address, if this backup already listens on it
   */
  public record Promotion(
      ShardBackup backup, StrategyHost host, Optional<StrategyHost.Reservation> reserved) {}

  private BackupService(
      Vertx vertx,
      Context context,
      Addresses addresses,
      ShardBackup backup,
      StrategyHost host,
      Consumer<Admission> onSuccessor) {
    this.vertx = vertx;
    this.context = context;
    this.addresses = addresses;
    this.backup = backup;
    this.host = host;
    this.onSuccessor = onSuccessor;
  }

  /**
   * Opens a backup and listens for its primary.
   *
   * @param context the server's context
   * @param admission under which its primary finds it
   * @param host the strategy verticle beside it
   * @param onSuccessor receives, on the server's context, the admission that follows if the primary
   *     is lost
   */
  public static Future<BackupService> open(
      Vertx vertx,
      Context context,
      Addresses addresses,
      Admission admission,
      ShardBackup backup,
      StrategyHost host,
      Consumer<Admission> onSuccessor) {
    BackupService service = new BackupService(vertx, context, addresses, backup, host, onSuccessor);
    String address = addresses.shard(admission.rank(), admission.incarnation());
    return ContextBridge.to(context, host.call(() -> service.listen(address)));
  }

  private Future<BackupService> listen(String address) {
    backup.onPrimary(this::reserveSuccessor);
    return Transport.borrow(vertx, address, record -> Future.succeededFuture(backup.handle(record)))
        .map(
            open -> {
              listening = open;
              return this;
            });
  }

  /** Listens on the address of the primary's next incarnation, which this backup takes over. */
  private void reserveSuccessor(int primary) {
    Admission next = new Admission(Role.SERVER, backup.store().shard(), primary + 1);
    if (successor.filter(known -> known.as().equals(next)).isPresent()) {
      return;
    }
    releaseSuccessor();
    String address = addresses.shard(next.rank(), next.incarnation());
    successor = Optional.of(new Successor(next, host.reserve(address)));
    context.runOnContext(go -> onSuccessor.accept(next));
  }

  private void releaseSuccessor() {
    successor.ifPresent(unused -> unused.address().close());
    successor = Optional.empty();
  }

  /**
   * Ends the role as a backup: the primary is refused from now on.
   *
   * @return what the new server starts with; fails if the copy is not complete
   */
  public Future<Promotion> promote(Admission as) {
    return ContextBridge.to(
        context,
        host.call(
            () -> {
              backup.close("it goes on as %s".formatted(as));
              listening.close();
              if (!backup.isComplete()) {
                releaseSuccessor();
                return Future.failedFuture("this backup has no whole copy of its shard");
              }
              Optional<StrategyHost.Reservation> reserved =
                  successor.filter(ready -> ready.as().equals(as)).map(Successor::address);
              if (reserved.isEmpty()) {
                releaseSuccessor();
              }
              return Future.succeededFuture(new Promotion(backup, host, reserved));
            }));
  }

  /**
   * Stops taking records and releases the strategy verticle.
   *
   * @return the backup, on the server's context; empty if its copy is not complete
   */
  public Future<Optional<ShardBackup>> close(String reason) {
    return ContextBridge.to(
            context,
            host.call(
                () -> {
                  backup.close(reason);
                  listening.close();
                  releaseSuccessor();
                  return Future.succeededFuture(
                      Optional.of(backup).filter(ShardBackup::isComplete));
                }))
        .onComplete(closed -> host.release());
  }
}
