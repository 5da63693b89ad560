package io.vertigrad.internal.host;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.PointsJob;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the two ends of a session between a member and its strategy, without a coordinator. */
@Timeout(20)
class StrategySessionTest extends PointsJob {

  private static final JsonObject DONE = new JsonObject();

  private JobConfig config;
  private StrategyHost host;

  @BeforeEach
  void createHost() {
    config = JobConfig.read("test", job);
    host =
        new StrategyHost(
            vertx, vertx.getOrCreateContext(), config, StrategyHost.beside(Role.SERVER, 0));
  }

  @Test
  void shouldNotRefuseASessionThatBeginsWhileTheStrategyIsUndeployed() {
    Promise<Void> saved = Promise.promise();
    StrategyService service =
        await(StrategyService.open(vertx, config, host, session -> new Saving(saved.future())));
    await(ask(StrategyLink.OPEN, "first"));
    final Future<JsonObject> second = ask(StrategyLink.OPEN, "second");
    await(ask(StrategyLink.HELLO, ""));

    service.close();
    saved.complete();

    Exception failed = assertThrows(Exception.class, () -> await(second));
    assertTrue(failed.getMessage().contains("is being undeployed"), failed::toString);
  }

  @Test
  void shouldCloseASessionThatBeginsAfterItsMemberHasLeft() {
    Promise<Message<JsonObject>> opening = Promise.promise();
    Promise<String> closing = Promise.promise();
    vertx
        .eventBus()
        .<JsonObject>consumer(
            host.address(),
            message -> {
              switch (message.body().getString(StrategyLink.CALL)) {
                case StrategyLink.OPEN -> opening.complete(message);
                case StrategyLink.CLOSE ->
                    closing.complete(message.body().getString(StrategyLink.SESSION));
                default -> message.reply(DONE);
              }
            });
    StrategyLink link = new StrategyLink(vertx, config, "server 0", host.address());
    link.open(asked -> Future.failedFuture("no admission is wanted"), () -> false);
    Message<JsonObject> open = await(opening.future());

    link.close();
    open.reply(DONE);

    String session = await(closing.future().timeout(5, TimeUnit.SECONDS));
    assertTrue(link.frames().endsWith(session), session);
  }

  @Test
  void shouldNotReleaseAHostThatWasTakenForASession() {
    assertTrue(host.tryTake());
    StrategyFinder given = finder(Optional.of(host));

    assertSame(host, await(given.beside(0, 0)));
    given.release(host);

    assertFalse(host.tryTake(), "the session goes on");
  }

  @Test
  void shouldLookForTheStrategyOfEachRank() {
    vertx.eventBus().<JsonObject>consumer(host.address(), message -> message.reply(DONE));
    StrategyFinder finder = finder(Optional.empty());

    assertTrue(await(finder.elsewhere(0)).isPresent());
    assertFalse(await(finder.elsewhere(1)).isPresent(), "nobody is at its address");
  }

  private StrategyFinder finder(Optional<StrategyHost> given) {
    return new StrategyFinder(vertx, vertx.getOrCreateContext(), config, Role.SERVER, given);
  }

  private Future<JsonObject> ask(String call, String session) {
    JsonObject request =
        new JsonObject().put(StrategyLink.CALL, call).put(StrategyLink.SESSION, session);
    return StrategyLink.ask(vertx, host.address(), request, 10_000);
  }

  /** A member whose last checkpoint takes a while. */
  private static final class Saving extends VerticleBase {

    private final Future<Void> saved;

    Saving(Future<Void> saved) {
      this.saved = saved;
    }

    @Override
    public Future<?> stop() {
      return saved;
    }
  }
}
