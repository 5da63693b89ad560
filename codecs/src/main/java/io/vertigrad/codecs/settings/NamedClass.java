package io.vertigrad.codecs.settings;

import java.util.Optional;

/** Instances of classes that a job file names, for whoever registers nothing. */
public final class NamedClass {

  private NamedClass() {}

  /**
   * An object of the class of this name.
   *
   * @param type what it must implement
   * @return empty when there is no such class
   * @throws IllegalArgumentException when it is of another type or cannot be made
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
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException(
          "%s: cannot be made, expected a public class with a public constructor without arguments"
                  .formatted(name)
              + " that returns",
          e);
    }
  }
}
