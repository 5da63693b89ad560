package io.vertigrad.launcher.doctor;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunLog;
import io.vertx.core.Vertx;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
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

  @Override
  public Integer call() throws Exception {
    RunLog.leaveConsole();
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
