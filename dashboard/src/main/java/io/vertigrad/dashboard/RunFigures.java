package io.vertigrad.dashboard;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * What an {@link AdviceRule} judges. The figures of workers are those of the last seconds while the
 * run goes on, and those of the whole run at its end.
 *
 * @param config the resolved job file
 * @param classes number of classes, if every data set of this name has as many
 * @param summary {@code summary.json} of a run that is over; empty before, and without one
 * @param ended whether the run is over
 * @param cutShort whether it ended before its last step
 * @param parameters elements of the model
 * @param seconds length of the time that the figures of the workers cover
 * @param versions version of each point of {@code losses}, oldest first
 * @param losses mean training loss of all workers, finite
 * @param lossIsFinite whether the newest training losses are finite
 * @param refused updates that held NaN, infinity or very large numbers in the last seconds
 * @param tests tests with a finite loss, oldest first
 * @param workers the workers that take part, and at the end all
 * @param hosts the machines of the members by name
 */
record RunFigures(
    JsonObject config,
    OptionalInt classes,
    JsonObject summary,
    boolean ended,
    boolean cutShort,
    long parameters,
    double seconds,
    double[] versions,
    double[] losses,
    boolean lossIsFinite,
    long refused,
    List<Test> tests,
    List<Worker> workers,
    Map<String, Host> hosts) {

  /** The mean loss that a test found at a version. */
  record Test(long version, double loss) {}

  /**
   * What a worker did in a time.
   *
   * @param host its machine
   * @param samples number of samples that it trained on
   * @param computing seconds
   * @param exchanging seconds
   * @param waitingForData seconds
   * @param applied number of its gradients that servers have applied
   * @param ages sum of their staleness
   */
  record Worker(
      int rank,
      String host,
      long samples,
      double computing,
      double exchanging,
      double waitingForData,
      long applied,
      long ages) {

    /** Returns the seconds for a sample, without exchanges: what others may wait for. */
    double secondsPerSample() {
      return (computing + waitingForData) / samples;
    }

    /** Returns the share of its time in which it exchanges, 0 to 1. */
    double exchangingShare() {
      return exchanging / (computing + exchanging + waitingForData);
    }
  }

  /** A machine with so many processors, of which members keep some busy. */
  record Host(int processors, double busy) {}

  /** Returns the trend of the training loss over the last share of its points. */
  LossTrend trend(double share) {
    return LossTrend.from((int) (losses.length * (1 - share)), versions, losses);
  }

  /** Returns the trend of the training loss since a version. */
  LossTrend trendSince(long version) {
    int first = 0;
    while (first < versions.length && versions[first] < version) {
      first++;
    }
    return LossTrend.from(first, versions, losses);
  }

  /** Returns the trend of the test loss from a test on, the first of which is 0. */
  LossTrend testsFrom(int first) {
    return LossTrend.from(
        first,
        tests.stream().mapToDouble(Test::version).toArray(),
        tests.stream().mapToDouble(Test::loss).toArray());
  }

  /** Returns the value of a key of the job file as text. */
  String text(String path, String otherwise) {
    Object found = config;
    for (String key : path.split("\\.")) {
      found = found instanceof JsonObject section ? section.getValue(key) : null;
    }
    return found == null ? otherwise : String.valueOf(found);
  }

  /** Returns the value of a key of the job file that is a number. */
  double number(String path, double otherwise) {
    return Double.parseDouble(text(path, String.valueOf(otherwise)));
  }

  /** Returns whether a key of the job file has this value. */
  boolean has(String path, String value) {
    return text(path, "").equals(value);
  }

  boolean isPipeline() {
    return number("pipeline.stages", 0) > 0;
  }
}
