package io.vertigrad.compute.settings;

import java.util.Optional;

/** Instances of classes that a job file names, for whoever registers nothing. */
public final class NamedClass {

  private NamedClass() {}

  /**
   * An object of the class of this name.
   *
   * @param name a class's full name
   * @param type what it must implement
   * @param loader where it is looked for
   * @param <T> what it must implement
   * @return empty when there is no such class
   * @throws IllegalArgumentException when it is of another type, cannot be made, or needs a class
   *     that is not on the class path
   */
  public static <T> Optional<T> instance(String name, Class<T> type, ClassLoader loader) {
    try {
      Class<?> found = Class.forName(name, true, loader);
      if (!type.isAssignableFrom(found)) {
        throw new IllegalArgumentException(
            "%s: expected a class that implements %s".formatted(name, type.getName()));
      }
      return Optional.of(type.cast(found.getConstructor().newInstance()));
    } catch (ClassNotFoundException e) {
      return Optional.empty();
    } catch (ReflectiveOperationException | LinkageError e) {
      String reason =
          MissingClass.in(e)
              .orElse(
                  "cannot be made, expected a public class with a public constructor without"
                      + " arguments that returns");
      throw new IllegalArgumentException("%s: %s".formatted(name, reason), e);
    }
  }

  /**
   * What to say about a name that nothing is known by: a name with dots can only be a class's.
   *
   * @param name what was not found
   * @return the end of a sentence, empty when the name cannot be that of a class
   */
  public static String hint(String name) {
    return name.contains(".") && !name.contains("/")
        ? "; class %s %s".formatted(name, MissingClass.REMEDY)
        : "";
  }
}
