package io.vertigrad.launcher.doctor;

import io.vertigrad.internal.cluster.JoinAddress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunLog;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Stack;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.IParameterConsumer;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Implements {@code vertigrad doctor}, which checks this machine and says what to do. */
@Command(
    name = "doctor",
    mixinStandardHelpOptions = true,
    description = "Checks Java, memory, engines, ports, TLS, data and disk, and says what to do.",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
public final class DoctorCommand implements Callable<Integer> {

  private static final String LINK = "link";
  private static final String LINK_PORT = "15900";
  private static final Duration LINK_LIMIT = Duration.ofMinutes(10);
  private static final Pattern ADDRESS = Pattern.compile("(?:(.+):)?([0-9]{1,5})");

  @Spec private CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "FILE",
      description = "Job file to check for; without one, conf/digits-sync.json.")
  private String file;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "Folder with the data set's files (data.directory).")
  private String data;

  @Option(
      names = "--link",
      paramLabel = "HOST:PORT",
      description =
          "Only measures the link to a machine that runs doctor --link-server: round trip, and"
              + " bandwidth in both directions. With FILE, says what its rounds take over it.")
  private String link;

  @Option(
      names = "--link-server",
      paramLabel = "[HOST:]PORT",
      arity = "0..1",
      parameterConsumer = OptionalAddress.class,
      description =
          "Only waits for one doctor --link of another machine, for 10 minutes, on this port ("
              + LINK_PORT
              + "). Anyone who reaches the port may measure, once.")
  private String linkServer;

  @Override
  public Integer call() throws Exception {
    RunLog.leaveConsole();
    if (link != null && linkServer != null) {
      throw new InputException("--link and --link-server: expected one of them");
    }
    if (linkServer != null) {
      return serveLink(linkServer);
    }
    if (link != null) {
      return measureLink(link);
    }
    JobConfig job = read();
    PrintWriter out = spec.commandLine().getOut();
    CheckResult.Level worst = CheckResult.Level.OK;
    for (Check check : checks(job)) {
      for (CheckResult result : check.run()) {
        out.println(result.line());
        out.flush();
        worst = result.level().compareTo(worst) > 0 ? result.level() : worst;
      }
    }
    out.println();
    out.println(verdict(worst, next()));
    out.flush();
    return worst == CheckResult.Level.FAIL ? ExitStatus.JOB_FAILED : ExitStatus.OK;
  }

  /** Takes the next word only if it is an address: a job file may follow instead. */
  private static final class OptionalAddress implements IParameterConsumer {

    @Override
    public void consumeParameters(Stack<String> words, ArgSpec option, CommandSpec command) {
      boolean given = !words.isEmpty() && ADDRESS.matcher(words.peek()).matches();
      option.setValue(given ? words.pop() : LINK_PORT);
    }
  }

  private int serveLink(String where) {
    InetSocketAddress address = address("--link-server", where, "");
    PrintWriter out = spec.commandLine().getOut();
    try (ServerSocket port = new ServerSocket()) {
      port.setReuseAddress(true);
      port.bind(address, 1);
      String here = address.getAddress().isAnyLocalAddress() ? "HOST" : address.getHostString();
      out.println(
          "Waiting for one measurement, for %s minutes. On the other machine: %s"
              .formatted(
                  LINK_LIMIT.toMinutes(),
                  ShellCommand.of("doctor", "--link", here + ":" + address.getPort())));
      out.flush();
      InetAddress client =
          new LinkMeter()
              .serve(
                  port,
                  LINK_LIMIT,
                  refused -> {
                    out.println("refused " + refused);
                    out.flush();
                  });
      out.println("measured by " + client.getHostAddress());
      out.flush();
      return ExitStatus.OK;
    } catch (SocketTimeoutException e) {
      return failed(
          "%s: nobody has measured within %s minutes".formatted(where, LINK_LIMIT.toMinutes()),
          "start both ends within that time");
    } catch (SocketException e) {
      return failed(where + ": " + e.getMessage(), "name a free port of this machine");
    } catch (IOException e) {
      return failed(e.getMessage(), "start both ends again");
    }
  }

  private int measureLink(String where) throws Exception {
    InetSocketAddress address = address("--link", where, "HOST:");
    JobConfig job = file == null ? null : read();
    LinkMeter.Speed speed;
    try {
      speed = new LinkMeter().measure(where, address);
    } catch (IOException e) {
      return failed(
          e.getMessage(),
          "run there: "
              + ShellCommand.of("doctor", "--link-server", Integer.toString(address.getPort())));
    }
    PrintWriter out = spec.commandLine().getOut();
    out.println(
        CheckResult.ok(
                LINK,
                String.format(
                    Locale.ROOT,
                    "%s: round trip %,.2f ms, %,.0f Mbit/s to it, %,.0f Mbit/s from it",
                    where,
                    speed.roundTripMillis(),
                    speed.toMegabits(),
                    speed.fromMegabits()))
            .line());
    out.println();
    LinkAdvice.of(speed, job).forEach(out::println);
    out.flush();
    return ExitStatus.OK;
  }

  private int failed(String found, String advice) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(CheckResult.fail(LINK, found, advice).line());
    out.flush();
    return ExitStatus.JOB_FAILED;
  }

  private static InetSocketAddress address(String option, String where, String needed) {
    Matcher parts = ADDRESS.matcher(where);
    boolean fits = parts.matches() && (needed.isEmpty() || parts.group(1) != null);
    int port = fits ? Integer.parseInt(parts.group(2)) : 0;
    if (port < 1 || port > JoinAddress.MOST_PORT) {
      String expected = needed.isEmpty() ? "[HOST:]PORT" : "HOST:PORT";
      throw new InputException("%s %s: expected %s".formatted(option, where, expected));
    }
    return parts.group(1) == null
        ? new InetSocketAddress(port)
        : new InetSocketAddress(parts.group(1).replaceAll("^\\[|\\]$", ""), port);
  }

  private static List<Check> checks(JobConfig job) {
    return List.of(
        new JavaCheck(),
        new MemoryCheck(),
        new ProcessorCheck(),
        new EngineCheck(job.engine(), job.workers().device()),
        new AddressCheck(job.cluster()),
        new TlsCheck(job.cluster()),
        new DataCheck(job.data()),
        new JobMemoryCheck(job),
        new DiskCheck());
  }

  /** Returns the command that trains the job that was checked. */
  private ShellCommand next() {
    ShellCommand train = ShellCommand.of("train");
    train = file == null ? train : train.with(file);
    return data == null ? train : train.with("--data", data);
  }

  private static String verdict(CheckResult.Level worst, ShellCommand next) {
    return switch (worst) {
      case OK -> "All is well. Next: " + next;
      case WARN -> "It will run, with the drawbacks above. Next: " + next;
      case FAIL -> "It will not run before the FAIL lines are seen to.";
    };
  }

  private JobConfig read() throws Exception {
    Vertx reader = Vertx.vertx();
    try {
      return new JobRequest(file)
          .option("--data", "data.directory", data)
          .variables(System.getenv())
          .read(reader)
          .toCompletionStage()
          .toCompletableFuture()
          .get();
    } finally {
      reader.close();
    }
  }
}
