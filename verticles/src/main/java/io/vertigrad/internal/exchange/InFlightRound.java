package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.internal.exchange.PartitionExchange.Ending;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Membership;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One round in flight: which requests are unanswered, when to retry them, and how to handle each
 * reply.
 *
 * <p>If a replacement server takes over a shard, all partitions of the shard are sent to it again
 * at once, answered ones included. The replacement may have restored a version before those
 * answers, and other workers wait there for updates of this worker that were answered long ago. The
 * window does not hold these requests back, because the requests that fill it may themselves be
 * waiting for one of those workers.
 *
 * <p>Before {@link #finish} the round only sends: it must not delay a thread that still computes a
 * gradient, and it must not change that thread's parameters.
 */
final class InFlightRound implements PartitionExchange.OpenRound {

  private static final long SWEEP_NANOS = 100_000_000;
  private static final long MILLI = 1_000_000;
  private static final int MALFORMED_LIMIT = 3;

  private final WindowedExchange exchange;
  private final ExchangeConfig config;
  private final PartitionRound round;
  private final List<Partition> order;
  private final Set<Partition> unsent;
  private final Map<Partition, PendingRequest> pending = new LinkedHashMap<>();
  private Membership membership = Membership.NONE;
  private long unansweredBytes;
  private long sweptNanos = System.nanoTime();
  private boolean rejoin;

  InFlightRound(WindowedExchange exchange, ExchangeConfig config, PartitionRound round) {
    this.exchange = exchange;
    this.config = config;
    this.round = round;
    this.order = round.order();
    this.unsent = new LinkedHashSet<>(order);
  }

  @Override
  public void sendReady() {
    if (!round.abandoned()) {
      fillWindow();
    }
  }

  @Override
  public Ending finish() {
    // Answers that have arrived meanwhile are taken before a request counts as overdue.
    sweptNanos = System.nanoTime();
    while (!round.abandoned()) {
      followServers();
      fillWindow();
      if (pending.isEmpty()) {
        return Ending.COMPLETE;
      }
      WindowedExchange.Reply reply = exchange.answerQueue().poll(patienceNanos());
      if (reply != null && !reply.request().settled()) {
        take(reply);
      }
      if (rejoin) {
        return Ending.REJOIN;
      }
      long now = System.nanoTime();
      if (reply == null || now - sweptNanos > SWEEP_NANOS) {
        sweep(now);
      }
    }
    return Ending.ABANDONED;
  }

  @Override
  public void close() {
    pending.values().forEach(PendingRequest::settle);
  }

  private void followServers() {
    Membership now = exchange.membership();
    if (now != membership) {
      membership = now;
      for (Membership.Member server : now.servers()) {
        if (exchange.replaces(server)) {
          offerAgain(server);
        }
      }
    }
  }

  private void offerAgain(Membership.Member server) {
    for (Partition partition : order) {
      PendingRequest request = pending.get(partition);
      if (partition.shard() == server.rank() && request != null) {
        send(request, System.nanoTime());
      } else if (partition.shard() == server.rank()) {
        unsent.remove(partition);
        offer(partition);
      }
    }
  }

  private void fillWindow() {
    Iterator<Partition> next = unsent.iterator();
    while (next.hasNext()) {
      Partition partition = next.next();
      if (!round.isReady(partition)) {
        continue;
      }
      if (!pending.isEmpty() && !fits(partition)) {
        return;
      }
      next.remove();
      offer(partition);
    }
    if (unsent.isEmpty()) {
      round.allSent();
    }
  }

  private void offer(Partition partition) {
    Frame frame = round.request(partition);
    PendingRequest request =
        new PendingRequest(partition, frame, exchange.patience(), System.nanoTime());
    pending.put(partition, request);
    unansweredBytes += bytes(partition);
    send(request, System.nanoTime());
  }

  private boolean fits(Partition partition) {
    return unansweredBytes + bytes(partition) <= config.windowBytes();
  }

  private long bytes(Partition partition) {
    return (long) partition.length() * config.type().bytes();
  }

  private void send(PendingRequest request, long now) {
    Optional<Integer> server = exchange.server(request.partition().shard());
    if (server.isPresent()) {
      request.sent(server.get(), now + config.retryMillis() * MILLI);
      exchange.send(request, server.get());
    } else {
      request.sent(PendingRequest.NOWHERE, now + config.retryMillis() * MILLI);
    }
  }

  private long patienceNanos() {
    long now = System.nanoTime();
    long patience = SWEEP_NANOS;
    for (PendingRequest request : pending.values()) {
      patience = Math.min(patience, request.nextAttemptNanos() - now);
    }
    return patience;
  }

  private void sweep(long now) {
    sweptNanos = now;
    long limitNanos = exchange.limitMillis() * MILLI;
    for (PendingRequest request : pending.values()) {
      int shard = request.partition().shard();
      if (request.waitedNanos() >= limitNanos) {
        throw request.unanswered(exchange.address(shard), now);
      }
      boolean moved = request.sentTo() != exchange.server(shard).orElse(PendingRequest.NOWHERE);
      if (moved || request.nextAttemptNanos() - now <= 0) {
        send(request, now);
      }
    }
  }

  private void take(WindowedExchange.Reply reply) {
    PendingRequest request = reply.request();
    long now = System.nanoTime();
    if (reply.failure() != null) {
      noteFailure(request, reply.failure(), now);
    } else if (reply.frame() instanceof ParameterPartition answer) {
      accept(request, answer, now);
    } else if (reply.frame() instanceof Refusal refusal) {
      refuse(request, refusal, now);
    } else {
      misunderstand(request, reply.frame(), now);
    }
  }

  private void noteFailure(PendingRequest request, Throwable failure, long now) {
    boolean absent =
        failure instanceof ReplyException reply && reply.failureType() == ReplyFailure.NO_HANDLERS;
    String what = absent ? "no server listens there" : String.valueOf(failure.getMessage());
    retrySoon(request, what, now);
  }

  private void accept(PendingRequest request, ParameterPartition answer, long now) {
    Partition partition = request.partition();
    if (answer.server() < exchange.server(partition.shard()).orElse(0)) {
      request.heard("an answer of the former server", now, request.nextAttemptNanos());
      return;
    }
    if (!fits(partition, answer)) {
      misunderstand(request, describe(answer), now);
      return;
    }
    settle(request);
    round.answered(partition, answer);
    exchange.giveBack(answer);
    if (request.sentOnce()) {
      round.takeBack(request.frame());
    }
  }

  private static boolean fits(Partition partition, ParameterPartition answer) {
    return answer.id().partition() == partition.index()
        && answer.firstElement() == partition.first()
        && answer.parameters().length() == partition.length();
  }

  private static String describe(ParameterPartition answer) {
    long first = answer.firstElement();
    return "elements %d to %d of partition %d"
        .formatted(first, first + answer.parameters().length() - 1, answer.id().partition());
  }

  private void refuse(PendingRequest request, Refusal refusal, long now) {
    switch (refusal.reason()) {
      case STALE_INCARNATION -> rejoin = true;
      case UNAVAILABLE -> retrySoon(request, refusal.message(), now);
      case NOT_FINITE -> {
        settle(request);
        round.dropped(request.partition(), refusal);
      }
      default -> throw request.refused(refusal);
    }
  }

  private void settle(PendingRequest request) {
    request.settle();
    pending.remove(request.partition());
    unansweredBytes -= bytes(request.partition());
  }

  private void misunderstand(PendingRequest request, Object found, long now) {
    String what = found instanceof Malformed bad ? bad.toString() : String.valueOf(found);
    if (request.countMalformed() >= MALFORMED_LIMIT) {
      throw request.misanswered(what);
    }
    retrySoon(request, what, now);
  }

  private void retrySoon(PendingRequest request, String heard, long now) {
    long wait = request.backoffNanos(config.retryMillis() * MILLI);
    request.heard(heard, now, now + wait);
  }
}
