package io.vertigrad.compute.data;

import io.vertigrad.compute.settings.SettingsException;
import java.io.IOException;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * A component that the job names has thrown: its model, its data set or its source of events. The
 * message names the component, the place, and the class, message and line of what was thrown.
 *
 * <p>What happens next depends only on what was thrown, for components of this project and of its
 * users alike:
 *
 * <ul>
 *   <li><b>Permanent</b>, and the job ends at once: every exception and error that is not listed
 *       below. A component computes from its inputs. A replacement of the member reads the same
 *       samples, holds the same parameters and takes the same step, so it would throw again. To
 *       replace it three times costs the starts of three members and reports the same failure four
 *       times. Where the failure was chance after all, {@code resume} goes on from the last
 *       checkpoint, and the user has seen the failure.
 *   <li><b>Of the machine</b>, and the member is replaced: an {@link OutOfMemoryError} or another
 *       {@link VirtualMachineError}, an {@link IOException}, a {@link TimeoutException} or a {@link
 *       LinkageError}, itself or among its causes. Another process may have the memory, disk,
 *       network or library. Two of these errors are permanent, because they follow from the inputs:
 *       a {@link StackOverflowError}, and an {@link ExceptionInInitializerError} whose cause is.
 *   <li><b>What the author says</b>: a {@link DataException} is permanent only if it was made so,
 *       and a failure {@linkplain #ofMachine of the machine} never is.
 * </ul>
 *
 * <p>Programs that only observe a job, such as subscribers of its events, are no components: a
 * failure there does not concern the job.
 */
public final class ComponentException extends RuntimeException {

  private static final long serialVersionUID = 1L;
  private static final int LONGEST_MESSAGE = 300;
  private static final int MOST_CAUSES = 100;

  private final boolean permanent;

  private ComponentException(String message, Throwable cause, boolean permanent) {
    super(message, cause);
    this.permanent = permanent;
  }

  /**
   * Returns the failure of a component.
   *
   * @param component with its name, such as {@code model "resnet20"}
   * @param where such as {@code step 12}
   * @param thrown what the component has thrown
   * @return what was thrown if it is a message already: a {@link DataException}, {@link
   *     SettingsException} or failure of another component
   */
  public static RuntimeException of(String component, String where, Throwable thrown) {
    return thrown instanceof DataException
            || thrown instanceof SettingsException
            || thrown instanceof ComponentException
        ? (RuntimeException) thrown
        : new ComponentException(
            "%s failed at %s: %s".formatted(component, where, described(thrown)),
            thrown,
            isPermanent(thrown));
  }

  /**
   * Creates a failure of the machine, for a component that knows it: another process may do better.
   *
   * @param message what was found and what was expected
   * @param cause may be null
   * @return the exception
   */
  public static ComponentException ofMachine(String message, Throwable cause) {
    return new ComponentException(message, cause, false);
  }

  /**
   * Calls a component. What its contract lets it throw, for the user to read, passes unchanged: an
   * {@link IllegalArgumentException}, a {@link SettingsException} or a {@link DataException}. So
   * does a missing class.
   *
   * @param component with its name, such as {@code data set "spirals"}
   * @param where such as {@code its creation}
   * @param code calls it, on this thread
   * @param <T> type of the result
   * @return the result
   * @throws ComponentException when it throws anything else
   */
  public static <T> T call(String component, String where, Supplier<T> code) {
    try {
      return code.get();
    } catch (IllegalArgumentException | LinkageError known) {
      throw known;
    } catch (RuntimeException | Error thrown) {
      throw of(component, where, thrown);
    }
  }

  /**
   * Returns whether a replacement of the member would fail in the same way.
   *
   * @return false for a failure of the machine
   */
  public boolean isPermanent() {
    return permanent;
  }

  private static boolean isPermanent(Throwable thrown) {
    return Stream.iterate(thrown, one -> one != null, Throwable::getCause)
        .limit(MOST_CAUSES)
        .noneMatch(ComponentException::isOfMachine);
  }

  private static boolean isOfMachine(Throwable thrown) {
    return thrown instanceof IOException
        || thrown instanceof TimeoutException
        || thrown instanceof VirtualMachineError && !(thrown instanceof StackOverflowError)
        || thrown instanceof LinkageError && !(thrown instanceof ExceptionInInitializerError)
        || thrown instanceof DataException data && !data.isPermanent()
        || thrown instanceof ComponentException component && !component.isPermanent();
  }

  /**
   * Returns the class, message and place of what was thrown. The place is the first line that is
   * not in Java's own classes.
   *
   * @param thrown by foreign code
   * @return one line
   */
  public static String described(Throwable thrown) {
    String message = String.valueOf(thrown).strip().replaceAll("\\s+", " ");
    String cut =
        message.length() > LONGEST_MESSAGE
            ? message.substring(0, LONGEST_MESSAGE) + "..."
            : message;
    StackTraceElement[] trace = thrown.getStackTrace();
    return Stream.of(trace)
        .filter(line -> !line.getClassName().matches("(java|jdk|sun)\\..*"))
        .findFirst()
        .or(() -> Stream.of(trace).findFirst())
        .map(place -> cut + ", at " + place)
        .orElse(cut);
  }
}
