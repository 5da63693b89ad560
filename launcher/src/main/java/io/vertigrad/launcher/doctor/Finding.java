package io.vertigrad.launcher.doctor;

/**
 * What one check found.
 *
 * @param level how bad it is
 * @param subject what was looked at
 * @param found what is there
 * @param advice what to do; empty when nothing is
 */
record Finding(Level level, String subject, String found, String advice) {

  /** How bad a finding is. */
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

  /** For a refusal that says itself what to do. */
  static Finding fail(String subject, String refusal) {
    return new Finding(Level.FAIL, subject, refusal, "");
  }

  /** As printed by the doctor. */
  String line() {
    String what = "%-4s  %-10s  %s".formatted(level, subject, found);
    return advice.isEmpty() ? what : what + "\n" + " ".repeat(18) + "-> " + advice;
  }
}
