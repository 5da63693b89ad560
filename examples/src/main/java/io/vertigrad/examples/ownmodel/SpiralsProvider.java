package io.vertigrad.examples.ownmodel;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonObject;

/**
 * Opens {@code spirals}: points in the plane, each on one of several arms that wind around the
 * centre; named in META-INF/services.
 *
 * <p>Options: {@code arms} (classes, 2), {@code turns} (1.5), {@code noise} (deviation, 0.03),
 * {@code train} (samples, 2000), {@code test} (samples, 1000).
 */
public final class SpiralsProvider implements DatasetProvider {

  @Override
  public String name() {
    return "spirals";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Settings options = Settings.of("data set 'spirals'", new JsonObject(config.options()));
    int arms = options.integer("arms", 2, 2, 10);
    double turns = options.number("turns", 1.5, 0, 10);
    double noise = options.number("noise", 0.03, 0, 1);
    int train = options.integer("train", 2_000, 1, 1_000_000);
    int test = options.integer("test", 1_000, 1, 1_000_000);
    options.refuseUnknown();
    int size = split == Split.TRAIN ? train : test;
    return Spirals.draw(size, arms, turns, noise, new SplitMix64(split.ordinal()));
  }
}
