package io.vertigrad.strategy;

import io.vertigrad.compute.settings.Settings;

/** Makes strategies of one name; found through ServiceLoader. */
public interface StrategyProvider {

  /**
   * The name used in job files.
   *
   * @return one word
   */
  String name();

  /**
   * Reads the {@code strategy} section, once per job and member, and closes it.
   *
   * @param settings the section; a key that is not read is refused when it is closed
   * @return what makes the rules
   * @throws io.vertigrad.compute.settings.SettingsException naming what is wrong
   */
  StrategyFactory configure(Settings settings);
}
