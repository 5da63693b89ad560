package io.vertigrad.benchmarks.goodput;

import io.vertigrad.benchmarks.goodput.RunRecord.Change;
import io.vertigrad.benchmarks.goodput.RunRecord.Gradient;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * The throughput that a fault costs, in seconds of the undisturbed run, and where they go. The
 * parts add up to the whole.
 *
 * <p>The time of every rank is either that of a gradient or not. Gradients that do not count are
 * {@link Part#REPEATED}, and what gradients take longer than in the undisturbed run is {@link
 * Part#SLOWER}. The rest, less what a rank waits for each gradient of the undisturbed run, belongs
 * to the phase of the rank. A rank whose process was killed, stopped or cut off is {@link
 * Part#NOTICING} until it has left the job, {@link Part#STARTING} until a process has joined for
 * it, and {@link Part#JOINING} until that begins a gradient. At all other times a rank is {@link
 * Part#WAITING} for others.
 *
 * @param fault the fault
 * @param parts seconds by part; a part may be slightly negative, because a process that is killed
 *     or cut off takes its last quarter of a second of the timeline with it
 * @param noticed seconds until its victim had left the job, if it had
 * @param back seconds until a gradient of the victim's rank began
 */
record LostTime(Fault fault, Map<Part, Double> parts, OptionalDouble noticed, OptionalDouble back) {

  /** Where the time of ranks goes. */
  enum Part {
    NOTICING("noticing"),
    STARTING("process start"),
    JOINING("joining"),
    REPEATED("repeated steps"),
    SLOWER("slower steps"),
    WAITING("others wait");

    private final String text;

    Part(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /**
   * A fault.
   *
   * @param kind such as {@code kill}
   * @param rank rank of the victim
   * @param begin when it began, in seconds since 1970
   * @param end when its victim could go on; {@code begin} for a kill
   */
  record Fault(String kind, int rank, double begin, double end) {

    boolean isStop() {
      return kind.startsWith("stop");
    }
  }

  /**
   * The throughput without faults.
   *
   * @param samplesPerSecond samples of all workers that count
   * @param gradientSeconds mean duration of a gradient
   */
  record Undisturbed(double samplesPerSecond, double gradientSeconds) {}

  /**
   * A job.
   *
   * @param workers number of workers
   * @param batch samples of a worker's batch
   */
  record Size(int workers, int batch) {}

  private record Interval(double begin, double end) {

    double within(double from, double to) {
      return Math.max(0, Math.min(end, to) - Math.max(begin, from));
    }
  }

  private record Phase(Part part, double begin) {}

  LostTime {
    parts = Map.copyOf(parts);
  }

  /** Returns the whole in seconds of the undisturbed run. */
  double seconds() {
    return parts.values().stream().mapToDouble(Double::doubleValue).sum();
  }

  /**
   * Attributes the time from each fault to the next.
   *
   * @param faults in order
   * @param everySeconds time that belongs to the last one
   */
  static List<LostTime> of(
      RunRecord run, Undisturbed normal, Size size, List<Fault> faults, double everySeconds) {
    List<List<Interval>> computing = new ArrayList<>();
    List<List<Phase>> phases = new ArrayList<>();
    for (int rank = 0; rank < size.workers(); rank++) {
      List<Interval> gradients = gradients(run, rank, faults);
      computing.add(gradients);
      phases.add(phases(run, rank, faults));
    }
    List<LostTime> lost = new ArrayList<>();
    for (int i = 0; i < faults.size(); i++) {
      Fault fault = faults.get(i);
      double end = i + 1 < faults.size() ? faults.get(i + 1).begin() : fault.begin() + everySeconds;
      lost.add(of(run, normal, size, fault, end, computing, phases));
    }
    return lost;
  }

  private static LostTime of(
      RunRecord run,
      Undisturbed normal,
      Size size,
      Fault fault,
      double end,
      List<List<Interval>> computing,
      List<List<Phase>> phases) {
    double begin = fault.begin();
    double gradientsThatCount = run.samples(begin, end) / size.batch();
    double gradientsPerSecond = normal.samplesPerSecond() / size.batch() / size.workers();
    double counted = gradientsThatCount * normal.gradientSeconds();
    double normalWaiting = gradientsThatCount * (1 / gradientsPerSecond - normal.gradientSeconds());
    double computed = 0;
    double begun = 0;
    Map<Part, Double> parts = new EnumMap<>(Part.class);
    for (Part part : Part.values()) {
      parts.put(part, 0.0);
    }
    for (int rank = 0; rank < size.workers(); rank++) {
      for (Interval gradient : computing.get(rank)) {
        double inside = gradient.within(begin, end);
        computed += inside;
        begun += inside > 0 ? inside / (gradient.end() - gradient.begin()) : 0;
      }
      idle(phases.get(rank), computing.get(rank), begin, end)
          .forEach((part, seconds) -> parts.merge(part, seconds, Double::sum));
    }
    parts.put(Part.SLOWER, computed - begun * normal.gradientSeconds());
    parts.put(Part.REPEATED, begun * normal.gradientSeconds() - counted);
    parts.merge(Part.WAITING, -normalWaiting, Double::sum);
    parts.replaceAll((part, seconds) -> seconds / size.workers());
    List<Phase> ofVictim = phases.get(fault.rank());
    return new LostTime(
        fault,
        parts,
        first(ofVictim, Part.STARTING, begin, end),
        first(ofVictim, Part.WAITING, begin, end));
  }

  private static OptionalDouble first(List<Phase> phases, Part part, double begin, double end) {
    return phases.stream()
        .filter(one -> one.part() == part && one.begin() > begin && one.begin() < end)
        .mapToDouble(one -> one.begin() - begin)
        .findFirst();
  }

  /** Returns the gradients of a rank, without overlaps and without the time of a stop. */
  private static List<Interval> gradients(RunRecord run, int rank, List<Fault> faults) {
    List<Interval> intervals = new ArrayList<>();
    double last = Double.NEGATIVE_INFINITY;
    for (Gradient gradient : run.gradients()) {
      if (gradient.rank() != rank) {
        continue;
      }
      double begin = gradient.begin();
      double end = gradient.end();
      for (Fault fault : faults) {
        // The process that was stopped is the one whose gradient had begun before.
        if (fault.isStop()
            && fault.rank() == rank
            && begin < fault.begin()
            && end > fault.begin()) {
          end = fault.begin();
        }
      }
      begin = Math.max(begin, last);
      if (end > begin) {
        intervals.add(new Interval(begin, end));
        last = end;
      }
    }
    return intervals;
  }

  /** Returns the phases of a rank, each until the next one; the first begins with the run. */
  private static List<Phase> phases(RunRecord run, int rank, List<Fault> faults) {
    record Mark(double seconds, Part part, boolean gradient) {}
    List<Mark> marks = new ArrayList<>();
    for (Change change : run.changes()) {
      if (change.rank() == rank && change.seconds() > run.startedSeconds()) {
        Part part = change.joined() ? Part.JOINING : Part.STARTING;
        marks.add(new Mark(change.seconds(), part, false));
      }
    }
    for (Fault fault : faults) {
      if (fault.rank() == rank) {
        marks.add(new Mark(fault.begin(), Part.NOTICING, false));
      }
    }
    for (Gradient gradient : run.gradients()) {
      if (gradient.rank() == rank) {
        marks.add(new Mark(gradient.begin(), Part.WAITING, true));
      }
    }
    marks.sort(Comparator.comparingDouble(Mark::seconds));
    List<Phase> phases = new ArrayList<>(List.of(new Phase(Part.WAITING, run.startedSeconds())));
    Part now = Part.WAITING;
    double canGoOn = 0;
    for (Mark mark : marks) {
      if (mark.part() == Part.NOTICING) {
        canGoOn =
            faults.stream()
                .filter(fault -> fault.rank() == rank && fault.begin() == mark.seconds())
                .mapToDouble(Fault::end)
                .findFirst()
                .orElseThrow();
      }
      boolean isNext =
          mark.gradient()
              ? now == Part.JOINING || now == Part.NOTICING && mark.seconds() >= canGoOn
              : now != mark.part();
      if (isNext) {
        now = mark.part();
        phases.add(new Phase(now, mark.seconds()));
      }
    }
    return phases;
  }

  /** Returns the seconds of a rank without a gradient, by phase. */
  private static Map<Part, Double> idle(
      List<Phase> phases, List<Interval> computing, double from, double to) {
    Map<Part, Double> idle = new EnumMap<>(Part.class);
    for (int i = 0; i < phases.size(); i++) {
      double begin = Math.max(from, phases.get(i).begin());
      double end = i + 1 < phases.size() ? Math.min(to, phases.get(i + 1).begin()) : to;
      if (end > begin) {
        double busy = computing.stream().mapToDouble(one -> one.within(begin, end)).sum();
        idle.merge(phases.get(i).part(), end - begin - busy, Double::sum);
      }
    }
    return idle;
  }
}
