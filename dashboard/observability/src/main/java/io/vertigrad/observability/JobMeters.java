package io.vertigrad.observability;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.disposables.Disposable;
import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.TrainingEvents;
import io.vertigrad.job.Role;
import io.vertigrad.observability.JobStatus.MemberName;
import io.vertigrad.observability.JobStatus.ScalarName;
import io.vertigrad.training.RunningJob;
import io.vertx.core.Vertx;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The meters of a job, its members and its predictors in a Micrometer registry, with the names of
 * {@code docs/reference/metrics.md}. They read what the job's events have reported, so that a
 * scrape costs the job nothing.
 *
 * <p>Any thread may use it. The registry stays open when the meters are removed.
 */
public final class JobMeters implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(JobMeters.class);
  private static final int MOST_MEMBERS = 1_024;
  private static final int MOST_PREDICTORS = 64;

  private final MeterRegistry registry;
  private final JobStatus status = new JobStatus();
  private final Tags job;
  private final List<Meter> registered = new CopyOnWriteArrayList<>();
  private final Map<MemberName, MemberMeters> members = new HashMap<>();
  private final Map<String, PredictorMeters> predictors = new HashMap<>();
  private final Set<ScalarName> scalars = new HashSet<>();
  private final EventFold fold =
      new EventFold()
          .on(MemberJoined.class, e -> member(e.role(), e.rank()))
          .on(WorkerProgress.class, this::stepped)
          .on(ServerProgress.class, e -> member(Role.SERVER, e.shard()))
          .on(MemberVitals.class, this::measured)
          .on(PredictorProgress.class, this::answered)
          .on(ScalarReported.class, this::register);

  private Disposable events = Disposable.disposed();
  private boolean closed;
  private boolean scalarsLeftOut;

  private JobMeters(String job, MeterRegistry registry) {
    this.registry = registry;
    this.job = Tags.of("job_name", job);
    registerJob();
  }

  /**
   * Registers the meters of a job that this application has deployed. They are removed when the job
   * has ended.
   *
   * @param job the job
   * @param registry the application's registry
   * @return the meters; close them to remove them earlier
   */
  public static JobMeters bind(RunningJob job, MeterRegistry registry) {
    return new JobMeters(job.config().addresses().job(), registry).follow(job.events());
  }

  /**
   * Registers the meters of a job that is started after this call, here or on another node.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's name
   * @param registry the application's registry
   * @return the meters, which stay until they are closed; close them before the Vert.x
   */
  public static JobMeters bind(Vertx vertx, String job, MeterRegistry registry) {
    return new JobMeters(job, registry).follow(TrainingEvents.of(vertx, job));
  }

  private JobMeters follow(Flowable<TrainingEvent> flow) {
    Disposable subscription =
        flow.subscribe(
            this::apply, defect -> LOG.error("{}: no more figures", job, defect), this::close);
    synchronized (this) {
      events = subscription;
    }
    return this;
  }

  /** Returns what the meters read. */
  JobStatus status() {
    return status;
  }

  /** Removes all meters of the job from the registry. */
  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      events.dispose();
    }
    registered.forEach(registry::remove);
    registered.clear();
  }

  private synchronized void apply(TrainingEvent event) {
    if (closed) {
      return;
    }
    status.apply(event);
    fold.apply(event);
  }

  private void stepped(WorkerProgress worker) {
    member(Role.WORKER, worker.rank()).ifPresent(each -> each.stepped(worker));
  }

  private void measured(MemberVitals vitals) {
    member(vitals.role(), vitals.rank()).ifPresent(each -> each.measured(vitals));
  }

  private void answered(PredictorProgress progress) {
    PredictorMeters known = predictors.get(progress.predictor());
    if (known == null && predictors.size() < MOST_PREDICTORS) {
      known = new PredictorMeters(this, progress.predictor());
      predictors.put(progress.predictor(), known);
    }
    if (known != null) {
      known.answered(progress);
    }
  }

  private void register(ScalarReported scalar) {
    ScalarName name = ScalarName.of(scalar);
    if (!status.tracks(scalar)) {
      if (!scalarsLeftOut) {
        scalarsLeftOut = true;
        LOG.warn("{}: {} and further scalars have no gauge", job, name);
      }
    } else if (scalars.add(name)) {
      Tags tags = Tags.of("name", name.name(), "source", name.source());
      gauge("vertigrad.scalar", null, tags, all -> all.scalar(name));
    }
  }

  private Optional<MemberMeters> member(Role role, int rank) {
    MemberName name = new MemberName(role, rank);
    MemberMeters known = members.get(name);
    if (known == null && members.size() < MOST_MEMBERS) {
      known = new MemberMeters(this, name);
      members.put(name, known);
    }
    return Optional.ofNullable(known);
  }

  private void registerJob() {
    for (String phase : JobStatus.phases()) {
      Tags tags = Tags.of("phase", phase);
      gauge("vertigrad.job.phase", null, tags, all -> all.phase().equals(phase) ? 1 : 0);
    }
    counter("vertigrad.job.samples", null, Tags.empty(), JobStatus::samples);
    gauge("vertigrad.job.version", JobStatus::version);
    gauge("vertigrad.job.last.version", all -> all.started(JobStarted::lastVersion));
    gauge("vertigrad.job.epoch", JobStatus::epoch);
    gauge("vertigrad.job.parameters", all -> all.started(JobStarted::parameters));
    gauge("vertigrad.job.samples.per.second", JobStatus::samplesPerSecond);
    gauge("vertigrad.job.loss", JobStatus::trainingLoss);
    gauge("vertigrad.job.test.loss", all -> all.tested(Evaluated::loss));
    gauge("vertigrad.job.test.accuracy.ratio", JobStatus::testAccuracy);
    gauge("vertigrad.job.test.rmse", all -> all.tested(Metric.RMSE));
    gauge("vertigrad.job.test.perplexity", all -> all.tested(Metric.PERPLEXITY));
    gauge("vertigrad.job.test.label.accuracy.ratio", JobStatus::testLabelAccuracy);
    gauge("vertigrad.job.tested.version", all -> all.tested(Evaluated::version));
    gauge(
        "vertigrad.job.consensus.distance",
        all -> all.averaged(ReplicasAveraged::consensusDistance));
    stream("vertigrad.job.stream.events", "events");
    stream("vertigrad.job.stream.accuracy.ratio", "accuracy");
    stream("vertigrad.job.stream.window.accuracy.ratio", "windowAccuracy");
    stream("vertigrad.job.stream.rmse", "rmse");
    stream("vertigrad.job.stream.window.rmse", "windowRmse");
    stream("vertigrad.job.stream.kappa", "kappa");
    stream("vertigrad.job.stream.no.change", "noChange");
    stream("vertigrad.job.stream.majority.ratio", "majority");
    stream("vertigrad.job.stream.unlabelled", "unlabelled");
    stream("vertigrad.job.stream.unmatched", "unmatched");
    stream("vertigrad.job.stream.bad", "bad");
    stream("vertigrad.job.stream.lost", "lost");
  }

  /** Registers a figure of the tests of a stream; it is NaN for other data. */
  private void stream(String meter, String key) {
    gauge(meter, all -> all.stream(key));
  }

  private void gauge(String meter, ToDoubleFunction<JobStatus> value) {
    gauge(meter, null, Tags.empty(), value);
  }

  /** Registers a gauge of the job, with the job's tag; {@code unit} may be null. */
  void gauge(String meter, String unit, Tags with, ToDoubleFunction<JobStatus> value) {
    keep(
        Gauge.builder(meter, status, value)
            .baseUnit(unit)
            .tags(job.and(with))
            .strongReference(true)
            .register(registry));
  }

  /** Registers a counter of the job, with the job's tag; {@code unit} may be null. */
  void counter(String meter, String unit, Tags with, ToDoubleFunction<JobStatus> value) {
    keep(
        FunctionCounter.builder(meter, status, value)
            .baseUnit(unit)
            .tags(job.and(with))
            .register(registry));
  }

  /** Registers a histogram of times that members have counted, with the job's tag. */
  CountedTimes times(String meter, Tags with) {
    CountedTimes times = new CountedTimes(registry, meter, job.and(with));
    keep(times.timer());
    return times;
  }

  private void keep(Meter meter) {
    registered.add(meter);
  }
}
