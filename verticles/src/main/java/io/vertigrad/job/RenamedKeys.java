package io.vertigrad.job;

import io.vertx.core.json.JsonObject;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Job-file keys that were renamed. The old name is accepted with a warning. */
final class RenamedKeys {

  private static final Logger LOG = LoggerFactory.getLogger(RenamedKeys.class);

  private record Renamed(String section, String key, String newSection, String newKey) {}

  private static final List<Renamed> ALL =
      List.of(
          new Renamed("servers", "checkpointEvery", "checkpoint", "every"),
          new Renamed("servers", "checkpointKeep", "checkpoint", "keep"),
          new Renamed("servers", "checkpointDirectory", "checkpoint", "directory"));

  private RenamedKeys() {}

  /** Moves the value of an old key to the new one, unless the new one has a value. */
  static void move(String origin, JsonObject job) {
    for (Renamed renamed : ALL) {
      if (job.getValue(renamed.section()) instanceof JsonObject from
          && from.containsKey(renamed.key())
          && job.getValue(renamed.newSection(), new JsonObject()) instanceof JsonObject to) {
        Object value = from.remove(renamed.key());
        LOG.warn(
            "{}: {}.{} is called {}.{} now",
            origin,
            renamed.section(),
            renamed.key(),
            renamed.newSection(),
            renamed.newKey());
        if (!to.containsKey(renamed.newKey())) {
          to.put(renamed.newKey(), value);
        }
        job.put(renamed.newSection(), to);
      }
    }
  }
}
