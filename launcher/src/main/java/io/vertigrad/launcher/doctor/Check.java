package io.vertigrad.launcher.doctor;

import java.util.List;

/** One thing the doctor looks at. */
@FunctionalInterface
interface Check {

  /** Looks; never throws for what it was made to find. */
  List<Finding> run();
}
