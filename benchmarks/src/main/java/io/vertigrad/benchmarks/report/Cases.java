package io.vertigrad.benchmarks.report;

import java.util.List;
import java.util.function.Function;

/** Selects the cases of a benchmark that {@code --only} asks for. */
public final class Cases {

  private Cases() {}

  /**
   * Returns the cases whose name contains a text.
   *
   * @throws UnknownCaseException when there are none; its message lists all cases
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
