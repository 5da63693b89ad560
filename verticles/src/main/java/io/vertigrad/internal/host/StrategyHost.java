package io.vertigrad.internal.host;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.PeerStrategyFactory;
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
 * One strategy verticle as others of its JVM see it: a context on which a {@link FrameEndpoint}
 * takes frames, and a place for a {@link PeerStrategySession}.
 *
 * <p>It is found by its address, in a map that all of a Vert.x instance share, so that gradients
 * and parameters pass by reference. Any thread.
 */
public final class StrategyHost implements Shareable {

  /** In a strategy verticle's configuration: whom it stands beside. */
  public static final String BESIDE = "beside";

  /** In whom it stands beside: for which incarnation alone. */
  static final String INCARNATION = "incarnation";

  private static final String HOSTS = "vertigrad.strategies";
  private static final String RANK = "rank";
  private static final String ROLE = "role";
  private static final long TICK_MILLIS = 100;
  private static final long REGISTER_NANOS = 2_000_000_000L;
  private static final long REGISTER_LOOK_MILLIS = 20;
  private static final long GRACE_MILLIS = 1_000;

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final String address;
  private final StrategyFactory strategy;
  private final AtomicBoolean taken = new AtomicBoolean();
  private volatile Promise<Void> released = Promise.promise();
  private volatile Runnable ending = () -> {};
  private volatile boolean owned;
  private volatile PeerStrategySession session;

  /**
   * A host that nobody can find yet.
   *
   * @param context on which endpoints are served
   * @param beside whom it stands beside: {@code role} ({@code server} or {@code worker}), {@code
   *     rank}, and {@code incarnation} where it stands beside no other
   */
  public StrategyHost(Vertx vertx, Context context, JobConfig job, JsonObject beside) {
    this.vertx = vertx;
    this.context = context;
    this.job = job;
    this.address = address(job, beside);
    this.strategy =
        StrategyProviders.configure(job.strategy(), StrategyHost.class.getClassLoader());
    boolean peers = strategy instanceof PeerStrategyFactory;
    String expected = (peers ? Role.WORKER : Role.SERVER).lower();
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

  /** Whom a strategy verticle stands beside, for its configuration. */
  static JsonObject beside(Role role, int rank) {
    return new JsonObject().put(ROLE, role.lower()).put(RANK, rank);
  }

  /** True for a strategy verticle that a member has deployed for itself. */
  public static boolean isOwned(JsonObject beside) {
    return beside.containsKey(INCARNATION);
  }

  /** The one that stands there; null for none. */
  static StrategyHost at(Vertx vertx, JobConfig job, JsonObject beside) {
    return hosts(vertx).get(address(job, beside));
  }

  /** Makes it the caller's until {@link #release}, if it is nobody's. */
  boolean take() {
    boolean free = taken.compareAndSet(false, true);
    if (free) {
      released = Promise.promise();
    }
    return free;
  }

  /** It was deployed by whom it stands beside, and ends with it. */
  StrategyHost owned() {
    taken.set(true);
    owned = true;
    return this;
  }

  /**
   * Lets others find it; fails when the address stays taken for two seconds, in which the member of
   * a job of the same name that has just ended is gone.
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
      registered.fail(taken());
    } else {
      vertx.setTimer(REGISTER_LOOK_MILLIS, id -> register(registered, deadline));
    }
  }

  /** For people: the place is taken. */
  String taken() {
    return "another strategy verticle is at %s: deploy one for each worker or shard"
        .formatted(address);
  }

  /**
   * Nobody finds it any more. A server is told to end, and so is a worker whose verticle deployed
   * it, for that verticle is being undeployed. They and any other worker have a second to release
   * it, because a closing Vert.x undeploys all verticles at once; then a worker's exchange fails.
   */
  public Future<Void> unregister() {
    hosts(vertx).removeIfPresent(address, this);
    if (take()) {
      return Future.succeededFuture();
    }
    ending.run();
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

  /** Where it is found; for people, too. */
  public String address() {
    return address;
  }

  /** What it runs. */
  public StrategyFactory strategy() {
    return strategy;
  }

  /**
   * The strategy as one incarnation of a worker uses it, on a thread of its own.
   *
   * @param stop ends the worker, when the verticle that deployed this one is undeployed
   */
  public PeerStrategySession open(PeerStrategySession.Setup setup, Runnable stop) {
    ending = owned ? stop : () -> {};
    session = new PeerStrategySession(vertx, job, (PeerStrategyFactory) strategy, setup, address);
    return session;
  }

  /**
   * Ends the server beside which it stands, when this verticle is undeployed.
   *
   * @param stop called on this verticle's event loop
   */
  public void endsWith(Runnable stop) {
    ending = stop;
  }

  /** An endpoint that is being served. */
  public interface Service {

    /** Ends every wait of the endpoint, and takes no more frames. */
    Future<Void> close(String why);
  }

  /**
   * Serves an endpoint: frames, answers and ticks are on this verticle's event loop, with nothing
   * in between.
   *
   * @param at where its frames arrive; nobody else may listen there
   * @return completes when others can send
   */
  public Future<Service> serve(String at, FrameEndpoint endpoint) {
    return reserve(at).compose(reserved -> serve(reserved, endpoint));
  }

  /**
   * Listens before there is anything to serve, for whoever has to begin at once later: it takes a
   * cluster a while to hear of an address, above all while it loses a node.
   *
   * @param at where frames arrive; until an endpoint is served there they fail
   * @return completes when others can send
   */
  public Future<Reservation> reserve(String at) {
    return call(
        () -> {
          Reservation reserved = new Reservation();
          return Transport.borrow(vertx, at, reserved::handle)
              .map(
                  listening -> {
                    reserved.listening = listening;
                    return reserved;
                  });
        });
  }

  /** An address that is listened at. Belongs to the strategy verticle's event loop. */
  public static final class Reservation {

    private Transport.Listening listening;
    private FrameEndpoint endpoint;

    private Reservation() {}

    /** Ends it. */
    public Future<Void> close() {
      return listening.close();
    }

    private Future<Frame> handle(Frame frame) {
      return endpoint == null
          ? Future.failedFuture("nobody serves here yet")
          : endpoint.handle(frame);
    }
  }

  /** Serves an endpoint at an address that was reserved here, at once. */
  public Future<Service> serve(Reservation reserved, FrameEndpoint endpoint) {
    return call(
        () -> {
          long timer = vertx.setPeriodic(TICK_MILLIS, id -> endpoint.tick(System.nanoTime()));
          reserved.endpoint = endpoint;
          return Future.succeededFuture(
              why ->
                  call(
                      () -> {
                        vertx.cancelTimer(timer);
                        endpoint.close(why);
                        return reserved.close();
                      }));
        });
  }

  /** Does something on this verticle's event loop, after all that was asked of it before. */
  public <T> Future<T> call(Callable<Future<T>> action) {
    Promise<T> done = Promise.promise();
    try {
      context.runOnContext(
          go -> {
            try {
              action.call().onComplete(done);
            } catch (Exception e) {
              done.fail(e);
            }
          });
    } catch (RejectedExecutionException closed) {
      done.fail(closed);
    }
    return done.future();
  }

  /** Is no longer used by whom it stands beside. */
  public void release() {
    session = null;
    ending = () -> {};
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
                  + " \"rank\": 0}, with the rank of whom it stands beside")
              .formatted(job.origin(), BESIDE, beside.encode()));
    }
    String ofRank = job.addresses().strategy(role, rank);
    Integer incarnation = beside.getInteger(INCARNATION);
    return incarnation == null ? ofRank : ofRank + "." + incarnation;
  }
}
