package io.vertigrad.launcher.run;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.launcher.job.InputException;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Records how a run was started on this machine. It is kept in the run's folder for a resume and
 * holds what {@code job.json} leaves out.
 *
 * @param local paths and addresses of this machine, as sections of a job file
 * @param placement which members have processes of their own
 * @param listen true when nodes from elsewhere may join
 * @param serversHere how many of the servers start here
 * @param workersHere how many of the workers start here
 * @param resumes how many coordinators the run has had before
 */
public record RunLaunch(
    JsonObject local,
    Placement placement,
    boolean listen,
    int serversHere,
    int workersHere,
    int resumes) {

  /** Key of the time, in milliseconds since 1970, at which the newest coordinator was started. */
  private static final String STARTED = "startedMillis";

  private static final int MOST_RUNS = 10_000;

  /** Returns the launch of the next coordinator. */
  public RunLaunch again(JsonObject newLocal, Placement newPlacement) {
    return new RunLaunch(newLocal, newPlacement, listen, serversHere, workersHere, resumes + 1);
  }

  /** Returns the same launch with other workers here, and the others on nodes. */
  public RunLaunch withWorkersHere(int workers, boolean nodesMayJoin) {
    return new RunLaunch(local, placement, nodesMayJoin, serversHere, workers, resumes);
  }

  /** Writes the launch into the run's folder. */
  public void write(RunDirectory run) {
    run.write(
        run.launch(),
        new JsonObject()
            .put("local", local)
            .put("processes", placement.toJson())
            .put("listen", listen)
            .put("serversHere", serversHere)
            .put("workersHere", workersHere)
            .put("resumes", resumes)
            .put(STARTED, startedNow(run)));
  }

  /**
   * Returns the time, or a later one where the clock was set back: this run was started after the
   * others of its folder.
   */
  private static long startedNow(RunDirectory run) {
    long now = System.currentTimeMillis();
    Path runs = run.path().toAbsolutePath().normalize().resolveSibling(".");
    try (Stream<Path> all = Files.list(runs)) {
      return all.limit(MOST_RUNS)
          .map(RunDirectory::new)
          .mapToLong(other -> startedMillis(other) + 1)
          .reduce(now, Math::max);
    } catch (IOException | UncheckedIOException unreadable) {
      return now;
    }
  }

  /**
   * Returns when the newest coordinator of a run was started, in milliseconds since 1970; 0 where
   * that is not recorded.
   */
  public static long startedMillis(RunDirectory run) {
    if (!Files.isRegularFile(run.launch(), LinkOption.NOFOLLOW_LINKS)) {
      return 0;
    }
    return RunDirectory.read(run.launch())
        .map(json -> json.getValue(STARTED))
        .filter(Number.class::isInstance)
        .map(millis -> ((Number) millis).longValue())
        .orElse(0L);
  }

  /**
   * Reads the launch from the run's folder.
   *
   * @throws InputException when the file is missing or invalid
   */
  public static RunLaunch read(RunDirectory run) {
    try {
      JsonObject json = new JsonObject(JsonText.read(run.launch()));
      return new RunLaunch(
          json.getJsonObject("local"),
          Placement.fromJson(json.getValue("processes")),
          json.getBoolean("listen"),
          json.getInteger("serversHere"),
          json.getInteger("workersHere"),
          json.getInteger("resumes"));
    } catch (IOException
        | DecodeException
        | ClassCastException
        | IllegalArgumentException
        | NullPointerException e) {
      throw new InputException(
          "%s: cannot be read (%s), expected what train writes there; only a run of this version"
                  .formatted(run.launch(), e.getMessage())
              + " can be resumed",
          e);
    }
  }
}
