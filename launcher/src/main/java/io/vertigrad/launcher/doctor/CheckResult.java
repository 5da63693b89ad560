package io.vertigrad.launcher.doctor;

/**
 * The finding of one check.
 *
 * @param level how serious it is
 * @param subject what was checked
 * @param found what was found
 * @param advice what to do; empty when nothing is needed
 */
record Finding(Level level, String subject, String found, String advice) {

  /** The severity of a finding. */
  enum Level {
    OK,
    WARN,
    FAIL
  }

  static Finding ok(String subject, String found) {
    return new Finding(Level.OK, subject, found, "");
  }

  static Finding warn(String subject, String found, String advice) {
    return new Finding(Level.WARN, subject, found, advice);
  }

  static Finding fail(String subject, String found, String advice) {
    return new Finding(Level.FAIL, subject, found, advice);
  }

  /** Returns a failure whose message already says what to do. */
  static Finding fail(String subject, String refusal) {
    return new Finding(Level.FAIL, subject, refusal, "");
  }

  /** Returns the finding as the doctor prints it. */
  String line() {
    String what = "%-4s  %-10s  %s".formatted(level, subject, found);
    return advice.isEmpty() ? what : what + "\n" + " ".repeat(18) + "-> " + advice;
  }
}
