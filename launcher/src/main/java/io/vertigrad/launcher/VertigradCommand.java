package io.vertigrad.launcher;

import io.vertigrad.compute.data.DecimalNotation;
import io.vertigrad.launcher.doctor.DoctorCommand;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.run.Versions;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** Builds and runs the {@code vertigrad} command line. */
@Command(
    name = "vertigrad",
    mixinStandardHelpOptions = true,
    versionProvider = VertigradCommand.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    description = "Trains neural networks across JVMs, over the Vert.x event bus.",
    commandListHeading = "%nCommands:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nTry:%n",
    footer = {
      "  ${sys:vertigrad.command:-./vertigrad} train                             on generated digits, in seconds",
      "  ${sys:vertigrad.command:-./vertigrad} train conf/mnist-sync.json --data DIR  on MNIST",
      "  ${sys:vertigrad.command:-./vertigrad} train --processes                 in several JVMs",
      "  ${sys:vertigrad.command:-./vertigrad} resume                            goes on with an interrupted run",
      "  ${sys:vertigrad.command:-./vertigrad} sweep --set workers.batch=16..128 tries many settings",
      "  ${sys:vertigrad.command:-./vertigrad} ui                                all runs on one page",
      "  ${sys:vertigrad.command:-./vertigrad} runs                              all runs in the terminal",
      "  ${sys:vertigrad.command:-./vertigrad} replay last                       shows a run again",
      "  ${sys:vertigrad.command:-./vertigrad} compare runs/<one> runs/<other>   runs side by side",
      "  ${sys:vertigrad.command:-./vertigrad} evaluate last                     tests a trained model",
      "  ${sys:vertigrad.command:-./vertigrad} predict last digit.png            asks it",
      "  ${sys:vertigrad.command:-./vertigrad} serve last                        answers over HTTP",
      "  ${sys:vertigrad.command:-./vertigrad} export last --to onnx             for other programs",
      "  ${sys:vertigrad.command:-./vertigrad} check net.pt2 --with FILE         compares it with PyTorch's",
      "  ${sys:vertigrad.command:-./vertigrad} doctor                            checks this machine",
      "",
      "Exit codes: 0 well, 1 the job failed, check found a difference or the output was not written,",
      "2 the input was wrong, 130 interrupted, 141 nobody reads the output any more."
    })
final class VertigradCommand implements Runnable {

  /** The commands in the order of the help. */
  private static final Map<String, Class<?>> COMMANDS = commands();

  private static final String PREDICT = "predict";

  @Spec private CommandSpec spec;

  /** Runs the command line and ends the JVM with the command's exit code. */
  static void main(String[] arguments) {
    StandardOutput out = StandardOutput.install();
    System.exit(out.exitCode(execute(arguments), System.err));
  }

  /** Runs one command to its end; the result is one of {@link ExitStatus}. */
  static int execute(String... arguments) {
    return commandLine(arguments).execute(arguments);
  }

  /**
   * Returns a command line with all commands, or only the one asked for: building each takes time.
   */
  static CommandLine commandLine(String... arguments) {
    CommandLine line = new CommandLine(new VertigradCommand());
    boolean known = arguments.length > 0 && COMMANDS.containsKey(arguments[0]);
    COMMANDS.forEach(
        (name, command) -> {
          if (!known || name.equals(arguments[0])) {
            line.addSubcommand(name, command);
          }
        });
    // A row of values may begin with a minus sign; the command refuses unknown options itself.
    Optional.ofNullable(line.getSubcommands().get(PREDICT))
        .ifPresent(predict -> predict.setUnmatchedOptionsArePositionalParams(true));
    return line.setUsageHelpAutoWidth(true)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .registerConverter(double.class, new NumberConverter())
        .registerConverter(Double.class, new NumberConverter())
        .setParameterExceptionHandler(new WrongArguments())
        .setExecutionExceptionHandler(new Failures());
  }

  private static Map<String, Class<?>> commands() {
    Map<String, Class<?>> commands = new LinkedHashMap<>();
    commands.put("train", TrainCommand.class);
    commands.put("resume", ResumeCommand.class);
    commands.put("sweep", SweepCommand.class);
    commands.put("trials", TrialsCommand.class);
    commands.put("node", NodeCommand.class);
    commands.put("ui", UiCommand.class);
    commands.put("runs", RunsCommand.class);
    commands.put("replay", ReplayCommand.class);
    commands.put("compare", CompareCommand.class);
    commands.put("evaluate", EvaluateCommand.class);
    commands.put(PREDICT, PredictCommand.class);
    commands.put("serve", ServeCommand.class);
    commands.put("export", ExportCommand.class);
    commands.put("check", CheckCommand.class);
    commands.put("doctor", DoctorCommand.class);
    return commands;
  }

  /** Prints the help when no command is given. */
  @Override
  public void run() {
    PrintWriter out = spec.commandLine().getOut();
    spec.commandLine().usage(out);
    out.flush();
  }

  // No lambda implements an interface of picocli: its class files are of Java 5, and Java 17
  // crashes while it archives such lambdas.

  private static final class NumberConverter implements ITypeConverter<Double> {

    @Override
    public Double convert(String text) {
      double value = DecimalNotation.POINT.parse(text);
      if (Double.isNaN(value)) {
        throw new TypeConversionException("'%s' is not a number".formatted(text));
      }
      return value;
    }
  }

  private static final class WrongArguments implements IParameterExceptionHandler {

    @Override
    public int handleParseException(ParameterException e, String[] arguments) {
      return FailureReport.wrongArguments(e, arguments);
    }
  }

  private static final class Failures implements IExecutionExceptionHandler {

    @Override
    public int handleExecutionException(Exception e, CommandLine command, ParseResult parsed) {
      return FailureReport.failed(e, command, parsed);
    }
  }

  /** Prints the versions for {@code --version}. */
  static final class Version implements IVersionProvider {

    @Override
    public String[] getVersion() {
      StringBuilder text = new StringBuilder();
      text.append("Vertigrad ").append(Versions.all().get("vertigrad"));
      text.append(" (").append(Versions.gitRevision()).append(")");
      Versions.all().forEach((name, version) -> text.append("%n  ").append(name + " " + version));
      return new String[] {text.toString()};
    }
  }
}
