package io.vertigrad.compute.settings;

import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Describes a class that is not on the class path in one sentence: which class it is and which
 * library contains it.
 */
public final class MissingClass {

  /** The text that follows the name of a missing class. */
  public static final String REMEDY =
      "is not on the class path; name its jar in VERTIGRAD_CLASSPATH";

  /** The form of a class name in the JVM's report of a missing class. */
  private static final Pattern CLASS_NAME = Pattern.compile("[\\w$/.]+");

  private static final Pattern PROVIDER = Pattern.compile(".*: Provider (\\S+) not found");

  /** Libraries of the DL4J family that Vertigrad does not use itself, by their packages. */
  private static final Map<String, String> LIBRARIES =
      Map.of(
          "org.deeplearning4j.nn.modelimport.", "org.deeplearning4j:deeplearning4j-modelimport",
          "org.deeplearning4j.zoo.", "org.deeplearning4j:deeplearning4j-zoo",
          "org.deeplearning4j.datasets.datavec.",
              "org.deeplearning4j:deeplearning4j-datavec-iterators",
          "org.deeplearning4j.datasets.", "org.deeplearning4j:deeplearning4j-datasets",
          "org.datavec.", "org.datavec:datavec-api");

  private MissingClass() {}

  /**
   * Runs foreign code; if that code lacks a class, reports which.
   *
   * @param user name of the code for the user: the name of a class or a section
   * @param code is run on this thread
   * @param <T> type of the result
   * @return the result of the code
   * @throws IllegalArgumentException when a class is missing; other failures pass unchanged
   */
  public static <T> T named(String user, Supplier<T> code) {
    try {
      return code.get();
    } catch (LinkageError | RuntimeException | ServiceConfigurationError failure) {
      String sentence = in(failure).orElseThrow(() -> unchanged(failure));
      throw new IllegalArgumentException("%s: %s".formatted(user, sentence), failure);
    }
  }

  /**
   * Returns the sentence for a failure that a missing class caused; empty for any other failure.
   *
   * @param failure of foreign code
   * @return the sentence
   */
  public static Optional<String> in(Throwable failure) {
    return Stream.iterate(failure, cause -> cause != null, Throwable::getCause)
        .flatMap(cause -> name(cause).stream())
        .reduce((outer, root) -> root)
        .map(MissingClass::sentence);
  }

  /**
   * Returns the sentence for the first of these classes that the loader does not find; empty if it
   * finds all.
   *
   * @param names of classes
   * @param loader searches for them
   * @return the sentence
   */
  public static Optional<String> among(Stream<String> names, ClassLoader loader) {
    return names.filter(name -> !found(name, loader)).findFirst().map(MissingClass::sentence);
  }

  private static boolean found(String name, ClassLoader loader) {
    try {
      Class.forName(name, false, loader);
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static Optional<String> name(Throwable failure) {
    String message = failure.getMessage();
    if (message == null) {
      return Optional.empty();
    }
    if (failure instanceof ServiceConfigurationError) {
      Matcher provider = PROVIDER.matcher(message);
      return provider.matches() ? Optional.of(provider.group(1)) : Optional.empty();
    }
    boolean missing =
        failure instanceof NoClassDefFoundError || failure instanceof ClassNotFoundException;
    return missing && CLASS_NAME.matcher(message).matches()
        ? Optional.of(message.replace('/', '.'))
        : Optional.empty();
  }

  private static String sentence(String name) {
    String library =
        LIBRARIES.entrySet().stream()
            .filter(entry -> name.startsWith(entry.getKey()))
            .max(Map.Entry.comparingByKey())
            .map(entry -> " (library " + entry.getValue() + ")")
            .orElse("");
    return "class %s%s %s".formatted(name, library, REMEDY);
  }

  private static RuntimeException unchanged(Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    return (RuntimeException) failure;
  }
}
