package io.vertigrad.benchmarks.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.testkit.chaos.ChaosPlan;
import io.vertigrad.testkit.chaos.Disturbance;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ChaosOptionsTest {

  @Test
  void shouldAcceptZeroKills() {
    ChaosOptions options = read(Map.of("kills", "0", "stops", "3"), false);

    assertEquals(0, options.kills());
    assertEquals(3, options.stops());
  }

  @Test
  void shouldUseDefaultNumbersWhenNoneAreNamed() {
    assertEquals(
        new ChaosOptions("", 1, 12, 1, 0, 6, 0, "", ChaosFault.NONE), read(Map.of(), false));
    assertEquals(new ChaosOptions("", 1, 4, 0, 0, 6, 0, "", ChaosFault.NONE), read(Map.of(), true));
  }

  @Test
  void shouldStopAllMembersInTheNumberOfRuns() {
    assertEquals(100, read(Map.of("stop-all", "100"), true).stopAll());
  }

  @Test
  void shouldKillOnlyTheNamedVictim() {
    ChaosPlan sync = ChaosPlan.all().get(0);

    assertEquals(List.of("server 0"), read(Map.of("victim", "server-0"), false).victims(sync));
    assertEquals(sync.victims(), read(Map.of(), false).victims(sync));
    Exception nobody =
        assertThrows(
            IllegalArgumentException.class,
            () -> read(Map.of("victim", "server-7"), false).victims(sync));
    assertTrue(nobody.getMessage().startsWith("--victim server 7: expected one of [worker 0"));
  }

  @Test
  void shouldOnlyCutTheLinkWhenConfigured() {
    ChaosOptions options = read(Map.of("cut", "60"), false);

    assertEquals(List.of(Disturbance.cut(6, 60)), options.disturbances(ChaosPlan.all().get(0)));
    assertEquals(
        "--cut 60: expected no --kills, --stops, --stop-all and --victim with it",
        assertThrows(
                IllegalArgumentException.class,
                () -> read(Map.of("cut", "60", "kills", "2"), false))
            .getMessage());
  }

  @Test
  void shouldReportTheInvalidOption() {
    assertEquals("--kills -1: expected a whole number from 0", refused("kills", "-1"));
    assertEquals("--stops many: expected a whole number from 0", refused("stops", "many"));
    assertEquals("--every 0: expected seconds, above 0", refused("every", "0"));
  }

  private static String refused(String name, String value) {
    return assertThrows(IllegalArgumentException.class, () -> read(Map.of(name, value), false))
        .getMessage();
  }

  private static ChaosOptions read(Map<String, String> given, boolean quick) {
    return ChaosOptions.read(
        name -> given.get(name.substring("vertigrad.benchmarks.".length())), quick);
  }
}
