package io.vertigrad.verticles.strategy;

import io.vertigrad.codecs.settings.Settings;

/** Makes strategies of one name; found through ServiceLoader. */
public interface StrategyProvider {

  /** The name used in job files. */
  String name();

  /**
   * Reads the {@code strategy} section, once per job and member, and closes it.
   *
   * @throws io.vertigrad.codecs.settings.SettingsException naming what is wrong
   */
  StrategyFactory configure(Settings settings);
}
