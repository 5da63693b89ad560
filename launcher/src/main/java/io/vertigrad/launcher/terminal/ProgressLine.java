package io.vertigrad.launcher.terminal;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.launcher.run.RunProgress;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The progress of a run in one line that fits a terminal of any width.
 *
 * <p>A wide terminal gets a bar and whole words, a narrower one no bar and then short words. Only
 * below some 75 columns are the last figures left out.
 *
 * @param step steps of the job so far
 * @param steps steps of the whole job
 * @param figures the other figures, the most important first
 */
record ProgressLine(long step, long steps, List<Figure> figures) {

  private static final int LONGEST_BAR = 30;
  private static final int SHORTEST_BAR = 8;

  private static final String BLOCKS = " ▏▎▍▌▋▊▉█";
  private static final String ASCII_BLOCKS = " #";

  /**
   * One figure of a run.
   *
   * @param words the full form, for a wide terminal
   * @param brief the short form
   */
  record Figure(String words, String brief) {

    static Figure of(String words) {
      return new Figure(words, words);
    }
  }

  /** Returns the line of a run as it is now. */
  static ProgressLine of(RunProgress progress) {
    long steps = progress.view().started().map(JobStarted::steps).orElse(0L);
    return new ProgressLine(progress.step(), steps, figuresOf(progress));
  }

  /** Returns all figures in full form, without the step. */
  String words() {
    return joined(figures, Figure::words);
  }

  /** Returns the line for a terminal with this many columns; the last column stays free. */
  String fitted(int columns) {
    int room = columns - 1;
    if (steps >= RunProgress.ENDLESS) {
      return endless(room);
    }
    String percent = EventText.format("%3d %%", steps == 0 ? 0 : 100 * step / steps);
    String text = EventText.format(" %,d/%,d, %s", step, steps, words());
    int bar = Math.min(LONGEST_BAR, room - percent.length() - text.length() - 3);
    if (bar >= SHORTEST_BAR) {
      return percent + " |" + bar(bar) + "|" + text;
    }
    if (percent.length() + text.length() <= room) {
      return percent + text;
    }
    String brief = percent + EventText.format(" %d/%d", step, steps);
    for (int kept = figures.size(); kept > 0; kept--) {
      String line = brief + ", " + joined(figures.subList(0, kept), Figure::brief);
      if (line.length() <= room) {
        return line;
      }
    }
    return brief.substring(0, Math.max(0, Math.min(room, brief.length())));
  }

  /** Returns the line of a run without an end, which has no bar. */
  private String endless(int room) {
    String brief = EventText.format("step %d", step);
    String line = EventText.format("step %,d, %s", step, words());
    for (int kept = figures.size(); kept > 0 && line.length() > room; kept--) {
      line = brief + ", " + joined(figures.subList(0, kept), Figure::brief);
    }
    return line.length() <= room
        ? line
        : brief.substring(0, Math.max(0, Math.min(room, brief.length())));
  }

  private String bar(int length) {
    String blocks = Charset.defaultCharset().newEncoder().canEncode('█') ? BLOCKS : ASCII_BLOCKS;
    int parts = blocks.length() - 1;
    long filled = steps == 0 ? 0 : step * length * parts / steps;
    StringBuilder bar = new StringBuilder();
    for (int i = 0; i < length; i++) {
      bar.append(blocks.charAt((int) Math.max(0, Math.min(parts, filled - (long) i * parts))));
    }
    return bar.toString();
  }

  private static String joined(List<Figure> figures, Function<Figure, String> text) {
    return figures.stream().map(text).collect(Collectors.joining(", "));
  }

  private static List<Figure> figuresOf(RunProgress progress) {
    List<Figure> figures = new ArrayList<>();
    if (progress.paused()) {
      figures.add(Figure.of("paused"));
    }
    progress
        .secondsLeft()
        .ifPresent(left -> figures.add(Figure.of(EventText.duration(left) + " left")));
    Optional<StreamTests> stream = progress.view().stream();
    if (stream.isPresent()) {
      figures.add(figure(stream.get()));
    } else {
      figures.add(Figure.of("epoch " + progress.view().epoch()));
    }
    String speed = EventText.format("%,.0f", progress.samplesPerSecond());
    figures.add(new Figure("mean " + speed + " samples/s", speed + "/s"));
    double loss = progress.view().trainingLoss();
    if (!Double.isNaN(loss)) {
      figures.add(Figure.of(EventText.format("loss %.3f", loss)));
    }
    progress.view().evaluated().map(ProgressLine::accuracy).ifPresent(figures::add);
    figures.add(agreement(progress));
    return figures;
  }

  /** Returns the figure of the last samples of a stream beside that of the no-change rule. */
  private static Figure figure(StreamTests tests) {
    String now = figure(tests, tests.windowFigure());
    String baseline = figure(tests, tests.noChangeFigure());
    String name = tests.values() ? "RMSE " : "accuracy ";
    return new Figure(
        name + now + " (no change " + baseline + ")", name.substring(0, 3) + " " + now);
  }

  private static String figure(StreamTests tests, double value) {
    double shown = tests.asTest(value);
    return tests.values() ? Metric.RMSE.figure(shown) : EventText.format("%.1f %%", shown);
  }

  private static Figure accuracy(Evaluated tested) {
    if (tested.kind() != Metric.ACCURACY) {
      String figure = tested.kind().figure(tested.metricValue());
      return new Figure(tested.kind().label() + " " + figure, tested.kind().shortLabel() + figure);
    }
    String percent = EventText.format("%.1f %%", tested.accuracy());
    return new Figure("accuracy " + percent, "acc " + percent);
  }

  /** Returns how far workers have diverged: from each other, or from their servers. */
  private static Figure agreement(RunProgress progress) {
    OptionalDouble distance = progress.consensusDistance();
    if (distance.isPresent()) {
      String number = EventText.format("%.2g", distance.getAsDouble());
      return new Figure("consensus " + number, "cons " + number);
    }
    String number = EventText.format("%.1f", progress.meanStaleness());
    return new Figure("staleness " + number, "stale " + number);
  }
}
