package io.vertigrad.observability;

import io.micrometer.core.instrument.Tags;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.Role;
import io.vertigrad.observability.JobStatus.MemberName;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * The meters of one member, a rank of one role. Counters continue over all incarnations of the
 * rank. A value that nobody reports, as for a process that has ended, is NaN.
 */
final class MemberMeters {

  private static final String NO_UNIT = null;

  private final JobMeters meters;
  private final MemberName name;
  private final Tags rank;
  private final CountedTimes roundTrips;
  private final CountedTimes steps;

  /** Registers all meters of this member. */
  MemberMeters(JobMeters meters, MemberName name) {
    this.meters = meters;
    this.name = name;
    rank = Tags.of("rank", String.valueOf(name.rank()));
    Tags who = rank.and("role", name.role().lower());
    roundTrips = meters.times("vertigrad.member.round.trip", who);
    process(who);
    if (name.role() == Role.WORKER) {
      steps = meters.times("vertigrad.worker.step", rank);
      worker();
    } else {
      steps = null;
    }
    if (name.role() == Role.SERVER) {
      server();
    }
  }

  /** Counts the steps of a report, each with the mean time of the steps since the last report. */
  void stepped(WorkerProgress progress) {
    double seconds =
        progress.secondsComputing()
            + progress.secondsExchanging()
            + progress.secondsWaitingForData();
    steps.addEqual(progress.incarnation(), progress.step(), seconds);
  }

  /** Counts the round trips of a report. */
  void measured(MemberVitals vitals) {
    roundTrips.add(vitals.vitals().roundTrips(), vitals.vitals().roundTripMicrosSum());
  }

  private void process(Tags who) {
    meters.gauge("vertigrad.member.up", NO_UNIT, who, all -> all.isPresent(name) ? 1 : 0);
    vital("vertigrad.member.cpu.cores", who, Vital.CORES);
    vital("vertigrad.member.heap.used", who, Vital.HEAP);
    vital("vertigrad.member.heap.max", who, Vital.HEAP_LIMIT);
    vital("vertigrad.member.off.heap.used", who, Vital.OFF_HEAP);
    vital("vertigrad.member.resident", who, Vital.RESIDENT);
    vital("vertigrad.member.gpus.busy", who, Vital.BUSY_GPUS);
    vital("vertigrad.member.gpu.used", who, Vital.GPU_MEMORY);
  }

  private void worker() {
    meters.gauge("vertigrad.worker.version", NO_UNIT, rank, worker(WorkerProgress::version));
    meters.gauge("vertigrad.worker.loss", NO_UNIT, rank, worker(WorkerProgress::loss));
    total("vertigrad.worker.steps", NO_UNIT, WorkerProgress::step);
    total("vertigrad.worker.samples", NO_UNIT, WorkerProgress::samples);
    total("vertigrad.worker.computing", "seconds", WorkerProgress::secondsComputing);
    total("vertigrad.worker.exchanging", "seconds", WorkerProgress::secondsExchanging);
    total("vertigrad.worker.waiting", "seconds", WorkerProgress::secondsWaitingForData);
    total("vertigrad.worker.sent", "bytes", WorkerProgress::bytesSent);
    total("vertigrad.worker.saved", "bytes", WorkerProgress::bytesSaved);
    total("vertigrad.worker.received", "bytes", WorkerProgress::bytesReceived);
    total("vertigrad.worker.gradients.applied", NO_UNIT, staleness(age -> 1));
    total("vertigrad.worker.staleness", NO_UNIT, staleness(age -> age));
  }

  private void server() {
    meters.gauge(
        "vertigrad.server.version",
        NO_UNIT,
        rank,
        all -> all.server(name.rank(), ServerProgress::version));
    updates("applied", ServerProgress::applied);
    updates("late", ServerProgress::late);
    updates("duplicate", ServerProgress::duplicate);
    updates("too_stale", ServerProgress::tooStale);
    updates("refused", ServerProgress::refused);
  }

  private void updates(String outcome, ToDoubleFunction<ServerProgress> count) {
    meters.counter(
        "vertigrad.server.updates",
        NO_UNIT,
        rank.and("outcome", outcome),
        all -> all.serverTotal(name.rank(), count));
  }

  private void vital(String meter, Tags who, Vital vital) {
    String unit = vital.unit().isEmpty() ? NO_UNIT : vital.unit();
    meters.gauge(meter, unit, who, all -> all.vital(name, vital));
  }

  private ToDoubleFunction<JobStatus> worker(ToDoubleFunction<WorkerProgress> figure) {
    return all -> all.worker(name.rank(), figure);
  }

  private void total(String meter, String unit, ToDoubleFunction<WorkerProgress> total) {
    meters.counter(meter, unit, rank, all -> all.workerTotal(name.rank(), total));
  }

  /** Sums a function of the staleness over all applied gradients. */
  private static ToDoubleFunction<WorkerProgress> staleness(ToDoubleFunction<Integer> each) {
    return progress -> {
      double sum = 0;
      for (Map.Entry<Integer, Long> age : progress.staleness().entrySet()) {
        sum += each.applyAsDouble(age.getKey()) * age.getValue();
      }
      return sum;
    };
  }
}
