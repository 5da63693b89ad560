package io.vertigrad.internal.cluster;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.StateTaken;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.PullQueue;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.internal.worker.StateCopies;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a worker's own newest states, and pulls each new one of the rank before it. While the
 * worker waits for a place, it pulls those of all ranks.
 *
 * <p>A state is kept in pieces of one frame; the first one describes the others. Memory of a
 * worker: two of its own states, one for each member that pulls (at most {@value #MOST_FOLLOWERS}),
 * two of the rank before and one that arrives. Each is at most {@code 1 / }{@value #HEAP_SHARE} of
 * the heap; larger ones are not copied. A member that waits holds two states of each rank, together
 * at most {@code 1 / }{@value #WAITING_SHARE} of the heap, and leaves out ranks for which there is
 * no room.
 *
 * <p>The thread that writes checkpoints or the worker's thread calls {@link #keep}, the worker's
 * thread the other methods. Requests, answers and announcements are handled by one event loop.
 */
// Its methods have types of packages that are exported to this module only.
@SuppressWarnings("exports")
public final class MemoryCopies implements StateCopies {

  private static final Logger LOG = LoggerFactory.getLogger(StateCopies.class);
  private static final int HEAP_SHARE = 16;
  private static final int WAITING_SHARE = 4;

  /** States of a rank that are kept: it may be lost before all have saved the newest. */
  private static final int MOST_HELD = 2;

  /** Members that may pull at once: those that wait for a place, and the next rank. */
  private static final int MOST_WAITING = 3;

  private static final int MOST_FOLLOWERS = MOST_WAITING + 1;

  private static final long TICK_MILLIS = 100;
  private static final long POLL_MILLIS = 50;

  /** A member that waits for a newer state asks again after so long. */
  private static final long ASK_MILLIS = 1_000;

  /** One that has not asked for so long is gone. */
  private static final long SILENT_MILLIS = 2_500;

  /** How often a member that waits for a place logs what it holds. */
  private static final long LOG_NANOS = 60_000_000_000L;

  private static final double BYTES_PER_MIB = 1 << 20;

  private final Vertx vertx;
  private final JobConfig job;
  private final long layout;
  private final PullQueue waiting;
  private final long mostBytes;
  private final long mostWaitingBytes;

  /** Tells this object's pulls from those of others. */
  private final int token = ThreadLocalRandom.current().nextInt(Integer.MAX_VALUE);

  private final Context loop;
  private final BooleanSupplier waits;

  /** Incarnations of the workers that have saved states, by rank; of the event loop. */
  private final Map<Integer, Integer> announced = new HashMap<>();

  /** The workers whose states are pulled, by address; changed by the event loop. */
  private final Map<String, Source> sources = new ConcurrentHashMap<>();

  /** The members that pull, by token; guarded by itself. */
  private final Map<Integer, Follower> followers = new LinkedHashMap<>();

  private final MessageConsumer<JsonObject> announcements;
  private volatile boolean wanted;
  private volatile SenderIdentity self;
  private volatile Membership membership = Membership.NONE;
  private Future<Transport.Listening> listening;
  private volatile List<State> own = List.of();
  private volatile Map<Integer, List<State>> held = Map.of();
  private long loggedNanos;
  private long ticks = -1;

  /**
   * One saved state.
   *
   * @param number counts the states that its worker has saved
   */
  private record State(int rank, long number, RunVersion at, List<Tensor> pieces) {

    long bytes() {
      return pieces.stream().mapToLong(piece -> piece.bytes().remaining()).sum();
    }
  }

  /**
   * Creates an object without states, which follows all ranks until it is opened.
   *
   * @param layout hash of the layout of the replica's vector
   * @param clock monotonic clock in nanoseconds for the wait of a pull
   * @param waits whether the worker waits for its first place
   * @param heapBytes size of the heap
   */
  MemoryCopies(
      Vertx vertx,
      JobConfig job,
      long layout,
      LongSupplier clock,
      BooleanSupplier waits,
      long heapBytes) {
    this.vertx = vertx;
    this.job = job;
    this.layout = layout;
    this.waiting =
        new PullQueue(
            job.exchange().deadlineMillis(),
            clock,
            new PullQueue.Source(this::isReached, this::answer, request -> "no newer state"));
    this.waits = waits;
    mostBytes = heapBytes / HEAP_SHARE;
    mostWaitingBytes = heapBytes / WAITING_SHARE;
    loop = vertx.getOrCreateContext();
    announcements = vertx.eventBus().consumer(savedAddress(), saved -> onSaved(saved.body()));
    loop.runOnContext(go -> startTicks());
  }

  private void startTicks() {
    vertx.cancelTimer(ticks);
    ticks = vertx.setPeriodic(TICK_MILLIS, tick -> tick());
  }

  @Override
  public Future<Void> open(SenderIdentity incarnation) {
    self = incarnation;
    Promise<Void> opened = Promise.promise();
    loop.runOnContext(
        go -> {
          startTicks();
          listening =
              Transport.listen(
                  vertx, address(incarnation.rank(), incarnation.incarnation()), this::handle);
          listening.<Void>mapEmpty().onComplete(opened);
        });
    return opened.future();
  }

  @Override
  public Future<Void> close() {
    self = null;
    announcements.unregister();
    Promise<Void> closed = Promise.promise();
    loop.runOnContext(
        go -> {
          vertx.cancelTimer(ticks);
          sources.clear();
          waiting.close("this worker is stopping");
          Future<Transport.Listening> open = listening;
          listening = null;
          (open == null ? Future.<Void>succeededFuture() : open.compose(Transport.Listening::close))
              .onComplete(closed);
        });
    return closed.future();
  }

  private String address(int rank, int incarnation) {
    return job.addresses().member("copies", rank, incarnation);
  }

  /** Returns the address on which workers publish that they have saved a state. */
  private String savedAddress() {
    return Addresses.PREFIX + job.addresses().job() + ".copies";
  }

  @Override
  public void membershipChanged(Membership now) {
    membership = now;
  }

  @Override
  public void keep(int rank, RunVersion at, Supplier<SavedState> state) {
    if (!wanted) {
      return;
    }
    SavedState saved = state.get();
    Map<String, FloatBuffer> parts = saved.parts();
    JsonObject lengths = new JsonObject();
    parts.forEach((name, elements) -> lengths.put(name, elements.remaining()));
    if (bytes(lengths) > mostBytes) {
      LOG.info(
          "{}: its state is not copied to other members: larger than {} MiB",
          job.nameOf(Role.WORKER.lower(), rank),
          mostBytes >> 20);
      wanted = false;
      return;
    }
    List<Tensor> pieces = new ArrayList<>();
    pieces.add(
        description(new JsonObject().put("samples", saved.head().samples()).put("parts", lengths)));
    for (FloatBuffer elements : parts.values()) {
      for (int first = 0; first < elements.remaining(); first += FrameLimits.MAX_ELEMENTS) {
        int length = Math.min(FrameLimits.MAX_ELEMENTS, elements.remaining() - first);
        FloatBuffer piece = elements.slice(elements.position() + first, length);
        pieces.add(Tensor.copyOf(DataType.FLOAT32, piece));
      }
    }
    long number = own.isEmpty() ? 1 : own.get(0).number() + 1;
    own = newest(new State(rank, number, at, pieces), own);
    loop.runOnContext(go -> saved());
  }

  /** Answers members that wait for this state, and announces it to others. */
  private void saved() {
    SenderIdentity now = self;
    waiting.tick();
    if (now != null) {
      int before = before(now);
      held = held.containsKey(before) ? Map.of(before, held.get(before)) : Map.of();
      JsonObject saved =
          new JsonObject().put("rank", now.rank()).put("incarnation", now.incarnation());
      vertx.eventBus().publish(savedAddress(), saved);
    }
  }

  /** Returns a rank's states with a new one. */
  private static List<State> newest(State first, List<State> before) {
    return Stream.concat(
            Stream.of(first),
            before.stream()
                .filter(one -> one.rank() == first.rank() && !one.at().equals(first.at())))
        .limit(MOST_HELD)
        .toList();
  }

  private static long bytes(JsonObject lengths) {
    return Float.BYTES
        * lengths.stream().mapToLong(part -> ((Number) part.getValue()).longValue()).sum();
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
  public void awaitHeld(BooleanSupplier stop) {
    long number = own.isEmpty() ? 0 : own.get(0).number();
    try {
      synchronized (followers) {
        while (!stop.getAsBoolean()
            && followers.values().stream().anyMatch(follower -> follower.lacks(number))) {
          followers.wait(POLL_MILLIS);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public List<RunVersion> held(boolean now) {
    wanted = now && job.workers().count() > 1;
    return wanted
        ? held.getOrDefault(before(self), List.of()).stream().map(State::at).toList()
        : List.of();
  }

  private int before(SenderIdentity rank) {
    return Math.floorMod(rank.rank() - 1, job.workers().count());
  }

  @Override
  public List<RunVersion> own() {
    return ownStates().map(State::at).distinct().toList();
  }

  /** Returns the states of this rank: those it has saved, and those it got while it waited. */
  private Stream<State> ownStates() {
    int rank = self.rank();
    return Stream.concat(
        own.stream().filter(state -> state.rank() == rank),
        held.getOrDefault(rank, List.of()).stream());
  }

  @Override
  public Optional<SavedState> fetch(RunVersion at, BooleanSupplier stop) {
    Optional<State> found = ownStates().filter(state -> state.at().equals(at)).findFirst();
    if (found.isPresent()) {
      found.filter(state -> !own.contains(state)).ifPresent(followed -> report(at, self.rank()));
      return found.map(MemoryCopies::snapshot);
    }
    Membership.Member next =
        next().orElseThrow(() -> new GroupChangedException("the next rank is gone"));
    BooleanSupplier gone = () -> !membership.hasWorker(next.rank(), next.incarnation());
    Source from = new Source(self.rank(), address(next.rank(), next.incarnation()));
    Pull pull = new Pull(from, layout ^ at.run(), () -> stop.getAsBoolean() || gone.getAsBoolean());
    pull.next(at.version());
    try {
      SavedState state =
          FutureAwait.await(pull.done.future(), pull.ended)
              .map(MemoryCopies::snapshot)
              .orElseThrow(() -> new GroupChangedException("epoch " + membership.epoch()));
      report(at, next.rank());
      return Optional.of(state);
    } catch (ExchangeException none) {
      LOG.debug("no copy of version {}: {}", at.version(), none.getMessage());
      return Optional.empty();
    }
  }

  /**
   * Announces that this rank goes on from a copy, which this rank's process or another one held.
   */
  private void report(RunVersion at, int holder) {
    StateTaken taken =
        new StateTaken(System.currentTimeMillis(), self.rank(), at.version(), holder);
    LOG.info("{}", taken.toJson().encode());
    new EventPublisher(vertx, job.addresses()).publish(taken);
  }

  private Optional<Membership.Member> next() {
    SenderIdentity now = self;
    return now == null || job.workers().count() == 1
        ? Optional.empty()
        : membership.worker(Math.floorMod(now.rank() + 1, job.workers().count()));
  }

  private static SavedState snapshot(State from) {
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
    return SavedState.of(
        new SavedState.Head(from.at().version(), description.getDouble("samples")), parts);
  }

  // ---- Answers to other members

  private Future<Frame> handle(Frame frame) {
    if (!(frame instanceof PullRequest request)) {
      return Future.succeededFuture(frame);
    }
    boolean known = request.id().job() == job.addresses().jobHash() && follows(request);
    return known
        ? waiting.pull(request)
        : Future.succeededFuture(refusal(request, "this worker has no room for another copy"));
  }

  private static Refusal refusal(PullRequest request, String why) {
    return new Refusal(request.id(), Refusal.Reason.UNAVAILABLE, why);
  }

  /** Records who asks; returns false for one too many. Requests for one state are no following. */
  private boolean follows(PullRequest request) {
    synchronized (followers) {
      followers.values().removeIf(Follower::isSilent);
      if (request.id().step() == 0) {
        boolean isMember = request.id().incarnation() > 0;
        long others = followers.values().stream().filter(one -> one.incarnation == 0).count();
        boolean isFull = isMember ? followers.size() > MOST_FOLLOWERS : others >= MOST_WAITING;
        if (isFull && !followers.containsKey(request.id().epoch())) {
          return false;
        }
        followers.computeIfAbsent(request.id().epoch(), unknown -> new Follower()).asks(request);
      } else if (followers.containsKey(request.id().epoch())) {
        followers.get(request.id().epoch()).seenNanos = System.nanoTime();
      }
      followers.notifyAll();
    }
    return true;
  }

  /** A request for version 0 asks for a state with a higher number than the one before. */
  private boolean isReached(PullRequest request) {
    List<State> now = own;
    return request.id().step() > 0
        || !now.isEmpty()
            && now.get(0).rank() == request.id().worker()
            && now.get(0).number() > request.minimumVersion();
  }

  private Frame answer(PullRequest request) {
    ExchangeId id = request.id();
    State newest = id.step() == 0 ? own.get(0) : null;
    Optional<State> pulled;
    synchronized (followers) {
      Follower follower = followers.getOrDefault(id.epoch(), new Follower());
      follower.pulled = newest == null ? follower.pulled : Optional.of(newest);
      pulled = follower.pulled;
    }
    if (newest != null && newest.rank() == id.worker()) {
      return request.layout() == layout
          ? piece(id, newest)
          : new Refusal(id, Refusal.Reason.WRONG_LAYOUT, "another model");
    }
    return Stream.of(
            pulled.stream(), own.stream(), held.getOrDefault(id.worker(), List.of()).stream())
        .flatMap(states -> states)
        .filter(state -> state.rank() == id.worker() && state.at().version() == id.step())
        .filter(state -> (state.at().run() ^ layout) == request.layout())
        .filter(state -> id.partition() < state.pieces().size())
        .findFirst()
        .<Frame>map(state -> piece(id, state))
        .orElseGet(() -> refusal(request, "this state is no longer here"));
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

  /** A member that pulls each new state of this worker: the next rank, or one without a place. */
  private final class Follower {

    private int incarnation;
    private long has;
    private long seenNanos;
    private Optional<State> pulled = Optional.empty();

    /** Takes a request for a newer state: it has the one before. */
    void asks(PullRequest request) {
      // 0 is a member that waits; others send the incarnation after their own.
      incarnation = request.id().incarnation();
      has = request.minimumVersion();
      seenNanos = System.nanoTime();
      pulled = Optional.empty();
    }

    boolean isSilent() {
      long limit =
          pulled.isPresent()
              ? Math.max(SILENT_MILLIS, job.exchange().retryMillis())
              : SILENT_MILLIS;
      return System.nanoTime() - seenNanos > TimeUnit.MILLISECONDS.toNanos(limit);
    }

    /** Returns whether it is there and has not got this state yet. */
    boolean lacks(long number) {
      boolean isGone =
          incarnation > 0 && next().filter(one -> one.incarnation() == incarnation - 1).isEmpty();
      return has < number && !isGone && !isSilent();
    }
  }

  // ---- States of other members

  /** Takes the announcement of a saved state. */
  private void onSaved(JsonObject saved) {
    if (saved.getValue("rank") instanceof Integer rank
        && saved.getValue("incarnation") instanceof Integer incarnation
        && rank >= 0
        && rank < job.workers().count()
        && incarnation >= 0) {
      loop.runOnContext(go -> announced.put(rank, incarnation));
    }
  }

  /** Answers requests that wait, and asks for the newest states of those that it follows. */
  private void tick() {
    waiting.tick();
    Map<String, Integer> wantedNow = new HashMap<>();
    SenderIdentity now = self;
    if (now == null && waits.getAsBoolean()) {
      announced.forEach((rank, incarnation) -> wantedNow.put(address(rank, incarnation), rank));
    } else if (now != null && wanted) {
      membership
          .worker(before(now))
          .ifPresent(one -> wantedNow.put(address(one.rank(), one.incarnation()), one.rank()));
    }
    sources.keySet().retainAll(wantedNow.keySet());
    wantedNow.forEach((address, rank) -> sources.putIfAbsent(address, new Source(rank, address)));
    sources.values().forEach(this::pull);
  }

  private void pull(Source from) {
    if (from.pulling || from.refused) {
      return;
    }
    from.pulling = true;
    Pull pull = new Pull(from, layout, () -> sources.get(from.address) != from);
    pull.next(0);
    pull.done
        .future()
        .onComplete(
            (state, failure) ->
                loop.runOnContext(
                    go -> {
                      from.pulling = false;
                      if (failure == null && sources.get(from.address) == from) {
                        from.newest = state.number();
                        hold(state);
                        // The next state's worker waits until this one has pulled it.
                        pull(from);
                      }
                    }));
  }

  private void hold(State state) {
    Map<Integer, List<State>> now = new HashMap<>(held);
    now.put(state.rank(), newest(state, now.getOrDefault(state.rank(), List.of())));
    held = Map.copyOf(now);
    logHeld();
  }

  /** Logs what a member that waits holds: once it has followed all ranks, then once a minute. */
  private void logHeld() {
    int ranks = job.workers().count();
    boolean isWhole =
        sources.size() == ranks
            && sources.values().stream().allMatch(one -> one.refused || one.newest > 0);
    long nanos = System.nanoTime();
    if (self != null || !isWhole || loggedNanos != 0 && nanos - loggedNanos < LOG_NANOS) {
      return;
    }
    loggedNanos = nanos;
    LOG.info(
        "waits for a place with the states of {} of {} {} in memory, version {} ({} MiB)",
        held.size(),
        ranks,
        job.pipeline().isPresent() ? "stages" : "workers",
        held.values().stream().mapToLong(all -> all.get(0).at().version()).min().orElse(0),
        String.format(Locale.ROOT, "%.1f", heldBytes() / BYTES_PER_MIB));
  }

  /** Returns the bytes of the states of other workers that are held. */
  long heldBytes() {
    return held.values().stream().flatMap(List::stream).mapToLong(State::bytes).sum();
  }

  /** A worker whose states are pulled; belongs to the event loop. */
  private static final class Source {

    private final int rank;
    private final String address;
    private volatile long newest;
    private volatile long bytes;
    private boolean pulling;

    /** Whether there is no room for its states. */
    private volatile boolean refused;

    Source(int rank, String address) {
      this.rank = rank;
      this.address = address;
    }
  }

  /** Pulls one state, piece by piece; a request without an answer is repeated. */
  private final class Pull {

    private final Source from;
    private final BooleanSupplier ended;
    private final List<Tensor> pieces = new ArrayList<>();
    private final Promise<State> done = Promise.promise();
    private final int incarnation;
    private long begunNanos = System.nanoTime();
    private long run;
    private List<Integer> expected = List.of();

    Pull(Source from, long run, BooleanSupplier ended) {
      this.from = from;
      this.run = run;
      this.ended = ended;
      SenderIdentity now = self;
      incarnation = now == null ? 0 : now.incarnation() + 1;
    }

    void next(long version) {
      if (ended.getAsBoolean()) {
        done.tryFail("the membership has changed");
        return;
      }
      ExchangeId id =
          new ExchangeId(
              job.addresses().jobHash(), from.rank, incarnation, token, version, pieces.size());
      long retryMillis = job.exchange().retryMillis();
      long limitMillis = version == 0 ? Math.min(ASK_MILLIS, retryMillis) : retryMillis;
      Transport.of(vertx, job.exchange())
          .request(from.address, new PullRequest(id, run, from.newest), limitMillis)
          .onComplete(
              (answer, failure) -> {
                if (answer instanceof ParameterPartition piece && piece.id().equals(id)) {
                  take(piece, version);
                } else if (answer instanceof Refusal refusal) {
                  done.tryFail(new ExchangeException(from.address + ": " + refusal.message()));
                } else if (version != 0 && System.nanoTime() - begunNanos > silentNanos()) {
                  done.tryFail(new ExchangeException(from.address + " does not answer"));
                } else {
                  vertx.setTimer(Math.min(TICK_MILLIS, retryMillis), again -> next(version));
                }
              });
    }

    /** Returns how long one state is asked for without an answer: a member may be starting. */
    private long silentNanos() {
      return TimeUnit.MILLISECONDS.toNanos(job.exchange().evictMillis());
    }

    private void take(ParameterPartition piece, long version) {
      begunNanos = System.nanoTime();
      try {
        pieces.add(piece.parameters().retain());
        if (pieces.size() == 1) {
          begin(piece, version);
        }
        check(piece, version);
      } catch (RuntimeException e) {
        done.tryFail(new ExchangeException(from.address + ": " + e.getMessage()));
        return;
      }
      if (pieces.size() <= expected.size()) {
        next(piece.version());
      } else {
        RunVersion at = new RunVersion(piece.version(), run ^ layout);
        done.tryComplete(new State(from.rank, piece.firstElement(), at, pieces));
      }
    }

    /** Takes the description; any run's newest state is welcome. */
    private void begin(ParameterPartition piece, long version) {
      run = version == 0 ? piece.layout() : run;
      JsonObject lengths = description(pieces).getJsonObject("parts");
      requireRoom(bytes(lengths));
      expected = new ArrayList<>();
      for (Map.Entry<String, Object> part : lengths) {
        int length = (Integer) part.getValue();
        if (length < 0) {
          throw new IllegalArgumentException(part.getKey() + " has " + length + " elements");
        }
        for (int first = 0; first < length; first += FrameLimits.MAX_ELEMENTS) {
          expected.add(Math.min(FrameLimits.MAX_ELEMENTS, length - first));
        }
      }
    }

    private void requireRoom(long bytes) {
      from.bytes = bytes;
      long all = MOST_HELD * sources.values().stream().mapToLong(one -> one.bytes).sum();
      if (bytes > mostBytes || self == null && all > mostWaitingBytes) {
        from.bytes = 0;
        from.refused = true;
        String why =
            "%s MiB, expected at most %s MiB for a state and %s MiB for those of all ranks: raise -Xmx"
                .formatted(bytes >> 20, mostBytes >> 20, mostWaitingBytes >> 20);
        LOG.info("the state of {} is not copied: {}", from.address, why);
        throw new IllegalArgumentException(why);
      }
    }

    private void check(ParameterPartition piece, long version) {
      int part = pieces.size() - 1;
      TensorView found = piece.parameters();
      boolean fits = part == 0 || part <= expected.size() && isWhole(found, expected.get(part - 1));
      if (version != 0 && piece.version() != version || piece.layout() != run || !fits) {
        throw new IllegalArgumentException(
            "found piece %s of version %s with %s elements, expected one of version %s"
                .formatted(part, piece.version(), found.length(), version));
      }
    }

    private static boolean isWhole(TensorView found, int elements) {
      return found.length() == elements && found.payloadBytes() == elements * Float.BYTES;
    }
  }

  /** Creates the copies of workers. */
  public static final class Provider implements StateCopies.Provider {

    @Override
    public StateCopies create(
        Vertx vertx, JobConfig job, long layout, LongSupplier clock, BooleanSupplier waits) {
      long heapBytes = Runtime.getRuntime().maxMemory();
      return new MemoryCopies(vertx, job, layout, clock, waits, heapBytes);
    }
  }
}
