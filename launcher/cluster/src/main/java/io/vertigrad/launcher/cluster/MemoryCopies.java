package io.vertigrad.launcher.cluster;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.checkpoint.PartitionHead;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.PullQueue;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.internal.worker.StateCopies;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a worker's own newest state, and pulls each new one of the rank before it.
 *
 * <p>A state is kept in pieces of one frame; the first one describes the others. Memory: at most
 * five states, {@code 5 / }{@value #HEAP_SHARE} of the heap; larger states are not copied. The
 * thread that writes checkpoints calls {@link #keep}, the worker's threads the other methods.
 * Requests and answers are handled by one event loop.
 */
// Its methods have types of packages that are exported to this module only.
@SuppressWarnings("exports")
public final class MemoryCopies implements StateCopies {

  private static final Logger LOG = LoggerFactory.getLogger(StateCopies.class);
  private static final int HEAP_SHARE = 16;

  /** States of the rank before that are kept: it may be lost before all have saved the newest. */
  private static final int MOST_HELD = 2;

  private static final long TICK_MILLIS = 100;

  private final Vertx vertx;
  private final JobConfig job;
  private final long layout;
  private final PullQueue waiting;
  private final long mostBytes = Runtime.getRuntime().maxMemory() / HEAP_SHARE;
  private volatile boolean wanted;
  private volatile SenderIdentity self;
  private volatile Membership membership = Membership.NONE;
  private volatile Future<Transport.Listening> listening;
  private volatile Context loop;
  private volatile long ticks;
  private volatile State own;
  private volatile State pulled;
  private volatile List<State> held = List.of();
  private volatile boolean following;
  private volatile String followed = "";
  private volatile long newest;

  /**
   * One saved state.
   *
   * @param number counts the states that its worker has saved
   */
  private record State(int rank, long number, RunVersion at, List<Tensor> pieces) {}

  /**
   * Creates an object without states.
   *
   * @param layout hash of the layout of the replica's vector
   * @param clock monotonic clock in nanoseconds for the wait of a pull
   */
  MemoryCopies(Vertx vertx, JobConfig job, long layout, LongSupplier clock) {
    this.vertx = vertx;
    this.job = job;
    this.layout = layout;
    this.waiting =
        new PullQueue(
            job.exchange().deadlineMillis(),
            clock,
            new PullQueue.Source(this::isReached, this::answer, request -> "no newer state"));
  }

  @Override
  public Future<Void> open(SenderIdentity incarnation) {
    self = incarnation;
    loop = vertx.getOrCreateContext();
    ticks = vertx.setPeriodic(TICK_MILLIS, tick -> tick());
    listening =
        Transport.listen(
            vertx, address(incarnation.rank(), incarnation.incarnation()), this::handle);
    return listening.mapEmpty();
  }

  @Override
  public Future<Void> close() {
    vertx.cancelTimer(ticks);
    loop.runOnContext(closing -> waiting.close("this worker is stopping"));
    return listening.compose(Transport.Listening::close);
  }

  private String address(int rank, int incarnation) {
    return job.addresses().member("copies", rank, incarnation);
  }

  @Override
  public void membershipChanged(Membership now) {
    membership = now;
  }

  @Override
  public void keep(int rank, RunVersion at, Supplier<PartitionSnapshot> state) {
    if (!wanted) {
      return;
    }
    PartitionSnapshot copy = state.get();
    JsonObject lengths = new JsonObject();
    copy.parts().forEach((name, elements) -> lengths.put(name, elements.length));
    if (isTooLarge(lengths)) {
      LOG.info(
          "worker {}: its state is not copied to the next rank: larger than {} MiB",
          rank,
          mostBytes >> 20);
      wanted = false;
      return;
    }
    List<Tensor> pieces = new ArrayList<>();
    pieces.add(
        description(new JsonObject().put("samples", copy.head().samples()).put("parts", lengths)));
    for (float[] elements : copy.parts().values()) {
      for (int first = 0; first < elements.length; first += FrameLimits.MAX_ELEMENTS) {
        int length = Math.min(FrameLimits.MAX_ELEMENTS, elements.length - first);
        pieces.add(Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(elements, first, length)));
      }
    }
    own = new State(rank, own == null ? 1 : own.number() + 1, at, pieces);
  }

  private boolean isTooLarge(JsonObject lengths) {
    return lengths.stream().mapToLong(part -> ((Number) part.getValue()).longValue()).sum()
        > mostBytes / Float.BYTES;
  }

  private static Tensor description(JsonObject json) {
    byte[] text = json.encode().getBytes(StandardCharsets.UTF_8);
    int words = (text.length + Float.BYTES - 1) / Float.BYTES;
    return Tensor.wrap(
        DataType.FLOAT32, ByteBuffer.allocate(words * Float.BYTES).put(text).clear());
  }

  private static JsonObject description(List<Tensor> pieces) {
    ByteBuffer text = pieces.get(0).bytes();
    return new JsonObject(StandardCharsets.UTF_8.decode(text).toString().trim());
  }

  @Override
  public List<RunVersion> held(boolean now) {
    wanted = now && job.workers().count() > 1;
    if (!wanted) {
      return List.of();
    }
    int before = Math.floorMod(self.rank() - 1, job.workers().count());
    return held.stream().filter(one -> one.rank() == before).map(State::at).toList();
  }

  @Override
  public PartitionSnapshot fetch(RunVersion at, BooleanSupplier stop) {
    Membership now = membership;
    BooleanSupplier ended = () -> stop.getAsBoolean() || membership.epoch() != now.epoch();
    Membership.Member next =
        neighbour(now, 1).orElseThrow(() -> new GroupChangedException("the next rank is gone"));
    Pull pull =
        new Pull(address(next.rank(), next.incarnation()), self.rank(), layout ^ at.run(), ended);
    pull.next(at.version(), 0);
    return FutureAwait.await(pull.done.future(), ended)
        .map(MemoryCopies::snapshot)
        .map(
            state -> {
              LOG.info(
                  "worker {}: takes version {} from the memory of worker {}, without a checkpoint",
                  self.rank(),
                  at.version(),
                  next.rank());
              return state;
            })
        .orElseThrow(() -> new GroupChangedException("membership epoch " + membership.epoch()));
  }

  private Optional<Membership.Member> neighbour(Membership now, int distance) {
    int rank = Math.floorMod(self.rank() + distance, job.workers().count());
    return rank == self.rank() ? Optional.empty() : now.worker(rank);
  }

  private static PartitionSnapshot snapshot(State from) {
    JsonObject description = description(from.pieces());
    Map<String, float[]> parts = new LinkedHashMap<>();
    int piece = 1;
    for (Map.Entry<String, Object> part : description.getJsonObject("parts")) {
      float[] elements = new float[(int) part.getValue()];
      for (int first = 0; first < elements.length; first += FrameLimits.MAX_ELEMENTS) {
        from.pieces().get(piece++).copyTo(elements, first);
      }
      parts.put(part.getKey(), elements);
    }
    return new PartitionSnapshot(
        new PartitionHead(from.at().version(), description.getDouble("samples")), parts);
  }

  private Future<Frame> handle(Frame frame) {
    return frame instanceof PullRequest request
        ? waiting.pull(request)
        : Future.succeededFuture(frame);
  }

  /** A request for version 0 asks for a state with a higher number than the one before. */
  private boolean isReached(PullRequest request) {
    State newestOwn = own;
    return request.id().step() > 0
        || newestOwn != null && newestOwn.number() > request.minimumVersion();
  }

  private Frame answer(PullRequest request) {
    ExchangeId id = request.id();
    if (id.step() == 0) {
      pulled = own;
      return piece(id, pulled);
    }
    return Stream.concat(Stream.ofNullable(pulled), held.stream())
        .filter(state -> state.rank() == id.worker() && state.at().version() == id.step())
        .filter(state -> (state.at().run() ^ layout) == request.layout())
        .filter(state -> id.partition() < state.pieces().size())
        .findFirst()
        .<Frame>map(state -> piece(id, state))
        .orElseGet(
            () -> new Refusal(id, Refusal.Reason.UNAVAILABLE, "this state is no longer here"));
  }

  private ParameterPartition piece(ExchangeId id, State state) {
    return new ParameterPartition(
        id,
        state.at().run() ^ layout,
        0,
        state.at().version(),
        0,
        Outcome.PULLED,
        state.number(),
        state.pieces().get(id.partition()));
  }

  /** Answers requests that wait, and asks the rank before for its newest state. */
  private void tick() {
    waiting.tick();
    Membership now = membership;
    Optional<Membership.Member> before = wanted ? neighbour(now, -1) : Optional.empty();
    if (following || before.isEmpty()) {
      return;
    }
    int rank = before.get().rank();
    String from = address(rank, before.get().incarnation());
    newest = from.equals(followed) ? newest : 0;
    followed = from;
    following = true;
    Pull pull = new Pull(from, rank, layout, () -> membership.epoch() != now.epoch());
    pull.next(0, newest);
    pull.done
        .future()
        .onComplete(
            (state, failure) -> {
              following = false;
              if (failure == null) {
                newest = state.number();
                held =
                    Stream.concat(Stream.of(state), held.stream())
                        .filter(one -> one.rank() == rank)
                        .limit(MOST_HELD)
                        .toList();
              }
            });
  }

  /** Pulls one state, piece by piece; a request without an answer is repeated. */
  private final class Pull {

    private final String address;
    private final int rank;
    private final BooleanSupplier ended;
    private final List<Tensor> pieces = new ArrayList<>();
    private final Promise<State> done = Promise.promise();
    private long run;
    private int count;

    Pull(String address, int rank, long run, BooleanSupplier ended) {
      this.address = address;
      this.rank = rank;
      this.run = run;
      this.ended = ended;
    }

    void next(long version, long above) {
      if (ended.getAsBoolean()) {
        done.tryFail("the membership has changed");
        return;
      }
      ExchangeId id = new ExchangeId(job.addresses().jobHash(), rank, 0, 0, version, pieces.size());
      Transport.of(vertx, job.exchange())
          .request(address, new PullRequest(id, run, above), job.exchange().retryMillis())
          .onComplete(
              (answer, failure) -> {
                if (answer instanceof ParameterPartition piece) {
                  take(piece, above);
                } else if (answer instanceof Refusal refusal) {
                  done.tryFail(new ExchangeException(address + ": " + refusal.message()));
                } else {
                  vertx.setTimer(job.exchange().retryMillis(), id2 -> next(version, above));
                }
              });
    }

    private void take(ParameterPartition piece, long above) {
      pieces.add(piece.parameters().retain());
      if (pieces.size() == 1) {
        run = piece.layout();
        JsonObject lengths = description(pieces).getJsonObject("parts");
        count = 1;
        for (Map.Entry<String, Object> part : lengths) {
          count += -Math.floorDiv(-(int) part.getValue(), FrameLimits.MAX_ELEMENTS);
        }
        if (isTooLarge(lengths)) {
          done.tryFail(new ExchangeException(address + ": a state larger than the heap allows"));
          return;
        }
      }
      if (pieces.size() < count) {
        next(piece.version(), above);
      } else {
        RunVersion at = new RunVersion(piece.version(), run ^ layout);
        done.tryComplete(new State(rank, piece.firstElement(), at, pieces));
      }
    }
  }

  /** Creates the copies of workers. */
  public static final class Provider implements StateCopies.Provider {

    @Override
    public StateCopies create(Vertx vertx, JobConfig job, long layout, LongSupplier clock) {
      return new MemoryCopies(vertx, job, layout, clock);
    }
  }
}
