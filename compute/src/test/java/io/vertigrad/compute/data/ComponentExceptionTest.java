package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ComponentExceptionTest {

  static Stream<Throwable> permanent() {
    return Stream.of(
        new IllegalStateException("no"),
        new AssertionError("no"),
        new StackOverflowError(),
        new ExceptionInInitializerError(new IllegalStateException("no")),
        new RuntimeException(DataException.permanent("no")));
  }

  static Stream<Throwable> ofMachine() {
    return Stream.of(
        new OutOfMemoryError("Java heap space"),
        new InternalError("a fault occurred in an unsafe memory access"),
        new UncheckedIOException(new IOException("Stale file handle")),
        new IllegalStateException(new TimeoutException()),
        new UnsatisfiedLinkError("no library"),
        new ExceptionInInitializerError(new UncheckedIOException(new IOException("full"))),
        new RuntimeException(new DataException("no such file")),
        new RuntimeException(ComponentException.ofMachine("the GPU has failed", null)));
  }

  @ParameterizedTest
  @MethodSource("permanent")
  void shouldEndTheJobWhenAReplacementWouldThrowTheSame(Throwable thrown) {
    assertTrue(failure(thrown).isPermanent());
  }

  @ParameterizedTest
  @MethodSource("ofMachine")
  void shouldLetTheMemberBeReplacedWhenAnotherProcessMayDoBetter(Throwable thrown) {
    assertFalse(failure(thrown).isPermanent());
  }

  @Test
  void shouldNotFollowCausesInACircle() {
    Exception outer = new Exception("outer");
    Exception inner = new Exception("inner", outer);
    outer.initCause(inner);

    assertTrue(failure(outer).isPermanent());
  }

  @Test
  void shouldNameComponentPlaceClassAndLine() {
    String message =
        failure(assertThrows(RuntimeException.class, () -> List.of().get(1))).getMessage();

    assertTrue(
        message.matches(
            "model \"m\" failed at step 3: java\\.lang\\.ArrayIndexOutOfBoundsException: .* at"
                + " io\\.vertigrad\\.compute\\.data\\.ComponentExceptionTest\\..*\\(ComponentExceptionTest\\.java:\\d+\\)"),
        message);
  }

  @Test
  void shouldKeepAMessageOnOneLineAndWithinLimits() {
    String message = failure(new IllegalStateException("a\n\tb" + "c".repeat(1_000))).getMessage();

    assertTrue(message.contains("IllegalStateException: a bccc"), message);
    assertEquals(1, message.lines().count());
    assertTrue(message.length() < 600, message);
  }

  @Test
  void shouldKeepWhatIsAMessageAlready() {
    DataException said = new DataException("a.csv: there is no such file");

    assertSame(said, ComponentException.of("model \"m\"", "step 3", said));
  }

  @Test
  void shouldPassOnWhatAConstructorMayThrow() {
    IllegalArgumentException said = new IllegalArgumentException("model m: expected 2 inputs");
    IllegalStateException broken = new IllegalStateException("no");

    assertSame(said, assertThrows(RuntimeException.class, () -> create(said)));
    assertSame(broken, assertThrows(ComponentException.class, () -> create(broken)).getCause());
  }

  private static void create(RuntimeException thrown) {
    ComponentException.call(
        "model \"m\"",
        "its creation",
        () -> {
          throw thrown;
        });
  }

  private static ComponentException failure(Throwable thrown) {
    return assertInstanceOf(
        ComponentException.class, ComponentException.of("model \"m\"", "step 3", thrown));
  }
}
