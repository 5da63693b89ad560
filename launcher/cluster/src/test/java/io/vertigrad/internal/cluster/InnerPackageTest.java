package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertx.core.Vertx;
import org.junit.jupiter.api.Test;

class InnerPackageTest {

  @Test
  void shouldAcceptEveryPackageOfTheClassPath() {
    InnerPackage bus = new InnerPackage(Vertx.class.getModule(), "io.vertx.core.eventbus.impl");

    assertDoesNotThrow(bus::require);
  }

  @Test
  void shouldNameTheOptionWhenAModuleDoesNotExportThePackage() {
    InnerPackage hidden = new InnerPackage(Object.class.getModule(), "jdk.internal.vm");

    assertEquals(
        "module java.base does not export jdk.internal.vm: start java with --add-exports"
            + " java.base/jdk.internal.vm=ALL-UNNAMED",
        assertThrows(IllegalStateException.class, hidden::require).getMessage());
  }
}
