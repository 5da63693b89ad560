package io.vertigrad.launcher;

import io.vertigrad.dashboard.ReplayVerticle;
import io.vertigrad.dashboard.RunsVerticle;
import io.vertigrad.job.DashboardConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.cluster.ClusterStart;
import io.vertigrad.launcher.comparison.RunList;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;

/**
 * Serves the page of the runs in a folder, and a page for each run that the reader opens: the live
 * one, or a replay. Each replay has a Vert.x of its own, because two runs may have the same job
 * name, and with it the same addresses.
 */
final class RunsPage extends VerticleBase {

  private static final String HOST = "127.0.0.1";
  private static final int MOST_REPLAYS = 8;

  /** Less than the time after which an idle connection is closed. */
  private static final long REPLAY_SECONDS = 50;

  private final RunList runs;
  private final int port;
  private final String token = Dashboard.token();

  /** The replays by the names of their runs; the one that was asked for longest ago is first. */
  private final Map<String, Replay> replays = new LinkedHashMap<>();

  private volatile String url;

  private record Replay(Object changed, Vertx vertx, Future<String> page) {}

  private RunsPage(Path folder, int port) {
    this.runs = new RunList(folder);
    this.port = port;
  }

  /**
   * Starts the page on this port, or on a free one.
   *
   * @param folder the folder with the runs; it may not exist yet
   * @return its address, with the token of those who may change notes
   */
  static Future<String> start(Vertx vertx, Path folder, int port) {
    RunsPage page = new RunsPage(folder, port);
    return vertx.deployVerticle(page).map(deployed -> page.url);
  }

  @Override
  public Future<?> start() {
    DashboardConfig where = new DashboardConfig(true, HOST, port, List.of());
    RunsVerticle list = new RunsVerticle(where, token, runs, this::page);
    return vertx.deployVerticle(list).onSuccess(deployed -> url = list.url() + "#token=" + token);
  }

  @Override
  public Future<?> stop() {
    List<Replay> open;
    synchronized (replays) {
      open = List.copyOf(replays.values());
    }
    return Future.join(
        new ArrayList<>(open.stream().map(replay -> replay.vertx().close()).toList()));
  }

  /** Returns the address of a run's page. */
  private Future<String> page(String name) {
    return vertx
        .executeBlocking(
            () ->
                runs.row(name)
                    .orElseThrow(() -> new NoSuchElementException("there is no run " + name)),
            false)
        .compose(
            row ->
                row.containsKey("page")
                    ? Future.succeededFuture(row.getString("page"))
                    : replay(name, row.getValue("changed")).page())
        .timeout(REPLAY_SECONDS, TimeUnit.SECONDS)
        .recover(why -> Future.failedFuture(explained(name, why)));
  }

  private static Throwable explained(String name, Throwable why) {
    return why instanceof NoSuchElementException
        ? why
        : new IllegalStateException(
            "%s cannot be shown: %s".formatted(ShellCommand.quoted(name), why.getMessage()), why);
  }

  /** Returns the replay of a run; it is started again if the run has changed, or it has failed. */
  private Replay replay(String name, Object changed) {
    synchronized (replays) {
      Replay replay = replays.remove(name);
      if (replay == null || !replay.changed().equals(changed) || replay.page().failed()) {
        end(replay);
        Vertx own = ClusterStart.alone();
        replay = new Replay(changed, own, begin(own, runs.find(name).orElseThrow()));
      }
      replays.put(name, replay);
      Iterator<Replay> oldest = replays.values().iterator();
      if (replays.size() > MOST_REPLAYS) {
        end(oldest.next());
        oldest.remove();
      }
      return replay;
    }
  }

  private static void end(Replay replay) {
    if (replay != null) {
      replay.vertx().close();
    }
  }

  private static Future<String> begin(Vertx own, RunDirectory run) {
    return own.executeBlocking(
            () -> {
              JsonObject job = run.readJob();
              return JobConfig.read(
                  run.job().toString(),
                  job.put("dashboard", JsonObject.of("host", HOST, "port", 0)));
            })
        .compose(job -> Dashboard.start(own, job, new ReplayVerticle(run.events())));
  }
}
