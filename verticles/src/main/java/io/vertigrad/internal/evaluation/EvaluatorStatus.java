package io.vertigrad.internal.evaluation;

import io.vertigrad.internal.membership.MemberStatus;
import java.util.function.Consumer;

/**
 * Reports an evaluator's tests to the coordinator if training waits for them. Belongs to the
 * model's thread.
 */
final class EvaluatorStatus {

  /** Reports nothing. */
  static final EvaluatorStatus OFF = new EvaluatorStatus(status -> {}, status -> {});

  private final Consumer<MemberStatus> report;
  private final Consumer<MemberStatus> reportNow;
  private long testing;
  private long evaluated;
  private long samples;

  /**
   * Creates a status that begins before the first test.
   *
   * @param report sends the status with the next heartbeat
   * @param reportNow sends the status at once
   */
  EvaluatorStatus(Consumer<MemberStatus> report, Consumer<MemberStatus> reportNow) {
    this.report = report;
    this.reportNow = reportNow;
  }

  /** Reports that the parameters of this version are loaded and their test begins. */
  void testing(long version) {
    testing = version;
    reportNow.accept(status());
  }

  /** Reports that this many more samples were tested. */
  void tested(int more) {
    samples += more;
    report.accept(status());
  }

  /** Reports that the test of this version has ended and its result was published. */
  void evaluated(long version) {
    evaluated = version;
    reportNow.accept(status());
  }

  private MemberStatus status() {
    return new MemberStatus.EvaluatorStatus(testing, evaluated, samples);
  }
}
