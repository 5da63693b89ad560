package io.vertigrad.strategy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.NamedConfig;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StrategyProvidersTest {

  private static final ClassLoader LOADER = StrategyProvidersTest.class.getClassLoader();

  @ParameterizedTest
  @CsvSource({
    "sync, true, 200",
    "async, false, 400",
    "ssp, false, 400",
    "dpsgd, true, 200",
    "allreduce, true, 200",
    "local, true, 200",
    "gossip, true, 200"
  })
  void shouldFindAStrategyByItsName(String name, boolean lockstep, long last) {
    StrategyFactory factory = StrategyProviders.configure(config(name), LOADER);

    assertEquals(lockstep, factory.traits().lockstep());
    assertEquals(last, factory.traits().lastVersion(200, 2));
  }

  @Test
  void shouldListTheKnownNamesWhenThereIsNoSuchStrategy() {
    SettingsException e =
        assertThrows(
            SettingsException.class, () -> StrategyProviders.configure(config("snyc"), LOADER));

    String start = "conf/x.json: strategy.name is \"snyc\", expected one of allreduce, ";
    assertTrue(e.getMessage().startsWith(start), e.getMessage());
    assertTrue(
        e.getMessage().endsWith("ssp, sync, or the class name of a StrategyProvider"),
        e.getMessage());
  }

  @Test
  void shouldFindAnUnregisteredStrategyByItsClass() {
    String name = "io.vertigrad.strategy.UnregisteredProvider";

    StrategyFactory factory = StrategyProviders.configure(config(name), LOADER);

    assertEquals(600, factory.traits().lastVersion(200, 3));
  }

  @Test
  void shouldReportTheExpectedTypeWhenTheClassIsNoProvider() {
    SettingsException e =
        assertThrows(
            SettingsException.class,
            () -> StrategyProviders.configure(config("java.lang.String"), LOADER));

    assertEquals(
        "conf/x.json: strategy.name is java.lang.String: expected a class that implements"
            + " io.vertigrad.strategy.StrategyProvider",
        e.getMessage());
  }

  @Test
  void shouldListTheKnownNamesWhenAskedWithoutAFile() {
    Exception e =
        assertThrows(IllegalArgumentException.class, () -> StrategyProviders.named("snyc", LOADER));

    assertTrue(e.getMessage().startsWith("strategy is \"snyc\", expected one of allreduce"));
  }

  private static NamedConfig config(String name) {
    Settings job =
        Settings.of("conf/x.json", JsonObject.of("strategy", JsonObject.of("name", name)));
    Settings section = job.section("strategy");
    return new NamedConfig(section.string("name", ""), section);
  }
}
