package io.vertigrad.launcher;

import io.vertigrad.launcher.job.ExitStatus;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;

/**
 * Standard output that remembers its first error: {@link PrintStream} hides errors, so that a
 * command would end well although nobody has what it printed. Any thread may use it.
 */
final class StandardOutput extends FilterOutputStream {

  private static final int BUFFER_BYTES = 8192;

  private volatile IOException error;

  StandardOutput(OutputStream out) {
    super(out);
  }

  /** Makes {@code System.out} such an output, with the encoding that it has. */
  static StandardOutput install() {
    StandardOutput out = new StandardOutput(new FileOutputStream(FileDescriptor.out));
    String usual = System.getProperty("sun.stdout.encoding", Charset.defaultCharset().name());
    Charset encoding = Charset.forName(System.getProperty("stdout.encoding", usual));
    System.setOut(new PrintStream(new BufferedOutputStream(out, BUFFER_BYTES), true, encoding));
    return out;
  }

  @Override
  public void write(int one) throws IOException {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    try {
      out.write(bytes, offset, length);
    } catch (IOException e) {
      error = error == null ? e : error;
      throw e;
    }
  }

  /**
   * Returns the exit code of a command, which is not {@link ExitStatus#OK} unless all of its output
   * has been written. A reader that has ended, as {@code head} does, is no news to anybody.
   *
   * @param code the command's own code
   * @param messages where an error is reported
   */
  int exitCode(int code, PrintStream messages) {
    System.out.flush();
    if (error == null) {
      return code;
    }
    boolean broken = String.valueOf(error.getMessage()).contains("Broken pipe");
    if (!broken) {
      messages.println("vertigrad: the output could not be written: " + error.getMessage());
    }
    if (code != ExitStatus.OK) {
      return code;
    }
    return broken ? ExitStatus.BROKEN_PIPE : ExitStatus.JOB_FAILED;
  }
}
