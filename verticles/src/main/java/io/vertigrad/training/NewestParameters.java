package io.vertigrad.training;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.ParameterReader.ParameterSnapshot;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.peer.ModelReader;
import io.vertigrad.internal.pipeline.AssembledStages;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The newest parameters of a running job, for a program that is no member of it: from the servers,
 * the mean of the workers, or the stages, as the evaluator reads them.
 *
 * <p>It follows changes of the membership until it is closed, also after the job has ended, because
 * the job may be resumed. Any thread may use it; each {@link Reader} belongs to one model's thread.
 */
public final class NewestParameters {

  private static final Logger LOG = LoggerFactory.getLogger(NewestParameters.class);
  private static final ClassLoader LOADER = NewestParameters.class.getClassLoader();
  private static final long ASK_MILLIS = 2_000;
  static final long ASK_AGAIN_MILLIS = 500;

  /** How often parameters of one version are asked for before a mixture is accepted. */
  private static final int TRIES = 8;

  private final String id = UUID.randomUUID().toString();
  private final Vertx vertx;
  private final JobConfig job;
  private final StrategyTraits traits;
  private final MessageConsumer<JsonObject> control;
  private final MessageConsumer<JsonObject> events;
  private final List<ModelReader> readers = new ArrayList<>();
  private Membership newest;
  private boolean over;
  private volatile boolean finished;
  private volatile boolean closed;

  /**
   * The version of the parameters in a model.
   *
   * @param lowest lowest version of any part of them
   * @param highest highest version of any part; above the lowest if training went on while they
   *     were read
   */
  public record Version(long lowest, long highest) {}

  /** Creates a source that does not listen yet. */
  NewestParameters(Vertx vertx, JobConfig job, Membership known) {
    this.vertx = vertx;
    this.job = job;
    this.newest = known;
    this.traits = StrategyProviders.configure(job.strategy(), LOADER).traits();
    this.control = vertx.eventBus().consumer(job.addresses().control());
    this.events = vertx.eventBus().consumer(job.addresses().events());
  }

  /**
   * Listens to a job, which may begin later.
   *
   * @param vertx a node of the job's cluster
   * @param job the job; its messages must have been {@linkplain ClusterStreams#authenticate
   *     authenticated}
   * @return completes when it listens; whether the job runs is not known then
   */
  public static Future<NewestParameters> of(Vertx vertx, JobConfig job) {
    FrameCodecs.register(vertx.eventBus());
    NewestParameters parameters = new NewestParameters(vertx, job, Membership.NONE);
    return parameters.listen().onSuccess(listening -> parameters.ask(true)).map(parameters);
  }

  /** Follows changes of the membership from now on. */
  Future<Void> listen() {
    control.handler(message -> onAnswer(message.body(), true));
    events.handler(
        message -> {
          if (TrainingEvent.fromJson(message.body()) instanceof JobFinished) {
            finished = true;
            reportReading(false);
            wakeAll();
          }
        });
    return Future.all(control.completion(), events.completion()).mapEmpty();
  }

  /**
   * Asks the coordinator for the membership of a job that may run already, until there is one: an
   * answer may be lost.
   */
  private void ask(boolean first) {
    if (closed || hasMembers()) {
      return;
    }
    vertx
        .eventBus()
        .<JsonObject>request(
            job.addresses().coordinator(),
            new JsonObject().put("request", "state"),
            new DeliveryOptions().setSendTimeout(ASK_MILLIS))
        .onSuccess(answer -> onAnswer(answer.body(), false))
        .onFailure(
            absent -> {
              if (first) {
                LOG.info(
                    "job {}: no coordinator answers, waiting for one (cluster.members says which cluster"
                        + " to join): {}",
                    job.addresses().job(),
                    absent.getMessage());
              }
              vertx.setTimer(ASK_AGAIN_MILLIS, later -> ask(false));
            });
  }

  /** Makes the members of the job, which has finished, stay until its parameters are read. */
  private void reportReading(boolean done) {
    vertx
        .eventBus()
        .send(
            job.addresses().coordinator(),
            new JsonObject().put("request", "read").put("reader", id).put("done", done));
  }

  /** Takes over a membership. One that was published is the newest, also after a restart. */
  private synchronized void onAnswer(JsonObject message, boolean published) {
    JsonObject now = message.getJsonObject("membership");
    if (message.containsKey("stop")) {
      over = true;
      wakeAll();
    } else if (now != null) {
      Membership received = Membership.fromJson(now);
      if (published || received.epoch() > newest.epoch()) {
        over = false;
        newest = received;
        boolean before = finished;
        finished = "finished".equals(message.getString("state"));
        if (finished && !before) {
          reportReading(false);
        }
        readers.forEach(reader -> reader.membership().accept(received));
      }
    }
  }

  private synchronized void wakeAll() {
    readers.forEach(reader -> reader.wake().run());
  }

  synchronized boolean hasMembers() {
    return !over && newest.epoch() > 0;
  }

  /** Creates a reader that follows the membership. Belongs to the model's thread. */
  synchronized ModelReader reader(ModelConfig config, Model model) {
    ModelReader reader =
        AssembledStages.reader(
            new PartitionClient(
                Transport.onBus(vertx.eventBus()),
                job.addresses(),
                job.exchange(),
                System::nanoTime),
            job,
            traits,
            config,
            model,
            event -> {},
            () -> Score.NONE);
    readers.add(reader);
    reader.membership().accept(newest);
    return reader;
  }

  /**
   * Builds the job's model, as its members do. The calling thread owns it.
   *
   * @param data samples of the job, which the caller has opened
   * @param config from which the engine builds it
   * @return a model without parameters of the job
   * @throws IllegalArgumentException with a message for the user when it cannot be built
   */
  public Model model(Dataset data, ModelConfig config) {
    return JobModel.of(job, job.data().fitted(data.fitted()), config);
  }

  /**
   * Returns a reader that loads parameters into a model. Call it on the model's thread.
   *
   * @param config what the model was built from
   * @param model receives the parameters
   * @return the reader
   */
  public Reader into(ModelConfig config, Model model) {
    return new Reader(reader(config, model));
  }

  /**
   * Stops listening; readers that wait return.
   *
   * @return completes when nothing listens any more
   */
  public Future<Void> close() {
    closed = true;
    if (finished) {
      reportReading(true);
    }
    wakeAll();
    return Future.join(control.unregister(), events.unregister()).mapEmpty();
  }

  /** Loads parameters into one model. Belongs to the model's thread, except {@link #wake}. */
  public final class Reader {

    private final ModelReader reader;
    private String warned = "";

    /** Whether the job had finished before the newest read began. */
    private boolean last;

    private boolean lastDone;

    private Reader(ModelReader reader) {
      this.reader = reader;
    }

    /**
     * Loads parameters that are newer than a version, and waits for them. Where workers move in
     * rounds, all parts are of one version, unless that fails {@value #TRIES} times in a row.
     *
     * @param after version that is known already; -1 for none
     * @param stop returns true if nobody wants the parameters any more
     * @return empty if there are none now: stopped, not started, over, or not reachable within
     *     {@code exchange.deadlineMillis}. The model may then hold parts of several versions
     */
    public Optional<Version> next(long after, BooleanSupplier stop) {
      long wanted = after < 0 ? 0 : after + 1;
      long ahead = 1;
      for (int i = 1; hasMembers() && !closed && !stop.getAsBoolean(); i++) {
        last = finished;
        lastDone &= last;
        Optional<ParameterSnapshot> found;
        try {
          found =
              reader
                  .source()
                  .pull(
                      last ? 0 : wanted,
                      () -> closed || stop.getAsBoolean() || !hasMembers() || finished && !last);
        } catch (UnansweredException absent) {
          LOG.debug("no newer parameters: {}", absent.getMessage());
          return Optional.empty();
        } catch (ExchangeException refused) {
          warn(refused.getMessage());
          return Optional.empty();
        }
        if (found.isPresent()) {
          ParameterSnapshot read = found.get();
          boolean whole = read.consistent() || !traits.lockstep() || last || i >= TRIES;
          if (whole) {
            return read.lowestVersion() > after
                ? Optional.of(new Version(read.lowestVersion(), read.highestVersion()))
                : Optional.empty();
          }
          wanted = read.highestVersion() + ahead;
          ahead *= 2;
        } else if (last || !finished) {
          return Optional.empty();
        }
      }
      last = finished;
      return Optional.empty();
    }

    /**
     * Reports that what {@link #next} returned is in use, or is not wanted. The members of a job
     * that has finished stay until this, for at most three seconds.
     */
    public void done() {
      if (last && !lastDone) {
        lastDone = true;
        reportReading(true);
      }
    }

    /**
     * Returns whether {@link #next} should be called at once, because the members of the job, which
     * has finished, wait for it.
     *
     * @return true from the end of the job until {@link #done}
     */
    public boolean isAwaited() {
      return finished && !lastDone;
    }

    /** Logs why parameters are refused, for example to another model; the same reason once. */
    private void warn(String why) {
      String reason = why.replaceAll("step \\d+|after [\\d.]+ s", "");
      if (!reason.equals(warned)) {
        warned = reason;
        LOG.warn("no newer parameters of job {}: {}", job.addresses().job(), why);
      }
    }

    /** Makes a waiting {@link #next} ask again whether it is still wanted. Any thread. */
    public void wake() {
      reader.wake().run();
    }
  }
}
