package io.vertigrad.compute.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class NamedClassTest {

  private static final ClassLoader LOADER = NamedClassTest.class.getClassLoader();

  @Test
  void shouldMakeAnInstanceWhenTheClassIsThere() {
    Optional<?> made = NamedClass.instance("java.util.ArrayList", Collection.class, LOADER);

    assertEquals(ArrayList.class, made.orElseThrow().getClass());
  }

  @Test
  void shouldFindNothingWhenNoClassHasTheName() {
    assertEquals(Optional.empty(), NamedClass.instance("org.example.None", List.class, LOADER));
    assertEquals(Optional.empty(), NamedClass.instance("snyc", List.class, LOADER));
  }

  @Test
  void shouldReportTheExpectedTypeWhenTheClassIsOfAnotherType() {
    assertEquals(
        "java.lang.String: expected a class that implements java.util.List",
        refusal("java.lang.String"));
  }

  @Test
  void shouldReportTheExpectedConstructorWhenTheClassCannotBeCreated() {
    assertEquals(
        "java.util.AbstractList: cannot be made, expected a public class with a public constructor"
            + " without arguments that returns",
        refusal("java.util.AbstractList"));
  }

  private static String refusal(String name) {
    return assertThrows(
            IllegalArgumentException.class, () -> NamedClass.instance(name, List.class, LOADER))
        .getMessage();
  }
}
