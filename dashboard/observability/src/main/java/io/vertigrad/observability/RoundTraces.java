package io.vertigrad.observability;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.training.RunningJob;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exports every n-th round of a job as a trace of OpenTelemetry: one root span, below it one span
 * per member, and below these what the member did, as in {@code timeline.json}. The spans are those
 * that members record for a timeline, so the job file needs {@code "timeline": true}. One process
 * exports the spans of all members.
 *
 * <p>A strategy without rounds has a trace for every n-th step of each worker and update of each
 * server instead. The trace id follows from the run and the round: the root span names a parent
 * that is never exported, because only a parent decides a trace id in every OpenTelemetry. Any
 * thread may use it.
 */
public final class RoundTraces implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(RoundTraces.class);
  private static final String SCOPE = "io.vertigrad";
  private static final String SERVER = "server ";
  private static final long LOOK_MILLIS = 500;

  /** Members send their spans four times a second; a round is complete when none has come since. */
  private static final long QUIET_MILLIS = 1_000;

  private static final int MOST_SPANS = 20_000;
  private static final int ROW = 4;
  private static final int TRACE_BYTES = 16;
  private static final int SPAN_BYTES = 8;

  private final Tracer tracer;
  private final String job;
  private final String address;
  private final String run;
  private final long every;
  private final StrategyTraits traits;
  private final Map<Round, Recorded> pending = new LinkedHashMap<>();
  private final Map<String, Long> newest = new HashMap<>();
  private Runnable stop = () -> {};
  private long waiting;
  private long leftOut;
  private boolean closed;

  /** A round of all members, or one member's step if the strategy has no rounds. */
  private record Round(String member, long number) {}

  /** What one member did. */
  private record Activity(String name, long startMicros, long micros) {

    long endMicros() {
      return startMicros + micros;
    }
  }

  private static final class Recorded {

    private final Map<String, List<Activity>> members = new TreeMap<>();
    private final Map<String, String> nodes = new HashMap<>();
    private long changedMillis;
  }

  private RoundTraces(JobConfig job, OpenTelemetry telemetry, long every) {
    if (!job.timeline()) {
      throw new IllegalArgumentException(
          "job \"%s\": timeline is false, expected true: members record what they do only then"
              .formatted(job.addresses().job()));
    }
    if (every < 1) {
      throw new IllegalArgumentException("every %s, expected at least 1".formatted(every));
    }
    this.job = job.addresses().job();
    address = job.addresses().timeline();
    this.every = every;
    run = job.run().id().orElseGet(() -> Long.toString(System.currentTimeMillis()));
    tracer = telemetry.getTracer(SCOPE);
    traits =
        StrategyProviders.configure(job.strategy(), RoundTraces.class.getClassLoader()).traits();
  }

  /**
   * Exports rounds of a job that this application has deployed, until it has ended.
   *
   * @param vertx the application's Vert.x
   * @param job the job, with {@code "timeline": true}
   * @param telemetry exports the spans
   * @param every exports every n-th round, at least 1
   * @return the traces; close them to end earlier
   * @throws IllegalArgumentException if the job has no timeline
   */
  public static RoundTraces export(
      Vertx vertx, RunningJob job, OpenTelemetry telemetry, long every) {
    Executor context = contextOf(vertx);
    RoundTraces traces = new RoundTraces(job.config(), telemetry, every).listen(vertx);
    // Spans that members have sent before the result are handled first.
    job.result().onComplete(ended -> context.execute(traces::close));
    return traces;
  }

  /**
   * Exports rounds of a job that is started after this call, here or on another node.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's configuration, with {@code "timeline": true}
   * @param telemetry exports the spans
   * @param every exports every n-th round, at least 1
   * @return the traces, which are exported until they are closed
   * @throws IllegalArgumentException if the job has no timeline
   */
  public static RoundTraces export(
      Vertx vertx, JobConfig job, OpenTelemetry telemetry, long every) {
    return new RoundTraces(job, telemetry, every).listen(vertx);
  }

  /**
   * Returns OpenTelemetry's global instance, if an agent or its own configuration has set it.
   *
   * @return empty if it exports nothing
   */
  public static Optional<OpenTelemetry> global() {
    OpenTelemetry telemetry = GlobalOpenTelemetry.get();
    // A span that is never ended is never exported.
    return telemetry.getTracer(SCOPE).spanBuilder("probe").startSpan().getSpanContext().isValid()
        ? Optional.of(telemetry)
        : Optional.empty();
  }

  /**
   * Returns the id of the trace that has a span.
   *
   * @param member the member that recorded the span, such as {@code worker 0}
   * @param step the span's step; negative for none
   * @return 32 hexadecimal digits; empty for a span that is not exported
   */
  public Optional<String> traceId(String member, long step) {
    return step < 0
        ? Optional.empty()
        : Optional.of(round(member, step))
            .filter(round -> round.number() % every == 0)
            .map(this::traceId);
  }

  /** Exports what has arrived, and stops. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      stop.run();
    } catch (RejectedExecutionException vertxClosed) {
      LOG.debug("job {}: its Vert.x was closed before its traces", job);
    }
    pending.forEach(this::export);
    pending.clear();
    if (leftOut > 0) {
      LOG.warn("job {}: {} spans are missing in traces: too many at once", job, leftOut);
    }
  }

  /** Returns the context on which consumers that this thread registers receive messages. */
  private static Executor contextOf(Vertx vertx) {
    var context = vertx.getOrCreateContext();
    return task -> context.runOnContext(go -> task.run());
  }

  private RoundTraces listen(Vertx vertx) {
    MessageConsumer<JsonObject> consumer =
        vertx.eventBus().consumer(address, sent -> take(sent.body(), System.currentTimeMillis()));
    long timer = vertx.setPeriodic(LOOK_MILLIS, id -> exportComplete(System.currentTimeMillis()));
    synchronized (this) {
      stop =
          () -> {
            consumer.unregister();
            vertx.cancelTimer(timer);
          };
    }
    return this;
  }

  /** Keeps the spans that a member has sent. */
  synchronized void take(JsonObject shipment, long timeMillis) {
    if (closed) {
      return;
    }
    String member = shipment.getString("member");
    JsonArray names = shipment.getJsonArray("names");
    JsonArray spans = shipment.getJsonArray("spans");
    for (int at = 0; at + ROW <= spans.size(); at += ROW) {
      long step = spans.getLong(at + 3);
      if (step < 0) {
        continue;
      }
      Round round = round(member, step);
      newest.merge(round.member(), round.number(), Math::max);
      if (round.number() % every != 0) {
        continue;
      }
      if (waiting == MOST_SPANS) {
        leftOut++;
        continue;
      }
      waiting++;
      Recorded recorded = pending.computeIfAbsent(round, first -> new Recorded());
      recorded.changedMillis = timeMillis;
      recorded.nodes.put(member, shipment.getString("node"));
      recorded
          .members
          .computeIfAbsent(member, first -> new ArrayList<>())
          .add(
              new Activity(
                  names.getString(spans.getInteger(at)),
                  spans.getLong(at + 1),
                  spans.getLong(at + 2)));
    }
  }

  /** A version of the servers may be several steps of a worker. */
  private Round round(String member, long step) {
    boolean server = member.startsWith(SERVER);
    return new Round(
        traits.lockstep() ? "" : member, server ? step : step / traits.stepsPerVersion());
  }

  /** Exports the rounds after which two more have begun, and of which nothing has come since. */
  synchronized void exportComplete(long timeMillis) {
    for (Iterator<Map.Entry<Round, Recorded>> all = pending.entrySet().iterator();
        all.hasNext(); ) {
      Map.Entry<Round, Recorded> round = all.next();
      if (newest.get(round.getKey().member()) > round.getKey().number() + 1
          && timeMillis - round.getValue().changedMillis >= QUIET_MILLIS) {
        all.remove();
        export(round.getKey(), round.getValue());
      }
    }
  }

  private void export(Round round, Recorded recorded) {
    List<Activity> all = recorded.members.values().stream().flatMap(List::stream).toList();
    waiting -= all.size();
    Span root = root(round, all);
    root.setAttribute("vertigrad.job", job);
    root.setAttribute("vertigrad.run", run);
    root.setAttribute("vertigrad.step", round.number());
    recorded.members.forEach(
        (member, activities) -> {
          Span of = begin(member, activities, Context.root().with(root)).startSpan();
          of.setAttribute("vertigrad.node", recorded.nodes.get(member));
          for (Activity activity : activities) {
            List<Activity> alone = List.of(activity);
            end(begin(activity.name(), alone, Context.root().with(of)).startSpan(), alone);
          }
          end(of, activities);
        });
    end(root, all);
  }

  private Span root(Round round, List<Activity> all) {
    String name = round.member().isEmpty() ? "round" : "step of " + round.member();
    String id = traceId(round);
    SpanContext parent =
        SpanContext.createFromRemoteParent(
            id, id.substring(2 * SPAN_BYTES), TraceFlags.getSampled(), TraceState.getDefault());
    return begin(name, all, Context.root().with(Span.wrap(parent))).startSpan();
  }

  private SpanBuilder begin(String name, List<Activity> activities, Context parent) {
    long start = activities.stream().mapToLong(Activity::startMicros).min().orElseThrow();
    return tracer
        .spanBuilder(name)
        .setParent(parent)
        .setStartTimestamp(start, TimeUnit.MICROSECONDS);
  }

  private static void end(Span span, List<Activity> activities) {
    span.end(
        activities.stream().mapToLong(Activity::endMicros).max().orElseThrow(),
        TimeUnit.MICROSECONDS);
  }

  private String traceId(Round round) {
    String text = "%s\n%s\n%s\n%s".formatted(job, run, round.member(), round.number());
    try {
      byte[] hash =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash, 0, TRACE_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
