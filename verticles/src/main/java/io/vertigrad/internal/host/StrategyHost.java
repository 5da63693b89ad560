package io.vertigrad.internal.host;

import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.core.shareddata.LocalMap;
import io.vertx.core.shareddata.Shareable;
import java.util.concurrent.Callable;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One strategy verticle as other code in its JVM uses it: a context on which a {@link
 * FrameEndpoint} handles frames, and the owner of a {@link PeerStrategySession}.
 *
 * <p>It is found by its address, in a map that a whole Vert.x instance shares, so that gradients
 * and parameters are passed by reference. May be called by any thread.
 */
public final class StrategyHost implements Shareable {

  /** Key in a strategy verticle's configuration: the member that it belongs to. */
  public static final String BESIDE = "beside";

  /** Key in the member's JSON: the only incarnation that may use the verticle. */
  static final String INCARNATION = "incarnation";

  private static final String HOSTS = "vertigrad.strategies";
  private static final String RANK = "rank";
  private static final String ROLE = "role";
  private static final long TICK_MILLIS = 100;
  private static final long REGISTER_NANOS = 2_000_000_000L;
  private static final long REGISTER_RETRY_MILLIS = 20;
  private static final long GRACE_MILLIS = 1_000;

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final String address;
  private final StrategyFactory strategy;
  private final AtomicBoolean taken = new AtomicBoolean();
  private volatile Promise<Void> released = Promise.promise();
  private volatile Runnable onEnd = () -> {};
  private volatile boolean owned;
  private volatile PeerStrategySession session;

  /**
   * Creates a host that is not registered.
   *
   * @param context serves the endpoints
   * @param beside the member that it belongs to: {@code role} ({@code server} or {@code worker}),
   *     {@code rank}, and {@code incarnation} if no other incarnation may use it
   */
  public StrategyHost(Vertx vertx, Context context, JobConfig job, JsonObject beside) {
    this.vertx = vertx;
    this.context = context;
    this.job = job;
    this.address = address(job, beside);
    this.strategy =
        StrategyProviders.configure(job.strategy(), StrategyHost.class.getClassLoader());
    Role place = strategy.traits().besideServers() ? Role.SERVER : Role.WORKER;
    String expected = place.lower();
    if (!expected.equals(beside.getString(ROLE))) {
      throw new IllegalArgumentException(
          "%s: %s.%s is \"%s\", expected \"%s\": that is where strategy \"%s\" stands"
              .formatted(
                  job.origin(),
                  BESIDE,
                  ROLE,
                  beside.getString(ROLE),
                  expected,
                  job.strategy().name()));
    }
  }

  /** Returns the configuration of a strategy verticle for a member. */
  static JsonObject beside(Role role, int rank) {
    return new JsonObject().put(ROLE, role.lower()).put(RANK, rank);
  }

  /** Returns true for a strategy verticle that a member has deployed for itself. */
  public static boolean isOwned(JsonObject beside) {
    return beside.containsKey(INCARNATION);
  }

  /** Returns the registered host; null if there is none. */
  static StrategyHost at(Vertx vertx, JobConfig job, JsonObject beside) {
    return hosts(vertx).get(address(job, beside));
  }

  /** Takes the host for the caller until {@link #release}. Returns false if it is taken. */
  boolean tryTake() {
    boolean free = taken.compareAndSet(false, true);
    if (free) {
      released = Promise.promise();
    }
    return free;
  }

  /** Marks the host as deployed by its member, with which it ends. */
  StrategyHost owned() {
    taken.set(true);
    owned = true;
    return this;
  }

  /**
   * Registers the host, so that others can find it. It retries for two seconds if the address is
   * taken, because a job of the same name may just have ended, and then fails.
   */
  public Future<Void> register() {
    Promise<Void> registered = Promise.promise();
    register(registered, System.nanoTime() + REGISTER_NANOS);
    return registered.future();
  }

  private void register(Promise<Void> registered, long deadline) {
    if (hosts(vertx).putIfAbsent(address, this) == null) {
      registered.complete();
    } else if (System.nanoTime() > deadline) {
      registered.fail(takenMessage());
    } else {
      vertx.setTimer(REGISTER_RETRY_MILLIS, id -> register(registered, deadline));
    }
  }

  /** Returns the error message for a taken address. */
  String takenMessage() {
    return "another strategy verticle is at %s: deploy one for each worker or shard"
        .formatted(address);
  }

  /**
   * Unregisters the host. A server is told to stop, and so is a worker whose verticle deployed this
   * one, because that verticle is being undeployed. A member has one second to release the host,
   * because a closing Vert.x undeploys all verticles at once. After that, a worker's exchange
   * fails.
   */
  public Future<Void> unregister() {
    hosts(vertx).removeIfPresent(address, this);
    if (tryTake()) {
      return Future.succeededFuture();
    }
    onEnd.run();
    long timer =
        vertx.setTimer(
            GRACE_MILLIS,
            late -> {
              PeerStrategySession open = session;
              if (open != null) {
                open.fail("was undeployed while its worker trained");
              }
              released.tryComplete();
            });
    return released.future().onComplete(done -> vertx.cancelTimer(timer));
  }

  /** Returns the address, which also appears in messages. */
  public String address() {
    return address;
  }

  /** Returns the strategy that the host runs. */
  public StrategyFactory strategy() {
    return strategy;
  }

  /**
   * Opens a session for one incarnation of a worker, on a separate thread.
   *
   * @param stop ends the worker if the verticle that deployed this one is undeployed
   */
  public PeerStrategySession open(PeerStrategySession.Setup setup, Runnable stop) {
    onEnd = owned ? stop : () -> {};
    session = new PeerStrategySession(vertx, job, strategy, setup, address);
    return session;
  }

  /**
   * Sets how to stop the server that uses this host when this verticle is undeployed.
   *
   * @param stop called on this verticle's event loop
   */
  public void endsWith(Runnable stop) {
    onEnd = stop;
  }

  /** An endpoint that is being served. */
  public interface Service {

    /** Ends every wait of the endpoint. It accepts no more frames. */
    Future<Void> close(String why);
  }

  /**
   * Serves an endpoint. Frames, answers and ticks run on this verticle's event loop.
   *
   * @param at address of the frames; nothing else may listen there
   * @return completes when others can send
   */
  public Future<Service> serve(String at, FrameEndpoint endpoint) {
    return call(
        () -> {
          long timer = vertx.setPeriodic(TICK_MILLIS, id -> endpoint.tick(System.nanoTime()));
          Future<Transport.Listening> listening = Transport.borrow(vertx, at, endpoint::handle);
          Service service =
              why ->
                  call(
                      () -> {
                        vertx.cancelTimer(timer);
                        endpoint.close(why);
                        return listening.compose(Transport.Listening::close);
                      });
          return listening.map(service).onFailure(refused -> vertx.cancelTimer(timer));
        });
  }

  /** Runs an action on this verticle's event loop, after all earlier actions. */
  public <T> Future<T> call(Callable<Future<T>> action) {
    Promise<T> done = Promise.promise();
    try {
      context.runOnContext(
          go -> {
            try {
              action.call().onComplete(done);
            } catch (Throwable e) {
              done.fail(e);
            }
          });
    } catch (RejectedExecutionException closed) {
      done.fail(closed);
    }
    return done.future();
  }

  /** Releases the host, which its member no longer uses. */
  public void release() {
    session = null;
    onEnd = () -> {};
    released.tryComplete();
    if (owned) {
      hosts(vertx).removeIfPresent(address, this);
    } else {
      taken.set(false);
    }
  }

  private static LocalMap<String, StrategyHost> hosts(Vertx vertx) {
    return vertx.sharedData().getLocalMap(HOSTS);
  }

  private static String address(JobConfig job, JsonObject beside) {
    Integer rank = beside.getInteger(RANK);
    String role = beside.getString(ROLE);
    if (rank == null || role == null) {
      throw new IllegalArgumentException(
          ("%s: %s is %s, expected {\"role\": \"worker\", \"rank\": 0} or {\"role\": \"server\","
                  + " \"rank\": 0}, with the rank of the member beside it")
              .formatted(job.origin(), BESIDE, beside.encode()));
    }
    String ofRank = job.addresses().strategy(role, rank);
    Integer incarnation = beside.getInteger(INCARNATION);
    return incarnation == null ? ofRank : ofRank + "." + incarnation;
  }
}
