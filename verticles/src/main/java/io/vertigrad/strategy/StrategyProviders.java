package io.vertigrad.strategy;

import io.vertigrad.codecs.Compression;
import io.vertigrad.compute.settings.MissingClass;
import io.vertigrad.compute.settings.NamedClass;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.NamedConfig;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds the strategies on the class path, by name or by the name of their provider's class. */
public final class StrategyProviders {

  private StrategyProviders() {}

  /**
   * Finds a provider.
   *
   * @param name the strategy's name, or the class name of its provider
   * @param loader finds the providers
   * @return the provider
   * @throws IllegalArgumentException listing the known names
   */
  public static StrategyProvider named(String name, ClassLoader loader) {
    return find(name, loader)
        .orElseThrow(() -> new IllegalArgumentException("strategy " + unknown(name, loader)));
  }

  /**
   * Reads the job file's {@code strategy} section with the provider it names.
   *
   * @param strategy the section
   * @param loader finds the providers
   * @return the configured strategy
   * @throws io.vertigrad.compute.settings.SettingsException naming the file and the error
   */
  public static StrategyFactory configure(NamedConfig strategy, ClassLoader loader) {
    StrategyProvider provider = provider(strategy, loader);
    try {
      return MissingClass.named(
          "strategy " + strategy.name(), () -> provider.configure(strategy.settings()));
    } catch (SettingsException | IllegalArgumentException explained) {
      throw explained;
    } catch (RuntimeException thrown) {
      String found = "is \"%s\", whose provider failed: %s".formatted(strategy.name(), thrown);
      throw (SettingsException) strategy.settings().refuse("name", found).initCause(thrown);
    }
  }

  private static StrategyProvider provider(NamedConfig strategy, ClassLoader loader) {
    String name = strategy.name();
    try {
      return find(name, loader)
          .orElseThrow(() -> strategy.settings().refuse("name", unknown(name, loader)));
    } catch (IllegalArgumentException unusable) {
      throw strategy.settings().refuse("name", "is " + unusable.getMessage());
    }
  }

  /**
   * Reads a job's strategy and refuses settings that it does not support.
   *
   * @param job the job
   * @param loader finds the providers
   * @return the configured strategy
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the key and the error
   */
  public static StrategyFactory configure(JobConfig job, ClassLoader loader) {
    StrategyFactory strategy = configure(job.strategy(), loader);
    Compression compression = job.exchange().compression();
    if (compression.isOn() && !strategy.traits().compresses()) {
      throw job.settings()
          .section("exchange")
          .refuse(
              "compression",
              ("is \"%s\", expected \"none\" with strategy %s: its workers exchange parameters, and"
                      + " only gradients are compressed; set exchange.type to float16 or bfloat16")
                  .formatted(compression, job.strategy().name()));
    }
    strategy.check(job);
    return strategy;
  }

  private static Optional<StrategyProvider> find(String name, ClassLoader loader) {
    return MissingClass.named(
        "\"%s\"".formatted(name),
        () ->
            all(loader)
                .filter(provider -> provider.name().equals(name))
                .findFirst()
                .or(() -> NamedClass.instance(name, StrategyProvider.class, loader)));
  }

  private static Stream<StrategyProvider> all(ClassLoader loader) {
    return ServiceLoader.load(StrategyProvider.class, loader).stream()
        .map(ServiceLoader.Provider::get);
  }

  private static String unknown(String name, ClassLoader loader) {
    String known =
        all(loader).map(StrategyProvider::name).sorted().collect(Collectors.joining(", "));
    if (known.isEmpty()) {
      return "is \"%s\", and there is no strategy on the class path: add io.vertigrad:vertigrad-strategies"
          .formatted(name);
    }
    return "is \"%s\", expected one of %s, or the class name of a %s"
            .formatted(name, known, StrategyProvider.class.getSimpleName())
        + NamedClass.hint(name);
  }
}
