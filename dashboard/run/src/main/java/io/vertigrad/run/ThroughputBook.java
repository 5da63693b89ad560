package io.vertigrad.run;

import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.run.Throughput.WorkerRate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Turns workers' running totals into rates: {@code (last - before) / (time of last - time of
 * before)}, where {@code before} is the last total of the previous interval, or the first one seen
 * of an incarnation. Totals less than {@value #SHORTEST_MILLIS} ms apart, such as a worker's last
 * two, give no useful rate: then {@code before} is the total before that.
 */
public final class ThroughputBook {

  static final long SHORTEST_MILLIS = 100;

  private final Map<Integer, WorkerProgress> before = new HashMap<>();
  private final Map<Integer, WorkerProgress> earlier = new HashMap<>();
  private long resumedMillis;

  /**
   * Adds one interval.
   *
   * @param interval its progress events in order, at least one
   * @return the rates of the workers that reported progress
   */
  public Throughput enter(List<WorkerProgress> interval) {
    Map<Integer, WorkerProgress> last = new TreeMap<>();
    for (WorkerProgress progress : interval) {
      before.merge(progress.rank(), progress, ThroughputBook::sameIncarnation);
      last.put(progress.rank(), progress);
    }
    List<WorkerRate> rates = new ArrayList<>();
    last.values().forEach(progress -> rates.add(rate(base(progress), progress)));
    last.forEach(this::turn);
    return new Throughput(interval.get(interval.size() - 1).timeMillis(), rates);
  }

  /**
   * Records that workers continue after a pause, so that the pause does not count as their time.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   */
  public void resumed(long timeMillis) {
    resumedMillis = timeMillis;
  }

  /** Returns the total from which a rate is measured. */
  private WorkerProgress base(WorkerProgress last) {
    WorkerProgress base = before.get(last.rank());
    return tooShort(base, last)
        ? sameIncarnation(earlier.getOrDefault(last.rank(), base), base)
        : base;
  }

  /** Keeps a total that is old enough for the next rate. */
  private void turn(int rank, WorkerProgress last) {
    WorkerProgress base = base(last);
    WorkerProgress former = before.put(rank, last);
    earlier.put(rank, tooShort(base, last) ? base : former);
  }

  private static boolean tooShort(WorkerProgress from, WorkerProgress to) {
    return to.timeMillis() - from.timeMillis() < SHORTEST_MILLIS;
  }

  private static WorkerProgress sameIncarnation(WorkerProgress old, WorkerProgress now) {
    return old.incarnation() == now.incarnation() ? old : now;
  }

  private WorkerRate rate(WorkerProgress before, WorkerProgress last) {
    boolean resumed = before.timeMillis() < resumedMillis && resumedMillis < last.timeMillis();
    double seconds = (last.timeMillis() - (resumed ? resumedMillis : before.timeMillis())) / 1e3;
    double scale = seconds > 0 ? 1 / seconds : 0;
    return new WorkerRate(
        last.rank(),
        last.incarnation(),
        last.step(),
        last.loss(),
        scale * (last.samples() - before.samples()),
        scale * (last.secondsComputing() - before.secondsComputing()),
        scale * (last.secondsExchanging() - before.secondsExchanging()),
        scale * (last.secondsWaitingForData() - before.secondsWaitingForData()),
        scale * (last.bytesSent() - before.bytesSent()),
        scale * (last.bytesReceived() - before.bytesReceived()),
        rates(scale, before.sentTo(), last.sentTo()),
        rates(scale, before.receivedFrom(), last.receivedFrom()));
  }

  private static Map<Integer, Double> rates(
      double scale, Map<Integer, Long> before, Map<Integer, Long> last) {
    Map<Integer, Double> rates = new TreeMap<>();
    last.forEach(
        (partner, bytes) -> rates.put(partner, scale * (bytes - before.getOrDefault(partner, 0L))));
    return rates;
  }
}
