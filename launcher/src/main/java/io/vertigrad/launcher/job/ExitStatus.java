package io.vertigrad.launcher.job;

/** What the command line's exit codes mean. */
public final class ExitStatus {

  /** All went well. */
  public static final int OK = 0;

  /** The job was started and failed, or the doctor found what will make it fail. */
  public static final int JOB_FAILED = 1;

  /** The command line, the job file or the data are wrong; nothing was trained. */
  public static final int BAD_INPUT = 2;

  /** Ctrl-C: members left in good order. */
  public static final int INTERRUPTED = 130;

  private ExitStatus() {}
}
