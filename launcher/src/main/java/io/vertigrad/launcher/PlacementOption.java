package io.vertigrad.launcher;

import io.vertigrad.launcher.run.Placement;
import java.util.Map;
import java.util.Stack;
import picocli.CommandLine.IParameterPreprocessor;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The option {@code --processes[=all]}. */
final class PlacementOption {

  static final String NAME = "--processes";
  static final String SEPARATOR = "=";
  private static final String ALL = "all";

  @Option(
      names = NAME,
      arity = "0..1",
      paramLabel = ALL,
      preprocessor = AttachedValue.class,
      converter = Converter.class,
      description =
          "Starts every server and worker as a JVM of its own; with =all the evaluator too, which"
              + " otherwise runs beside the coordinator.")
  private Placement placement;

  /** Returns the placement that was asked for; null when the option was not given. */
  Placement placement() {
    return placement;
  }

  /** Takes a value only after an equals sign, because a job file may follow the option. */
  private static final class AttachedValue implements IParameterPreprocessor {
    @Override
    public boolean preprocess(
        Stack<String> arguments, CommandSpec command, ArgSpec option, Map<String, Object> info) {
      if (!SEPARATOR.equals(info.get("separator"))) {
        arguments.push("");
      }
      return false;
    }
  }

  private static final class Converter implements ITypeConverter<Placement> {
    @Override
    public Placement convert(String value) {
      return switch (value) {
        case "" -> Placement.PROCESSES;
        case ALL -> Placement.ALL_PROCESSES;
        default ->
            throw new TypeConversionException(
                "found %s, expected %s=%s or %s alone".formatted(value, NAME, ALL, NAME));
      };
    }
  }
}
