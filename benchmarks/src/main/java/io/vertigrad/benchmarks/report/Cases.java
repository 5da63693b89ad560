package io.vertigrad.benchmarks.report;

import java.util.List;
import java.util.function.Function;

/** Which cases of a benchmark {@code --only} asks for. */
public final class Cases {

  private Cases() {}

  /**
   * The cases whose name holds a text.
   *
   * @throws UnknownCaseException when there are none; its message lists those there are
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
