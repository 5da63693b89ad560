package io.vertigrad.compute.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class MissingClassTest {

  private static final String LIBRARY = Library.class.getName();

  private static final String SENTENCE =
      "class %s is not on the class path; name its jar in VERTIGRAD_CLASSPATH".formatted(LIBRARY);

  @Test
  void shouldNameTheClassWhenAConstructorNeedsIt() {
    assertEquals(
        "%s: %s".formatted(InConstructor.class.getName(), SENTENCE),
        refusal(InConstructor.class.getName()));
  }

  @Test
  void shouldNameTheClassWhenAnotherOneExtendsIt() {
    assertEquals(
        "%s: %s".formatted(Extending.class.getName(), SENTENCE),
        refusal(Extending.class.getName()));
  }

  @Test
  void shouldNameTheClassWhenAMethodNeedsItLater() {
    Supplier<?> made =
        NamedClass.instance(InMethod.class.getName(), Supplier.class, new WithoutLibrary())
            .orElseThrow();

    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class, () -> MissingClass.named("model mine", made::get));

    assertEquals("model mine: " + SENTENCE, refused.getMessage());
  }

  @Test
  void shouldNameTheProviderWhenServicesListOneThatIsNotThere() {
    ServiceConfigurationError error =
        assertThrows(
            ServiceConfigurationError.class,
            () -> ServiceLoader.load(Supplier.class, new WithoutProvider()).iterator().next());

    assertEquals(
        Optional.of(
            "class org.example.Lost is not on the class path; name its jar in"
                + " VERTIGRAD_CLASSPATH"),
        MissingClass.in(error));
  }

  @Test
  void shouldNameTheLibraryWhenItIsAKnownOne() {
    Throwable error =
        new NoClassDefFoundError("org/deeplearning4j/nn/modelimport/keras/KerasModel");

    assertEquals(
        "class org.deeplearning4j.nn.modelimport.keras.KerasModel (library"
            + " org.deeplearning4j:deeplearning4j-modelimport) is not on the class path; name its"
            + " jar in VERTIGRAD_CLASSPATH",
        MissingClass.in(new IllegalStateException("x", error)).orElseThrow());
  }

  @Test
  void shouldRethrowOtherErrors() {
    Error broken = new NoClassDefFoundError("Could not initialize class org.example.Broken");
    RuntimeException own = new IllegalStateException("its own words");

    assertSame(
        broken, assertThrows(Error.class, () -> MissingClass.named("x", () -> thrown(broken))));
    assertSame(
        own,
        assertThrows(RuntimeException.class, () -> MissingClass.named("x", () -> thrown(own))));
  }

  private static Object thrown(Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    throw (RuntimeException) failure;
  }

  private static String refusal(String name) {
    return assertThrows(
            IllegalArgumentException.class,
            () -> NamedClass.instance(name, Supplier.class, new WithoutLibrary()))
        .getMessage();
  }

  /** The library that other classes need. */
  public static class Library {}

  /** Needs the library when it is created. */
  public static final class InConstructor implements Supplier<Object> {

    private final Object library = new Library();

    @Override
    public Object get() {
      return library;
    }
  }

  /** Needs the library when it is loaded. */
  public static final class Extending extends Library implements Supplier<Object> {

    @Override
    public Object get() {
      return this;
    }
  }

  /** Needs the library when it is used. */
  public static final class InMethod implements Supplier<Object> {

    @Override
    public Object get() {
      return new Library();
    }
  }

  /** Loads this test's classes itself, without the library. */
  private static final class WithoutLibrary extends ClassLoader {

    WithoutLibrary() {
      super(MissingClassTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.equals(LIBRARY)) {
        throw new ClassNotFoundException(name);
      }
      if (!name.startsWith(MissingClassTest.class.getName() + "$")) {
        return super.loadClass(name, resolve);
      }
      Class<?> loaded = findLoadedClass(name);
      return loaded == null ? define(name) : loaded;
    }

    private Class<?> define(String name) {
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] code = in.readAllBytes();
        return defineClass(name, code, 0, code.length);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Lists a service provider whose class it does not have. */
  private static final class WithoutProvider extends ClassLoader {

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
      if (!name.equals("META-INF/services/" + Supplier.class.getName())) {
        return super.getResources(name);
      }
      Path file = Files.createTempFile("services", "");
      file.toFile().deleteOnExit();
      Files.writeString(file, "org.example.Lost\n");
      return Collections.enumeration(List.of(file.toUri().toURL()));
    }
  }
}
