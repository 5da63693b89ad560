package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.ControlMessage.ControlAnswer;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Admitted;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Chosen;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Divided;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Granted;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Refused;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Released;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Standby;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Unknown;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.AskDivision;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.DrainRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Heartbeat;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JobCommand;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Leave;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.ReadParameters;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.ReportCandidates;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.job.JoinException;
import io.vertx.core.json.JsonObject;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads control requests, passes them to the coordinator's state and writes the answers. */
public final class ControlRequestHandler {

  private static final Logger LOG = LoggerFactory.getLogger(ControlRequestHandler.class);
  private static final int MOST_READERS = 1_000;

  private final CoordinatorState coordinator;
  private final PeerWarnings refusals = new PeerWarnings(LOG::warn);

  /** The programs that read the parameters of the finished job now. */
  private final Set<String> readers = new HashSet<>();

  public ControlRequestHandler(CoordinatorState coordinator) {
    this.coordinator = coordinator;
  }

  /** Returns whether a program that is no member reads the parameters of the finished job now. */
  public boolean isRead() {
    return !readers.isEmpty();
  }

  /** Answers one request; a malformed one gets a refusal and never an exception. */
  public JsonObject answer(JsonObject request) {
    return ControlCodec.write(parseAndAnswer(request));
  }

  private ControlAnswer parseAndAnswer(JsonObject request) {
    try {
      return answer(ControlCodec.request(request));
    } catch (IllegalArgumentException malformed) {
      LOG.warn("refused a control request: {}", malformed.getMessage());
      return refused(malformed.getMessage());
    }
  }

  private ControlAnswer answer(ControlRequest request) {
    if (request instanceof JoinRequest join) {
      return join(join);
    }
    if (request instanceof Heartbeat heartbeat) {
      return heartbeat(heartbeat);
    }
    if (request instanceof Leave leave) {
      coordinator.leave(leave.from(), leave.reason(), leave.status());
      return granted();
    }
    if (request instanceof ReportCandidates report) {
      return choice(report.candidates());
    }
    if (request instanceof DrainRequest drain) {
      return drain(drain);
    }
    if (request instanceof AskDivision question) {
      return division(question);
    }
    if (request instanceof ReadParameters read) {
      return read(read);
    }
    return switch ((JobCommand) request) {
      case STATE ->
          new Granted(
              coordinator.state(),
              epoch(),
              Optional.of(coordinator.membership()),
              Optional.empty());
      case CHECKPOINT -> checkpoint();
      case PAUSE -> pause();
      case RESUME -> resume();
      case STOP -> stop();
    };
  }

  private ControlAnswer join(JoinRequest request) {
    try {
      Optional<String> leaving = coordinator.standsBy(request);
      if (leaving.isPresent()) {
        return new Standby(
            coordinator.state(), epoch(), leaving.get() + " is about to hand its place over");
      }
      Admission admission = coordinator.join(request);
      return new Admitted(
          coordinator.state(),
          epoch(),
          admission,
          coordinator.run(),
          coordinator.continuesFromMemory(admission),
          coordinator.rollbackVersion(admission.role()));
    } catch (JoinException e) {
      if (!e.worthRetrying() && !e.late()) {
        refusals.warn(
            request.node(),
            "refused a join from %s: %s".formatted(request.node(), e.getMessage()),
            System.nanoTime());
      }
      return new Refused(e.getMessage(), e.worthRetrying(), e.late());
    }
  }

  private ControlAnswer heartbeat(Heartbeat heartbeat) {
    if (coordinator.state().released()) {
      return new Released(coordinator.state(), epoch(), coordinator.endReason());
    }
    if (!coordinator.heartbeat(heartbeat.from(), heartbeat.status())) {
      return new Unknown(coordinator.state(), epoch(), coordinator.leaveReason(heartbeat.from()));
    }
    heartbeat.vitals().ifPresent(vitals -> coordinator.health(heartbeat.from(), vitals));
    coordinator.pauseReply(heartbeat.from(), heartbeat.pause().number(), heartbeat.pause().begun());
    Pause newest = coordinator.newestPause();
    return new Granted(
        coordinator.state(),
        epoch(),
        Optional.of(coordinator.membership()).filter(newer -> newer.epoch() > heartbeat.epoch()),
        Optional.of(newest).filter(newer -> newer.number() != heartbeat.pause().number()));
  }

  private ControlAnswer choice(Candidates candidates) {
    return coordinator
        .choice(candidates)
        .<ControlAnswer>map(choice -> new Chosen(coordinator.state(), epoch(), choice))
        .orElseGet(() -> new Refused(coordinator.noChoiceReason(), true, false));
  }

  private ControlAnswer drain(DrainRequest request) {
    boolean named = request.member().isPresent();
    String node =
        request
            .member()
            .map(coordinator::nodeOf)
            .or(request::node)
            .orElseThrow(
                () -> new IllegalArgumentException("drain: found no member, expected its name"));
    if (coordinator.drain(node)) {
      return granted();
    }
    String nothing = "the job is %s, nothing is handed over".formatted(coordinator.state().lower());
    return named ? refused(nothing) : new Unknown(coordinator.state(), epoch(), nothing);
  }

  private ControlAnswer division(AskDivision question) {
    return coordinator
        .division(question)
        .<ControlAnswer>map(division -> new Divided(coordinator.state(), epoch(), division))
        .orElseGet(() -> new Refused(coordinator.noDivisionReason(question), true, false));
  }

  private ControlAnswer read(ReadParameters request) {
    if (request.done()) {
      readers.remove(request.reader());
    } else if (readers.size() < MOST_READERS) {
      readers.add(request.reader());
    }
    return granted();
  }

  private ControlAnswer checkpoint() {
    if (coordinator.state() != JobPhase.RUNNING && coordinator.state() != JobPhase.PAUSED) {
      return refused(
          "the job is %s, there is nothing to save".formatted(coordinator.state().lower()));
    }
    coordinator.save();
    return granted();
  }

  private ControlAnswer pause() {
    return coordinator.pause()
        ? granted()
        : refused("the job is %s, it cannot be paused".formatted(coordinator.state().lower()));
  }

  private ControlAnswer resume() {
    return coordinator.resume()
        ? granted()
        : refused("the job is %s, not paused".formatted(coordinator.state().lower()));
  }

  private ControlAnswer stop() {
    if (coordinator.state().over()) {
      return refused("the job is over: " + coordinator.endReason());
    }
    coordinator.stop("asked for on the dashboard");
    return granted();
  }

  private int epoch() {
    return coordinator.membership().epoch();
  }

  private ControlAnswer granted() {
    return new Granted(coordinator.state(), epoch(), Optional.empty(), Optional.empty());
  }

  private static ControlAnswer refused(String reason) {
    return new Refused(reason, false, false);
  }
}
