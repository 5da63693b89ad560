package io.vertigrad.internal.cluster;

import io.vertx.core.AsyncResult;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VertxException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.spi.cluster.NodeInfo;
import io.vertx.core.spi.cluster.RegistrationInfo;
import io.vertx.core.spi.cluster.RegistrationListener;
import io.vertx.core.spi.cluster.RegistrationUpdateEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Keeps the consumers of a clustered event bus: every node keeps those of all nodes in its own
 * memory.
 *
 * <p>A node numbers the versions of its own registrations. It sends the newest version to each
 * other node, which answers with the versions that it holds. Looking up an address therefore never
 * leaves the node. A registration completes when every other node has it, but a silent node delays
 * it by {@link #SLOW_MILLIS} at most, and by {@link #SILENT_MILLIS} if it answered before for a
 * while. A silent node gets the newest version when it answers again.
 *
 * <p>Several threads may use it.
 */
final class BusRegistrations {

  /** Sends a message to another node's {@link BusRegistrations#receive} and returns the answer. */
  @FunctionalInterface
  interface Channel {
    Future<JsonObject> request(String node, JsonObject message);
  }

  /** A registration no longer waits for a node that has not answered for this long. */
  static final long SLOW_MILLIS = 1_000;

  /** The same for a node that has been here for {@link #STARTED_MILLIS}: it answers at once. */
  static final long SILENT_MILLIS = 250;

  /** For so long a node may be busy with its start. */
  static final long STARTED_MILLIS = 10_000;

  /**
   * A message without an answer for this long is sent again, with the newest registrations. A live
   * node answers within milliseconds, and until it has, it lacks addresses that it may need now. So
   * the first limit is short, and each further one twice as long, because a silent node is asked
   * for minutes.
   */
  private static final long FIRST_ANSWER_MILLIS = 400;

  private static final long LONGEST_ANSWER_MILLIS = 5_000;

  private static final long RETRY_MILLIS = 100;

  private static final long CHECK_MILLIS = 50;

  /** The answer of a node that does not know the sender yet. */
  private static final long UNKNOWN_SENDER = -1;

  private final String self;
  private final RegistrationListener listener;
  private final Supplier<Set<String>> nodes;
  private final Channel channel;
  private final long startedMillis;
  private final Map<String, Set<RegistrationInfo>> local = new HashMap<>();
  private final Map<String, Set<RegistrationInfo>> own = new HashMap<>();
  private final Map<String, Peer> peers = new HashMap<>();
  private final List<PendingRegistration> pending = new ArrayList<>();
  private final Queue<String> changed = new ConcurrentLinkedQueue<>();
  private final AtomicInteger notifications = new AtomicInteger();
  private NodeInfo info;
  private long version = 1;
  private boolean scheduled;
  private boolean closed;

  /**
   * Creates the registrations of a node that has joined its cluster.
   *
   * @param self this node's id
   * @param listener is notified of addresses whose consumers have changed
   * @param nodes returns the ids of all nodes that are in the cluster now, this one included
   * @param channel reaches the other nodes
   * @param startedMillis for so long another node may be busy with its start
   */
  BusRegistrations(
      String self,
      RegistrationListener listener,
      Supplier<Set<String>> nodes,
      Channel channel,
      long startedMillis) {
    this.self = self;
    this.listener = listener;
    this.nodes = nodes;
    this.channel = channel;
    this.startedMillis = startedMillis;
  }

  /**
   * Applies a change of the cluster: drops nodes that have left and asks new ones for their
   * registrations.
   *
   * @return completes when every new node has answered or is slow
   */
  Future<Void> updateNodes() {
    Set<String> addresses = new HashSet<>();
    List<Future<Void>> first = new ArrayList<>();
    synchronized (this) {
      Set<String> now = closed ? Set.of() : nodes.get();
      for (Iterator<Peer> all = peers.values().iterator(); all.hasNext(); ) {
        Peer peer = all.next();
        if (!now.contains(peer.node)) {
          all.remove();
          addresses.addAll(peer.consumers.keySet());
          peer.answered.tryFail(notAMember(peer.node));
        }
      }
      for (String node : now) {
        if (!node.equals(self) && !peers.containsKey(node)) {
          Peer peer = new Peer(node);
          peers.put(node, peer);
          first.add(peer.answered.future().otherwiseEmpty());
          exchange(peer);
        }
      }
    }
    notifyListener(addresses);
    completePending();
    Promise<Void> done = Promise.promise();
    Future.all(first).onComplete(all -> done.tryComplete());
    after(SLOW_MILLIS, done::tryComplete);
    return done.future();
  }

  /** Publishes the address at which this node's event bus is reached. */
  void setInfo(NodeInfo own, Completable<Void> done) {
    synchronized (this) {
      info = own;
    }
    publish(done);
  }

  synchronized NodeInfo info() {
    return info;
  }

  /**
   * Returns the address at which a node's event bus is reached; fails when the node is not in the
   * cluster.
   */
  Future<NodeInfo> info(String node) {
    Peer peer;
    synchronized (this) {
      peer = peers.get(node);
      if (peer == null) {
        return Future.failedFuture(notAMember(node));
      }
      if (peer.info != null) {
        return Future.succeededFuture(peer.info);
      }
    }
    return peer.answered.future().compose(answered -> infoOf(peer));
  }

  /** Returns the addresses at which the event buses of all other nodes are reached. */
  synchronized List<NodeInfo> others() {
    return peers.values().stream().map(peer -> peer.info).filter(Objects::nonNull).toList();
  }

  private synchronized Future<NodeInfo> infoOf(Peer peer) {
    return peer.info == null
        ? Future.failedFuture(notAMember(peer.node))
        : Future.succeededFuture(peer.info);
  }

  /** Adds a consumer of this node. */
  void add(String address, RegistrationInfo consumer, Completable<Void> done) {
    synchronized (this) {
      (consumer.localOnly() ? local : own)
          .computeIfAbsent(address, a -> new LinkedHashSet<>())
          .add(consumer);
    }
    notifyListener(Set.of(address));
    if (consumer.localOnly()) {
      done.succeed();
    } else {
      publish(done);
    }
  }

  /** Removes a consumer of this node; notifies the other nodes without waiting for them. */
  void remove(String address, RegistrationInfo consumer) {
    synchronized (this) {
      (consumer.localOnly() ? local : own)
          .computeIfPresent(
              address,
              (a, all) -> {
                all.remove(consumer);
                return all.isEmpty() ? null : all;
              });
    }
    notifyListener(Set.of(address));
    if (!consumer.localOnly()) {
      publish((ok, failure) -> {});
    }
  }

  /** Returns the consumers of an address on all nodes. */
  synchronized List<RegistrationInfo> get(String address) {
    List<RegistrationInfo> all = new ArrayList<>(local.getOrDefault(address, Set.of()));
    all.addAll(own.getOrDefault(address, Set.of()));
    peers.values().forEach(peer -> all.addAll(peer.consumers.getOrDefault(address, List.of())));
    return all;
  }

  /** Processes another node's message and returns the answer. */
  JsonObject receive(JsonObject message) {
    String node = message.getString("node");
    if (!knows(node)) {
      updateNodes();
    }
    Set<String> addresses = new HashSet<>();
    JsonObject answer;
    synchronized (this) {
      Peer peer = peers.get(node);
      if (peer == null) {
        return new JsonObject().put("held", UNKNOWN_SENDER);
      }
      take(peer, message, addresses);
      answer = message(peer, message.getLong("held"));
    }
    notifyListener(addresses);
    completePending();
    return answer;
  }

  /** Stops sending; pending registrations complete. */
  void close() {
    synchronized (this) {
      closed = true;
    }
    updateNodes();
  }

  private synchronized boolean knows(String node) {
    return peers.containsKey(node);
  }

  private void publish(Completable<Void> done) {
    synchronized (this) {
      version++;
      pending.add(new PendingRegistration(version, done));
      peers.values().forEach(this::exchange);
    }
    completePending();
  }

  /**
   * Sends the registrations that the peer lacks. One request runs at a time; the next one sends
   * what has changed since.
   */
  private synchronized void exchange(Peer peer) {
    if (closed || peer.asked || peers.get(peer.node) != peer) {
      return;
    }
    peer.asked = true;
    if (peer.behindSinceNanos == 0) {
      peer.behindSinceNanos = System.nanoTime();
    }
    Promise<JsonObject> answer = Promise.promise();
    answer.future().onComplete(result -> answered(peer, result));
    channel
        .request(peer.node, message(peer, peer.held))
        .onSuccess(
            json -> {
              if (!answer.tryComplete(json)) {
                answeredLate(peer, json);
              }
            })
        .onFailure(answer::tryFail);
    after(peer.answerMillis, () -> answer.tryFail("node " + peer.node + " has not answered"));
    peer.answerMillis = Math.min(2 * peer.answerMillis, LONGEST_ANSWER_MILLIS);
  }

  /** Takes the answer to a message that was sent again meanwhile: its content still counts. */
  private void answeredLate(Peer peer, JsonObject answer) {
    Set<String> addresses = new HashSet<>();
    synchronized (this) {
      if (peers.get(peer.node) == peer && answer.getLong("held") != UNKNOWN_SENDER) {
        take(peer, answer, addresses);
      }
    }
    notifyListener(addresses);
    completePending();
  }

  private void answered(Peer peer, AsyncResult<JsonObject> answer) {
    Set<String> addresses = new HashSet<>();
    synchronized (this) {
      peer.asked = false;
      if (peers.get(peer.node) != peer) {
        return;
      }
      boolean known = answer.succeeded() && answer.result().getLong("held") != UNKNOWN_SENDER;
      if (known) {
        peer.answerMillis = FIRST_ANSWER_MILLIS;
        take(peer, answer.result(), addresses);
        peer.behindSinceNanos = peer.held < version ? System.nanoTime() : 0;
      }
      if (!known) {
        after(RETRY_MILLIS, () -> exchange(peer));
      } else if (peer.held < version) {
        exchange(peer);
      }
      if (known) {
        peer.answered.tryComplete();
      }
    }
    notifyListener(addresses);
    completePending();
  }

  /**
   * Builds a message: the version held of the peer's registrations, and this node's own
   * registrations if the peer lacks them.
   */
  private JsonObject message(Peer peer, long peerHolds) {
    JsonObject message = new JsonObject().put("node", self).put("held", peer.version);
    if (peerHolds < version) {
      JsonObject consumers = new JsonObject();
      own.forEach(
          (address, all) ->
              consumers.put(
                  address, new JsonArray(all.stream().map(RegistrationInfo::seq).toList())));
      message.put("version", version).put("consumers", consumers);
      if (info != null) {
        message.put("host", info.host()).put("port", info.port()).put("metadata", info.metadata());
      }
    }
    return message;
  }

  private void take(Peer peer, JsonObject message, Set<String> addresses) {
    peer.held = Math.max(peer.held, message.getLong("held"));
    if (message.getLong("version", 0L) <= peer.version) {
      return;
    }
    peer.version = message.getLong("version");
    if (message.containsKey("host")) {
      peer.info =
          new NodeInfo(
              message.getString("host"),
              message.getInteger("port"),
              message.getJsonObject("metadata"));
    }
    Map<String, List<RegistrationInfo>> before = peer.consumers;
    Map<String, List<RegistrationInfo>> now = new HashMap<>();
    JsonObject consumers = message.getJsonObject("consumers");
    for (String address : consumers.fieldNames()) {
      List<RegistrationInfo> all = new ArrayList<>();
      for (Object seq : consumers.getJsonArray(address)) {
        all.add(new RegistrationInfo(peer.node, ((Number) seq).longValue(), false));
      }
      now.put(address, all);
    }
    peer.consumers = now;
    before.keySet().stream().filter(one -> !now.containsKey(one)).forEach(addresses::add);
    now.forEach(
        (address, all) -> {
          if (!Objects.equals(before.get(address), all)) {
            addresses.add(address);
          }
        });
  }

  /** Completes registrations that all other nodes have, and checks again later if some are left. */
  private void completePending() {
    List<Completable<Void>> done = new ArrayList<>();
    synchronized (this) {
      long held = peers.values().stream().mapToLong(this::awaited).min().orElse(Long.MAX_VALUE);
      pending.removeIf(one -> one.version <= held && done.add(one.done));
      if (!pending.isEmpty() && !scheduled) {
        scheduled = true;
        after(
            CHECK_MILLIS,
            () -> {
              synchronized (this) {
                scheduled = false;
              }
              completePending();
            });
      }
    }
    done.forEach(Completable::succeed);
  }

  /** Returns the version up to which registrations need not wait for a peer. */
  private long awaited(Peer peer) {
    long now = System.nanoTime();
    boolean started = now - peer.knownSinceNanos >= TimeUnit.MILLISECONDS.toNanos(startedMillis);
    long limitMillis = started && peer.answered.future().succeeded() ? SILENT_MILLIS : SLOW_MILLIS;
    boolean slow =
        peer.behindSinceNanos != 0
            && now - peer.behindSinceNanos >= TimeUnit.MILLISECONDS.toNanos(limitMillis);
    return slow ? Long.MAX_VALUE : peer.held;
  }

  /**
   * Notifies the listener of changed addresses. One thread at a time calls it, each time with the
   * newest consumers, so that an older list never follows a newer one. No lock is held, because the
   * listener sends messages.
   */
  private void notifyListener(Set<String> addresses) {
    changed.addAll(addresses);
    if (addresses.isEmpty() || notifications.getAndIncrement() > 0) {
      return;
    }
    int seen;
    do {
      seen = notifications.get();
      for (String address = changed.poll(); address != null; address = changed.poll()) {
        if (listener.wantsUpdatesFor(address)) {
          listener.registrationsUpdated(new RegistrationUpdateEvent(address, get(address)));
        }
      }
    } while (notifications.addAndGet(-seen) > 0);
  }

  /** Runs a task later. A Vert.x timer would end with the verticle that happened to register. */
  private static void after(long millis, Runnable task) {
    CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS).execute(task);
  }

  private static VertxException notAMember(String node) {
    return new VertxException("node %s is not a member of the cluster".formatted(node), true);
  }

  /** Another node's state; guarded by the registrations' lock. */
  private static final class Peer {

    private final String node;
    private final Promise<Void> answered = Promise.promise();
    private final long knownSinceNanos = System.nanoTime();
    private NodeInfo info;

    /** The version of this peer's registrations that this node holds. */
    private long version;

    private Map<String, List<RegistrationInfo>> consumers = Map.of();

    /** The version of this node's registrations that the peer holds. */
    private long held;

    private boolean asked;

    /** How long the next message to it may stay unanswered until it is sent again. */
    private long answerMillis = FIRST_ANSWER_MILLIS;

    /** Since when the peer has lacked registrations without answering; 0 when it lacks none. */
    private long behindSinceNanos;

    Peer(String node) {
      this.node = node;
    }
  }

  private record PendingRegistration(long version, Completable<Void> done) {}
}
