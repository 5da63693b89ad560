package io.vertigrad.strategy;

import io.vertigrad.compute.settings.Settings;

/** Makes strategies of one name; found through ServiceLoader. */
public interface StrategyProvider {

  /**
   * Returns the name used in job files.
   *
   * @return such as {@code sync}
   */
  String name();

  /**
   * Reads the {@code strategy} section, once per job and member, and refuses keys that it does not
   * know.
   *
   * @param settings the section
   * @return the configured strategy
   * @throws io.vertigrad.compute.settings.SettingsException naming what is wrong
   */
  StrategyFactory configure(Settings settings);
}
