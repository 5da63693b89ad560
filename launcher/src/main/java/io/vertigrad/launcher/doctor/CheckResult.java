package io.vertigrad.launcher.doctor;

/**
 * The result of one check of the doctor.
 *
 * @param level how serious it is
 * @param subject what was checked
 * @param found what was found
 * @param advice what to do; empty when nothing is needed
 */
record CheckResult(Level level, String subject, String found, String advice) {

  /** How serious a result is. */
  enum Level {
    OK,
    WARN,
    FAIL
  }

  static CheckResult ok(String subject, String found) {
    return new CheckResult(Level.OK, subject, found, "");
  }

  static CheckResult warn(String subject, String found, String advice) {
    return new CheckResult(Level.WARN, subject, found, advice);
  }

  static CheckResult fail(String subject, String found, String advice) {
    return new CheckResult(Level.FAIL, subject, found, advice);
  }

  /** Returns a failure whose message already says what to do. */
  static CheckResult fail(String subject, String refusal) {
    return new CheckResult(Level.FAIL, subject, refusal, "");
  }

  /** Returns the result as the doctor prints it. */
  String line() {
    String what = "%-4s  %-10s  %s".formatted(level, subject, found);
    return advice.isEmpty() ? what : what + "\n" + " ".repeat(18) + "-> " + advice;
  }
}
