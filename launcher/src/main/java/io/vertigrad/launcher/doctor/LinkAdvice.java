package io.vertigrad.launcher.doctor;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.SavedModel;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/**
 * The rows of the table in {@code docs/guide/strategies.md}, from fast links to slow ones: which
 * strategy fits a link.
 */
enum LinkAdvice {
  EVERY_STEP("10 Gbit/s, or one host", "`sync` or `allreduce`", "1 or more", 3_000),
  COMPRESSED("1 Gbit/s", "`allreduce`, `exchange.compression` `int8`", "1/4 to 1", 300),
  SOME_STEPS("100 Mbit/s", "`local` or `diloco`, `syncEvery` 10 to 50", "1/50 to 1/4", 30),
  MANY_STEPS(
      "10 Mbit/s, or 20 ms",
      "`diloco`, `syncEvery` 100 or more, `exchange.compression` `int4`, `fragments` with a delay",
      "less than 1/50",
      0);

  /** A longer round trip, in ms, is that of the last row. */
  private static final double LONG_ROUND_TRIP_MILLIS = 10;

  /** What {@code int8} leaves of float32, with its scales. */
  private static final double INT8_SHARE = 0.251;

  private static final int MOST_SYNC_EVERY = 50;
  private static final double BYTES_PER_MEGABIT = 125_000;
  private static final double MILLIS = 1e3;

  private final String link;
  private final String strategy;
  private final String step;
  private final double leastMegabits;

  /**
   * A row.
   *
   * @param step how long a step computes, in rounds of {@code allreduce} over the link
   * @param leastMegabits the rate from which on this row is nearer than the next one
   */
  LinkAdvice(String link, String strategy, String step, double leastMegabits) {
    this.link = link;
    this.strategy = strategy;
    this.step = step;
    this.leastMegabits = leastMegabits;
  }

  /** Returns the row as the guide has it. */
  String row() {
    return "| %s | %s | %s |".formatted(link, step, strategy);
  }

  /** Returns the strategy and its keys without the marks of Markdown. */
  String plain() {
    return strategy.replace("`", "");
  }

  /** Returns the row whose link is nearest to a measured one. */
  static LinkAdvice nearest(LinkMeter.Speed speed) {
    if (speed.roundTripMillis() >= LONG_ROUND_TRIP_MILLIS) {
      return MANY_STEPS;
    }
    for (LinkAdvice row : values()) {
      if (speed.leastMegabits() >= row.leastMegabits) {
        return row;
      }
    }
    return MANY_STEPS;
  }

  /**
   * Returns what fits a link.
   *
   * @param job the job whose rounds are counted; null if none is known
   */
  static List<String> of(LinkMeter.Speed speed, JobConfig job) {
    if (job == null) {
      return List.of(
          nearest(speed).recommendation(),
          "Name a job file to see how long its rounds take over this link.");
    }
    int workers = job.workers().count();
    if (workers < 2) {
      return List.of(nearest(speed).recommendation(), "The job has one worker.");
    }
    try {
      return lines(speed, parameters(job), workers, job.workers().batch());
    } catch (IllegalArgumentException | SettingsException | DataException unknown) {
      return List.of(
          nearest(speed).recommendation(),
          "The size of the job's model is not known: " + unknown.getMessage());
    }
  }

  /** Returns the number of parameters of a job's model; builds it when only that shows them. */
  private static long parameters(JobConfig job) {
    ClassLoader loader = LinkAdvice.class.getClassLoader();
    job.checkModel();
    JobConfig counted = job.counted(loader);
    OptionalLong known = SavedModel.checkStart(counted);
    if (known.isPresent()) {
      return known.getAsLong();
    }
    Dataset test = DatasetProvider.open(counted.data(), Split.TEST, loader);
    try (Model model = Engine.named(counted.engine()).model(counted.modelOn(test))) {
      return model.layout().length();
    }
  }

  private String recommendation() {
    return "docs/guide/strategies.md has for such a link (%s): %s".formatted(link, plain());
  }

  /**
   * Returns what rounds of a job take over a link, and how long a step must compute for a strategy
   * to fit.
   *
   * @param parameters number of parameters of the job's model
   * @param workers number of its workers, at least 2
   * @param batch samples of a worker's step
   */
  static List<String> lines(LinkMeter.Speed speed, long parameters, int workers, int batch) {
    double model = (double) parameters * Float.BYTES;
    double ringBytes = 2 * model * (workers - 1) / workers;
    double ring =
        millis(ringBytes, speed.leastMegabits()) + (workers - 1) * speed.roundTripMillis();
    double directBytes = (workers - 1) * model * INT8_SHARE;
    double direct = millis(directBytes, speed.leastMegabits()) + speed.roundTripMillis() / 2;
    double there = millis(model, speed.toMegabits());
    double back = millis(model, speed.fromMegabits());
    double compressed = Math.min(ring, direct);
    double seldom = Math.min(compressed, ring / MOST_SYNC_EVERY);
    return List.of(
        format("A round over this link, %,d parameters, %,d workers:", parameters, workers),
        format("  allreduce        each worker sends %s: %s", size(ringBytes), time(ring)),
        format("  allreduce, int8  each worker sends %s: %s", size(directBytes), time(direct)),
        format(
            "  sync             %s there and back: %s, less where both overlap, at least %s",
            size(model),
            time(there + back + speed.roundTripMillis()),
            time(Math.max(there, back) + speed.roundTripMillis())),
        format("With sync, a server's own link carries that of every worker on another machine."),
        format("If a step of %,d samples computes for    use", batch),
        line(time(ring) + " or longer", EVERY_STEP),
        line(time(compressed) + " or longer", COMPRESSED),
        line(time(seldom) + " or longer", SOME_STEPS),
        line("a shorter time", MANY_STEPS));
  }

  private static String line(String step, LinkAdvice row) {
    return format("  %-20s %s", step, row.plain());
  }

  private static double millis(double bytes, double megabits) {
    return bytes / (megabits * BYTES_PER_MEGABIT) * MILLIS;
  }

  private static String size(double bytes) {
    return bytes < 1e6 ? format("%,.1f kB", bytes / 1e3) : format("%,.1f MB", bytes / 1e6);
  }

  private static String time(double millis) {
    return format(millis < 1 ? "%,.2f ms" : millis < 100 ? "%,.1f ms" : "%,.0f ms", millis);
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
