package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AddressesTest {

  private final Addresses addresses = new Addresses("mnist-sync_2");

  @Test
  void shouldCarryJobRoleRankAndIncarnationWhenSpelledOut() {
    assertEquals("vertigrad.mnist-sync_2.coordinator", addresses.coordinator());
    assertEquals("vertigrad.mnist-sync_2.control", addresses.control());
    assertEquals("vertigrad.mnist-sync_2.events", addresses.events());
    assertEquals("vertigrad.mnist-sync_2.shard.3.1", addresses.shard(3, 1));
    assertEquals("vertigrad.mnist-sync_2.worker.7.2", addresses.member("worker", 7, 2));
  }

  @Test
  void shouldDifferWhenAnyPartDiffers() {
    List<String> all =
        Stream.of(
                addresses.coordinator(),
                addresses.control(),
                addresses.events(),
                addresses.shard(1, 0),
                addresses.shard(0, 1),
                addresses.member("worker", 1, 0),
                addresses.member("worker", 0, 1),
                addresses.member("evaluator", 0, 1),
                new Addresses("other").shard(1, 0))
            .distinct()
            .toList();

    assertEquals(9, all.size());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-x", "_x", "a.b", "a b", "ü", "a/b"})
  void shouldRefuseTheNameWhenItWouldConfuseAddresses(String name) {
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> new Addresses(name));

    assertEquals(
        "job name '"
            + name
            + "': expected 1 to 64 letters, digits, '-' and '_',"
            + " the first a letter or digit",
        error.getMessage());
  }

  @Test
  void shouldTakeSixtyFourCharactersAndNoMoreWhenNamed() {
    assertEquals(64, new Addresses("j".repeat(64)).job().length());
    assertThrows(IllegalArgumentException.class, () -> new Addresses("j".repeat(65)));
  }

  /** Checks the published test vectors of 64-bit FNV-1a. */
  @Test
  void shouldEqualThePublishedVectorsWhenHashed() {
    assertEquals(0xcbf29ce484222325L, Addresses.hash(""));
    assertEquals(0xaf63dc4c8601ec8cL, Addresses.hash("a"));
    assertEquals(0x85944171f73967e8L, Addresses.hash("foobar"));
    assertEquals(Addresses.hash("mnist-sync_2"), addresses.jobHash());
  }
}
