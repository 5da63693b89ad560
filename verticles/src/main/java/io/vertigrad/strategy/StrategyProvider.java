package io.vertigrad.strategy;

import io.vertigrad.compute.settings.Settings;

/** Configures the strategies of one name; found through ServiceLoader. */
public interface StrategyProvider {

  /**
   * Returns the name used in job files.
   *
   * @return such as {@code sync}
   */
  String name();

  /**
   * Reads the {@code strategy} section, once per job and member, and refuses unknown keys.
   *
   * @param settings the section
   * @return the configured strategy
   * @throws io.vertigrad.compute.settings.SettingsException naming the key, what was found and what
   *     was expected
   */
  StrategyFactory configure(Settings settings);
}
