package io.vertigrad.verticles.job;

import io.vertigrad.codecs.settings.Settings;

/**
 * The workers of a job.
 *
 * @param count how many start, and how many an asynchronous job's length is counted in
 * @param minimum with fewer than this the job waits for more
 * @param batch samples per gradient and worker
 * @param sampler {@code distributed}: each sees its own share; {@code none}: each shuffles all
 * @param threads threads one worker computes on
 * @param waitSeconds how long the job waits for members before it fails, naming who is missing
 */
public record WorkersConfig(
    int count, int minimum, int batch, String sampler, int threads, int waitSeconds) {

  static WorkersConfig read(Settings section) {
    int count = section.integer("count", 2, 1, 4096);
    WorkersConfig config =
        new WorkersConfig(
            count,
            section.integer("minimum", 1, 1, count),
            batch(section, count),
            section.choice("sampler", "distributed", "distributed", "none"),
            section.integer("threads", 1, 1, 1024),
            section.integer("waitSeconds", 120, 1, 86_400));
    section.refuseUnknown();
    return config;
  }

  /** A worker's own batch, or its even share of that of all. */
  private static int batch(Settings section, int count) {
    int all = section.integer("totalBatch", 0, 0, 1 << 20);
    int batch = section.integer("batch", all == 0 ? 128 : Math.max(1, all / count), 1, 1 << 20);
    if (all != 0 && (long) batch * count != all) {
      throw section.refuse(
          "totalBatch",
          "is %d, expected %d: %d for each of %d workers; leave workers.batch out to share it evenly"
              .formatted(all, (long) batch * count, batch, count));
    }
    return batch;
  }
}
