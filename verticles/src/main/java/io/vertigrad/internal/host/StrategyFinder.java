package io.vertigrad.internal.host;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.ExchangeException;
import io.vertx.core.Context;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the strategy verticle of one member, or deploys one. May be called by any thread. */
public final class StrategyFinder {

  private static final Logger LOG = LoggerFactory.getLogger(StrategyFinder.class);
  private static final String VERTICLE = "io.vertigrad.verticles.StrategyVerticle";

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final Role role;
  private final Optional<StrategyHost> given;
  private volatile String deployedId;
  private final Map<Integer, Boolean> remoteByRank = new ConcurrentHashMap<>();

  /**
   * Creates the finder of one member.
   *
   * @param context context of the member's verticle; deployed verticles are undeployed with it
   */
  public StrategyFinder(Vertx vertx, Context context, JobConfig job, Role role) {
    this(vertx, context, job, role, Optional.empty());
  }

  /**
   * Creates the finder of one member.
   *
   * @param given the strategy verticle of a member that runs beside it for another JVM
   */
  public StrategyFinder(
      Vertx vertx, Context context, JobConfig job, Role role, Optional<StrategyHost> given) {
    this.given = given;
    this.vertx = vertx;
    this.context = context;
    this.job = job;
    this.role = role;
  }

  /**
   * Returns the strategy verticle of one incarnation in this JVM. It is a free one that was
   * deployed for this rank, or else a new one, which replaces that of an earlier incarnation.
   *
   * @return completes with a host that belongs to the caller until {@link #release}
   */
  public Future<StrategyHost> beside(int rank, int incarnation) {
    if (given.isPresent()) {
      return Future.succeededFuture(given.get());
    }
    if (job.pipeline().isPresent()) {
      return elsewhere(rank)
          .compose(
              apart ->
                  apart.isPresent()
                      ? Future.failedFuture(refusal(rank, apart.get(), "it is a stage"))
                      : deployedHere(rank, incarnation));
    }
    return deployedHere(rank, incarnation);
  }

  /** Releases what {@link #beside} has returned. A host that was given remains taken. */
  public void release(StrategyHost host) {
    if (given.isEmpty()) {
      host.release();
    }
  }

  private Future<StrategyHost> deployedHere(int rank, int incarnation) {
    JsonObject beside = StrategyHost.beside(role, rank);
    StrategyHost ready = StrategyHost.at(vertx, job, beside);
    if (ready != null && ready.tryTake()) {
      return Future.succeededFuture(ready);
    }
    Promise<StrategyHost> found = Promise.promise();
    try {
      context.runOnContext(go -> replace(beside, incarnation).onComplete(found));
    } catch (RejectedExecutionException closed) {
      found.fail(closed);
    }
    return found.future();
  }

  /**
   * Returns a link to the strategy verticle of a rank in another JVM. The first result of each rank
   * is kept: a verticle in another JVM is never replaced by one in this JVM, and one that starts
   * later is not used.
   *
   * @return completes with an empty result if there is one in this JVM, or none at all
   */
  public Future<Optional<StrategyLink>> elsewhere(int rank) {
    String address = job.addresses().strategy(role.lower(), rank);
    if (isHere(rank)) {
      remoteByRank.putIfAbsent(rank, false);
    }
    return Optional.ofNullable(remoteByRank.get(rank))
        .map(Future::succeededFuture)
        .orElseGet(() -> StrategyLink.isAt(vertx, address, job.exchange().evictMillis()))
        .onSuccess(remote -> remoteByRank.put(rank, remote))
        .map(
            remote ->
                Optional.of(remote)
                    .filter(apart -> apart)
                    .map(apart -> new StrategyLink(vertx, job, memberName(rank), address)));
  }

  private boolean isHere(int rank) {
    return given.isPresent()
        || StrategyHost.at(vertx, job, StrategyHost.beside(role, rank)) != null;
  }

  /**
   * Returns the error for a member that cannot run beside its strategy verticle in another JVM.
   *
   * @param because what the member does
   */
  public ExchangeException refusal(int rank, StrategyLink apart, String because) {
    return new ExchangeException(
        ("%s: strategy \"%s\" has its verticle in another JVM, at %s, where this member cannot run,"
                + " because %s; deploy it in this JVM, or leave it out")
            .formatted(memberName(rank), job.strategy().name(), apart.address(), because));
  }

  private String memberName(int rank) {
    return job.nameOf(role.lower(), rank);
  }

  private Future<StrategyHost> replace(JsonObject beside, int incarnation) {
    String earlier = deployedId;
    deployedId = null;
    Future<?> before =
        earlier == null
            ? Future.succeededFuture()
            : vertx
                .undeploy(earlier)
                .onFailure(gone -> LOG.debug("strategy of an earlier incarnation", gone));
    return before.transform(
        undeployed -> deploy(beside.copy().put(StrategyHost.INCARNATION, incarnation)));
  }

  /** Deploys on the member's context, so that the verticle is a child of the member's verticle. */
  private Future<StrategyHost> deploy(JsonObject beside) {
    JsonObject config = job.json().put(StrategyHost.BESIDE, beside);
    return vertx
        .deployVerticle(VERTICLE, new DeploymentOptions().setConfig(config))
        .map(
            deployed -> {
              deployedId = deployed;
              return StrategyHost.at(vertx, job, beside).owned();
            });
  }
}
