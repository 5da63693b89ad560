package io.vertigrad.launcher.doctor;

import java.util.List;

/** Makes one check of {@code vertigrad doctor}. */
@FunctionalInterface
interface Check {

  /** Runs the check; never throws for the problem that it looks for. */
  List<CheckResult> run();
}
