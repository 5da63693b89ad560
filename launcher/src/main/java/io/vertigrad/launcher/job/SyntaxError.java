package io.vertigrad.launcher.job;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;

/** Where a job file stops being JSON or YAML, in one line. */
final class SyntaxError {

  private SyntaxError() {}

  static InputException describe(String file, Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof JsonProcessingException json) {
        return new InputException(place(file, json.getLocation(), json), error);
      }
      if (cause instanceof MarkedYAMLException yaml) {
        return new InputException(place(file, yaml.getProblemMark(), yaml), error);
      }
    }
    return new InputException(
        "%s: expected one object, { \"key\": value, ... } in JSON or key: value in YAML (%s)"
            .formatted(file, firstLine(error.getMessage())),
        error);
  }

  private static String place(String file, JsonLocation at, JsonProcessingException error) {
    int line = at == null ? 1 : at.getLineNr();
    int column = at == null ? 1 : at.getColumnNr();
    String problem = firstLine(error.getOriginalMessage());
    return "%s: line %d, column %d: not valid JSON: %s".formatted(file, line, column, problem);
  }

  private static String place(String file, Mark at, MarkedYAMLException error) {
    int line = at == null ? 1 : at.getLine() + 1;
    int column = at == null ? 1 : at.getColumn() + 1;
    String problem = firstLine(error.getProblem());
    return "%s: line %d, column %d: not valid YAML: %s".formatted(file, line, column, problem);
  }

  private static String firstLine(String text) {
    return text == null ? "no detail" : text.lines().findFirst().orElse("").strip();
  }
}
