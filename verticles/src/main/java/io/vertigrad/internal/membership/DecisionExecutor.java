package io.vertigrad.internal.membership;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.internal.membership.Decision.Adopt;
import io.vertigrad.internal.membership.Decision.Announce;
import io.vertigrad.internal.membership.Decision.Complete;
import io.vertigrad.internal.membership.Decision.Conclude;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.Decision.Propose;
import io.vertigrad.internal.membership.Decision.Publish;
import io.vertigrad.internal.membership.Decision.Save;
import io.vertigrad.internal.membership.Decision.Stop;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out a coordinator's state's decisions on the event bus, and brings the answers back to
 * it.
 */
public final class DecisionExecutor implements Consumer<Decision> {

  private static final Logger LOG = LoggerFactory.getLogger(DecisionExecutor.class);
  private static final long ANSWER_MILLIS = 1_000;
  private static final long RETRY_MILLIS = 100;
  private static final long COUNTERS_MILLIS = 5_000;
  private static final long EVALUATION_MILLIS = 120_000;

  private final Vertx vertx;
  private final Addresses addresses;
  private final Promise<JsonObject> result;
  private final EventPublisher events;
  private CoordinatorState coordinator;

  public DecisionExecutor(Vertx vertx, Addresses addresses, Promise<JsonObject> result) {
    this.vertx = vertx;
    this.addresses = addresses;
    this.result = result;
    events = new EventPublisher(vertx, addresses);
  }

  /** Whom answers go to; before the first decision. */
  public void answerTo(CoordinatorState someRoster) {
    coordinator = someRoster;
  }

  @Override
  public void accept(Decision decision) {
    if (decision instanceof Announce announce) {
      announce(announce.event());
    } else if (decision instanceof Propose propose) {
      propose(propose);
    } else if (decision instanceof Publish publish) {
      control(new JsonObject().put("membership", publish.membership().toJson()));
    } else if (decision instanceof Hold hold) {
      control(new JsonObject().put("pause", hold.pause().toJson()));
    } else if (decision instanceof Conclude conclude) {
      conclude(conclude);
    } else if (decision instanceof Save save) {
      save.servers().forEach(this::save);
    } else if (decision instanceof Adopt adopt) {
      adopt(adopt);
    } else if (decision instanceof Complete complete) {
      LOG.info("the job is over: {}", complete.result().encode());
      result.complete(complete.result());
    } else if (decision instanceof Stop stop) {
      control(new JsonObject().put("stop", stop.reason()));
    }
  }

  private void announce(TrainingEvent event) {
    if (!(event instanceof MemberVitals)) {
      LOG.info("{}", event);
    }
    events.publish(event);
  }

  private void control(JsonObject message) {
    message.put("state", coordinator.state().lower());
    vertx.eventBus().publish(addresses.control(), message);
  }

  private void propose(Propose propose) {
    int epoch = propose.next().epoch();
    int server = propose.server().rank();
    if (!coordinator.awaits(epoch, server)) {
      return;
    }
    request(propose.server(), new JsonObject().put("propose", propose.next().toJson()))
        .onSuccess(
            answer -> {
              if (answer.containsKey("version")) {
                coordinator.refused(epoch, server, answer.getLong("version"));
              } else {
                coordinator.accepted(epoch, server, starts(answer));
              }
            })
        .onFailure(
            noAnswer -> {
              LOG.debug("{} has not answered proposal {}", propose.server(), epoch, noAnswer);
              vertx.setTimer(RETRY_MILLIS, id -> propose(propose));
            });
  }

  private void adopt(Adopt adopt) {
    LOG.info("worker {} is missing, {} is asked to take its rank", adopt.rank(), adopt.carrier());
    request(adopt.carrier(), command("adopt"))
        .onFailure(no -> LOG.warn("{} takes no rank: {}", adopt.carrier(), no.getMessage()));
  }

  private static List<ProposalAnswer.Start> starts(JsonObject answer) {
    return answer.getJsonArray("starts", new JsonArray()).stream()
        .map(JsonArray.class::cast)
        .map(s -> new ProposalAnswer.Start(s.getInteger(0), s.getLong(1), s.getLong(2)))
        .toList();
  }

  /** A server announces its checkpoint itself. */
  private void save(Admission server) {
    request(server, command("checkpoint"))
        .onFailure(no -> LOG.warn("{} writes no checkpoint: {}", server, no.getMessage()));
  }

  private void conclude(Conclude conclude) {
    List<Admission> silent = new ArrayList<>();
    List<Future<JsonObject>> statuses =
        conclude.servers().stream().map(server -> counters(server, silent)).toList();
    Future<Optional<JsonObject>> evaluation =
        conclude
            .evaluator()
            .map(evaluator -> evaluate(evaluator, conclude.version()))
            .orElseGet(() -> Future.succeededFuture(Optional.empty()));
    Future.all(Future.all(statuses), evaluation)
        .onSuccess(
            done ->
                coordinator.concluded(
                    statuses.stream().map(Future::result).toList(), silent, evaluation.result()));
  }

  /** A server's last status and counters; of one that does not tell them there is nothing. */
  Future<JsonObject> counters(Admission server, List<Admission> silent) {
    return request(server, command("status"), COUNTERS_MILLIS)
        .otherwise(
            failure -> {
              LOG.warn("{} did not tell its last counters: {}", server, failure.getMessage());
              silent.add(server);
              return new JsonObject();
            });
  }

  private Future<Optional<JsonObject>> evaluate(Admission evaluator, long version) {
    return request(evaluator, command("evaluate").put("version", version), EVALUATION_MILLIS)
        .map(Optional::of)
        .otherwise(
            failure -> {
              LOG.warn("{} could not evaluate the end: {}", evaluator, failure.getMessage());
              return Optional.empty();
            });
  }

  /** A member's answer to a command without arguments, or a failure after this long. */
  Future<JsonObject> command(Admission to, String name, long limitMillis) {
    return request(to, command(name), limitMillis);
  }

  private static JsonObject command(String name) {
    return new JsonObject().put("command", name);
  }

  private Future<JsonObject> request(Admission to, JsonObject body) {
    return request(to, body, ANSWER_MILLIS);
  }

  private Future<JsonObject> request(Admission to, JsonObject body, long limitMillis) {
    String address = addresses.member(to.role().lower(), to.rank(), to.incarnation());
    return vertx
        .eventBus()
        .<JsonObject>request(address, body, new DeliveryOptions().setSendTimeout(limitMillis))
        .map(message -> message.body());
  }
}
