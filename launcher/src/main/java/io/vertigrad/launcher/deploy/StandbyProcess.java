package io.vertigrad.launcher.deploy;

import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a process that waits for this one to end and then replaces it as the run's coordinator. */
public final class StandbyProcess {

  private static final long STOP_SECONDS = 2;

  private final ChildProcess process;

  private StandbyProcess(ChildProcess process) {
    this.process = process;
  }

  /**
   * Starts the standby; it outlives this process unless it is stopped.
   *
   * @param mainClass main class of the command line, started with {@code resume}
   * @param resumes how many coordinators the run has had before this one
   * @throws InputException when no process can be started
   */
  public static StandbyProcess start(RunDirectory run, String mainClass, int resumes) {
    try {
      return new StandbyProcess(
          ChildProcess.start(
              "standby",
              run.log("standby-" + resumes),
              mainClass,
              List.of("resume", "--standby", run.path().toString())));
    } catch (IOException e) {
      throw new InputException("a standby could not be started: " + e.getMessage(), e);
    }
  }

  /** Stops the standby when the job is over; blocks for a few seconds at most. */
  public void stop() {
    process.ask();
    process.end(TimeUnit.SECONDS.toNanos(STOP_SECONDS));
  }
}
