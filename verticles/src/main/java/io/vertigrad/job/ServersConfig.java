package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The parameter servers of a job.
 *
 * @param count server verticles, one shard each
 * @param checkpointEvery updates between two checkpoints; 0 for none
 * @param checkpointKeep how many checkpoints are kept
 * @param checkpointDirectory where they are written; empty for the run's own folder
 */
public record ServersConfig(
    int count, long checkpointEvery, int checkpointKeep, Optional<Path> checkpointDirectory) {

  static ServersConfig read(Settings section) {
    ServersConfig config =
        new ServersConfig(
            section.integer("count", 1, 1, 1024),
            section.longInteger("checkpointEvery", 0, 0, Long.MAX_VALUE),
            section.integer("checkpointKeep", 3, 1, 1000),
            Optional.ofNullable(section.string("checkpointDirectory", null)).map(Path::of));
    section.refuseUnknown();
    return config;
  }
}
