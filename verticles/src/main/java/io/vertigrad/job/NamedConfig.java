package io.vertigrad.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;

/**
 * A named component with settings that only it understands: a model or a strategy.
 *
 * @param name the name under which it is registered
 * @param settings its whole section; {@code name} has been read
 */
public record NamedConfig(String name, Settings settings) {

  static NamedConfig read(Settings section, String otherwise) {
    Settings naming = section.with(KeyTrait.AGREED, KeyTrait.COMPONENT);
    return new NamedConfig(naming.string("name", otherwise), section);
  }
}
