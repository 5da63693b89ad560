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
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Serves the page of the runs in a folder, and through the same port a page for each run that the
 * reader opens: the live one, or a replay. Each replay has a Vert.x of its own, because two runs
 * may have the same job name, and with it the same addresses, and a port of loopback.
 */
final class RunsPage extends VerticleBase {

  private static final String LOOPBACK = "127.0.0.1";
  private static final int MOST_REPLAYS = 8;

  /** Less than the time after which an idle connection is closed. */
  private static final long REPLAY_SECONDS = 50;

  private final RunList runs;
  private final DashboardConfig where;
  private final String basePath;
  private final AccessToken token;

  /** The replays by the names of their runs; the one that was asked for longest ago is first. */
  private final Map<String, Replay> replays = new LinkedHashMap<>();

  private volatile String url;

  private record Replay(
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

  private RunsPage(Path folder, DashboardConfig where, String basePath, AccessToken token) {
    this.runs = new RunList(folder);
    this.where = where;
    this.basePath = basePath;
    this.token = token;
  }

  /**
   * Starts the page on its port, or on a free one.
   *
   * @param folder the folder with the runs; it may not exist yet
   * @param basePath path below which a proxy asks, such as {@code /vertigrad}; empty for none
   * @param token of those who may change and delete runs
   */
  static Future<RunsPage> start(
      Vertx vertx, Path folder, DashboardConfig where, String basePath, AccessToken token) {
    RunsPage page = new RunsPage(folder, where, basePath, token);
    return vertx.deployVerticle(page).map(page);
  }

  /** Returns the page's address, without the token. */
  String url() {
    return url;
  }

  @Override
  public Future<?> start() {
    RunsVerticle list = new RunsVerticle(where, basePath, token.text(), runs, this::page);
    return vertx.deployVerticle(list).onSuccess(deployed -> url = list.url());
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

  /**
   * Returns the address of the server of a run's page, for this machine.
   *
   * @param fresh true to start a replay unless one of the run as it is now is open; false to take
   *     the one that is open, although the run may have changed
   * @param gone completes when nobody waits for the answer
   */
  Future<String> page(String name, boolean fresh, Future<Void> gone) {
    Optional<Replay> open = fresh ? Optional.empty() : open(name);
    return open.map(replay -> replay.await(gone))
        .orElseGet(
            () ->
                vertx
                    .executeBlocking(() -> runs.row(name), false)
                    .compose(row -> page(name, row, fresh, gone)))
        .recover(why -> Future.failedFuture(explained(name, why)));
  }

  private Future<String> page(
      String name, Optional<JsonObject> row, boolean fresh, Future<Void> gone) {
    if (row.isPresent() && !row.get().containsKey("page")) {
      if (!fresh) {
        // Pages connect again by themselves: with more of them than replays, none would last.
        return Future.failedFuture("its replay has ended; load the page again");
      }
      return replay(name, row.get().getValue("changed")).await(gone);
    }
    synchronized (replays) {
      end(replays.remove(name));
    }
    return row.map(live -> Future.succeededFuture(live.getString("page")))
        .orElseGet(
            () -> Future.failedFuture(new NoSuchElementException("there is no run " + name)));
  }

  /** Returns the replay of a run if it is open, as the one that was asked for last. */
  private Optional<Replay> open(String name) {
    synchronized (replays) {
      replays.values().removeIf(Replay::ended);
      Optional<Replay> open = Optional.ofNullable(replays.remove(name));
      open.ifPresent(replay -> replays.put(name, replay));
      return open;
    }
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
        RunDirectory run = runs.find(name).orElseThrow();
        ReplayVerticle source = new ReplayVerticle(run.events());
        Future<String> page = begin(own, run, source);
        page.onFailure(why -> own.close());
        replay = new Replay(changed, own, source, page, new AtomicInteger());
      }
      replays.put(name, replay);
      return replay;
    }
  }

  private static void end(Replay replay) {
    if (replay != null) {
      replay.source().cancel();
      replay.vertx().close();
    }
  }

  private Future<String> begin(Vertx own, RunDirectory run, ReplayVerticle source) {
    return own.executeBlocking(
            () -> {
              runs.requireReadable(run);
              JsonObject job = run.readJob();
              return JobConfig.read(
                  run.job().toString(),
                  job.put("dashboard", JsonObject.of("host", LOOPBACK, "port", 0)));
            })
        .compose(job -> Dashboard.start(own, job, source));
  }
}
