package io.vertigrad.compute.settings;

import java.util.Optional;

/** Creates instances of classes that a job file names, so that they need no registration. */
public final class NamedClass {

  private NamedClass() {}

  /**
   * Creates an object of the named class.
   *
   * @param name a class's full name
   * @param type the class must implement it
   * @param loader searches for the class
   * @param <T> the class must implement it
   * @return empty when there is no such class
   * @throws IllegalArgumentException when the class has another type, cannot be instantiated, or
   *     needs a class that is not on the class path
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
   * Returns a hint about a name that was not found: a name with dots can only be a class name.
   *
   * @param name that was not found
   * @return the end of a sentence, empty when the name cannot be that of a class
   */
  public static String hint(String name) {
    return name.contains(".") && !name.contains("/")
        ? "; class %s %s".formatted(name, MissingClass.REMEDY)
        : "";
  }
}
