package io.vertigrad.launcher;

import io.vertigrad.dashboard.ReplayVerticle;
import io.vertigrad.dashboard.RunsVerticle;
import io.vertigrad.http.AccessToken;
import io.vertigrad.job.DashboardConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.comparison.RunList;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/**
 * Serves the page of the runs in a folder, and a page for each run that the reader opens: the live
 * one, or a replay. Each replay has a Vert.x of its own, because two runs may have the same job
 * name, and with it the same addresses.
 */
final class RunsPage extends VerticleBase {

  private static final int MOST_REPLAYS = 8;
  private static final int LAST_PORT = 65_535;

  /** Less than the time after which an idle connection is closed. */
  private static final long REPLAY_SECONDS = 50;

  private final RunList runs;
  private final DashboardConfig where;
  private final String token = AccessToken.fresh().text();

  /** The replays by the names of their runs; the one that was asked for longest ago is first. */
  private final Map<String, Replay> replays = new LinkedHashMap<>();

  private volatile String url;

  /** A replay; its port is so many behind that of the list. */
  private record Replay(
      int place,
      Object changed,
      Vertx vertx,
      ReplayVerticle source,
      Future<String> page,
      AtomicInteger waiting) {

    boolean ended() {
      return source.isCancelled() || page.failed();
    }

    /** Waits until the page is there, the time is over, or the client is gone. */
    Future<String> await(Future<Void> gone) {
      waiting.incrementAndGet();
      Promise<String> answer = Promise.promise();
      page.timeout(REPLAY_SECONDS, TimeUnit.SECONDS)
          .onComplete(answer::tryComplete, answer::tryFail);
      gone.onSuccess(closed -> answer.tryFail("nobody waits for it any more"));
      return answer
          .future()
          .onComplete(
              done -> {
                if (waiting.decrementAndGet() == 0 && !page.isComplete()) {
                  source.cancel();
                }
              });
    }
  }

  private RunsPage(Path folder, DashboardConfig where) {
    this.runs = new RunList(folder);
    this.where = where;
  }

  /**
   * Starts the page on its port, or on a free one.
   *
   * @param folder the folder with the runs; it may not exist yet
   * @return its address, with the token of those who may change notes
   */
  static Future<String> start(Vertx vertx, Path folder, DashboardConfig where) {
    RunsPage page = new RunsPage(folder, where);
    return vertx.deployVerticle(page).map(deployed -> page.url);
  }

  @Override
  public Future<?> start() {
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
  private Future<String> page(String name, Future<Void> gone) {
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
                    : replay(name, row.getValue("changed")).await(gone))
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
      replays.values().removeIf(Replay::ended);
      Replay replay = replays.remove(name);
      if (replay == null || !replay.changed().equals(changed)) {
        end(replay);
        Iterator<Replay> oldest = replays.values().iterator();
        if (replays.size() == MOST_REPLAYS) {
          end(oldest.next());
          oldest.remove();
        }
        Vertx own = MeteredVertx.alone();
        int place = freePlace();
        RunDirectory run = runs.find(name).orElseThrow();
        ReplayVerticle source = new ReplayVerticle(run.events());
        Future<String> page = begin(own, run, source, port(place));
        page.onFailure(why -> own.close());
        replay = new Replay(place, changed, own, source, page, new AtomicInteger());
      }
      replays.put(name, replay);
      return replay;
    }
  }

  private int freePlace() {
    List<Integer> taken = replays.values().stream().map(Replay::place).toList();
    return IntStream.rangeClosed(1, MOST_REPLAYS)
        .filter(place -> !taken.contains(place))
        .findFirst()
        .orElseThrow();
  }

  /** Returns a port that the user may have opened with that of the list; 0 for a free one. */
  private int port(int place) {
    return where.port() == 0 || where.port() + place > LAST_PORT ? 0 : where.port() + place;
  }

  private static void end(Replay replay) {
    if (replay != null) {
      replay.source().cancel();
      replay.vertx().close();
    }
  }

  private Future<String> begin(Vertx own, RunDirectory run, ReplayVerticle source, int port) {
    return own.executeBlocking(
            () -> {
              runs.requireReadable(run);
              JsonObject job = run.readJob();
              return JobConfig.read(
                  run.job().toString(),
                  job.put(
                      "dashboard",
                      JsonObject.of("host", where.host(), "port", port)
                          .put("hosts", new JsonArray(where.hosts()))));
            })
        .compose(job -> Dashboard.start(own, job, source));
  }
}
