package io.vertigrad.internal.evaluation;

import io.vertigrad.internal.membership.MemberStatus;
import java.util.function.Consumer;

/**
 * What an evaluator tells the coordinator of its tests where training waits for them; belongs to
 * the model's thread.
 */
final class EvaluatorStatus {

  /** Tells nobody. */
  static final EvaluatorStatus OFF = new EvaluatorStatus(status -> {}, status -> {});

  private final Consumer<MemberStatus> report;
  private final Consumer<MemberStatus> reportNow;
  private long testing;
  private long evaluated;
  private long samples;

  /**
   * A status that begins before the first test.
   *
   * @param report takes it along with the next heartbeat
   * @param reportNow tells it at once
   */
  EvaluatorStatus(Consumer<MemberStatus> report, Consumer<MemberStatus> reportNow) {
    this.report = report;
    this.reportNow = reportNow;
  }

  /** The parameters of this version are there, and their test begins. */
  void testing(long version) {
    testing = version;
    reportNow.accept(status());
  }

  /** So many more samples went through. */
  void tested(int more) {
    samples += more;
    report.accept(status());
  }

  /** This version has been tested, and told of. */
  void evaluated(long version) {
    evaluated = version;
    reportNow.accept(status());
  }

  private MemberStatus status() {
    return MemberStatus.ofEvaluator(testing, evaluated, samples);
  }
}
