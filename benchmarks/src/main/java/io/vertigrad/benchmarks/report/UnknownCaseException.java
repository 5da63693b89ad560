package io.vertigrad.benchmarks.report;

import java.util.List;
import java.util.function.Function;

/** A benchmark was asked for cases it does not have; the one-line message lists those it has. */
public final class UnknownCaseException extends IllegalArgumentException {

  private static final long serialVersionUID = 1L;

  private UnknownCaseException(String message) {
    super(message);
  }

  /**
   * The cases whose name holds a text.
   *
   * @throws UnknownCaseException when there are none
   */
  public static <C> List<C> named(String text, List<C> cases, Function<C, String> name) {
    List<C> chosen = cases.stream().filter(one -> name.apply(one).contains(text)).toList();
    if (chosen.isEmpty()) {
      throw new UnknownCaseException(
          "--only \"%s\" fits no case, expected part of one of: %s"
              .formatted(text, String.join("; ", cases.stream().map(name).toList())));
    }
    return chosen;
  }
}
