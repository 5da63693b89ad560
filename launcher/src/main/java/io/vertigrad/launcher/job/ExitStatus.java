package io.vertigrad.launcher.job;

/** Exit codes of the command line. */
public final class ExitStatus {

  /** The command succeeded. */
  public static final int OK = 0;

  /**
   * The job was started and failed, the doctor found a problem that will make it fail, or check
   * found a difference.
   */
  public static final int JOB_FAILED = 1;

  /** The command line, the job file or the data are wrong; nothing was trained. */
  public static final int BAD_INPUT = 2;

  /** Ctrl-C interrupted the command; members left in good order. */
  public static final int INTERRUPTED = 130;

  /** The program that reads this command's output has ended before it. */
  public static final int BROKEN_PIPE = 141;

  private ExitStatus() {}
}
