package io.vertigrad.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertx.core.json.JsonArray;
import java.util.List;
import org.junit.jupiter.api.Test;

final class UpdateLedgerTest {

  private final UpdateLedger ledger = new UpdateLedger();

  @Test
  void shouldBalanceWhenEveryUpdateIsAccountedFor() {
    ledger.apply(new JobStarted(0, "sync", 2, 1, 8, 10, 10));
    ledger.apply(new UpdatesCounted(1, 0, 0, 20, 18, 1, 0, 1, 0, 0));
    ledger.apply(new UpdatesCounted(1, 0, 1, 20, 19, 0, 1, 0, 0, 0));

    assertEquals(List.of(), ledger.problems());
    assertEquals(
        "{\"sent\":40,\"applied\":37,\"late\":1,\"tooStale\":1,\"refused\":1,\"lost\":0,"
            + "\"rolledBack\":0,\"balanced\":true,\"duplicate\":0}",
        ledger.toJson().encode());
  }

  @Test
  void shouldNameServerAndWorkerWhoseUpdatesAreLost() {
    ledger.apply(new UpdatesCounted(1, 2, 3, 20, 17, 0, 0, 0, 3, 0));

    assertEquals(List.of("server 2: updates of worker 3: 3 of 20 are lost"), ledger.problems());
    assertFalse(ledger.toJson().getBoolean("balanced"));
    assertEquals(
        new JsonArray().add("server 2: updates of worker 3: 3 of 20 are lost"),
        ledger.toJson().getJsonArray("problems"));
  }

  @Test
  void shouldReportCountsThatDoNotAddUp() {
    ledger.apply(new UpdatesCounted(1, 0, 1, 20, 18, 1, 0, 0, 0, 0));

    assertEquals(
        List.of(
            "server 0: updates of worker 1: found 20 sent, expected 19: applied 18, late 1,"
                + " too stale 0, refused 0, lost 0"),
        ledger.problems());
  }

  @Test
  void shouldReportOptimizerStepsThatNoUpdateExplains() {
    ledger.apply(new UpdatesCounted(1, 0, 0, 20, 20, 0, 0, 0, 0, 2));

    assertEquals(
        List.of("server 0: its parameters were stepped 2 times more than updates were applied"),
        ledger.problems());
  }

  @Test
  void shouldNameASilentServer() {
    ledger.apply(new JobStarted(0, "sync", 1, 2, 8, 10, 10));
    ledger.apply(new UpdatesCounted(1, 0, 0, 20, 20, 0, 0, 0, 0, 0));

    assertEquals(List.of("server 1 did not say what became of updates"), ledger.problems());
  }

  @Test
  void shouldNameTheWorkerWhoseReplicaIsBehind() {
    ledger.apply(new UpdatesCounted(1, UpdatesCounted.NO_SERVER, 1, 50, 40, 0, 0, 0, 10, 0));

    assertEquals(
        List.of("steps of worker 1: 10 of 50 are lost, its replica is at version 40"),
        ledger.problems());
  }

  @Test
  void shouldCountRolledBackUpdates() {
    ledger.apply(progress(0, 60));
    ledger.apply(progress(0, 80));
    ledger.apply(progress(1, 70));
    ledger.apply(new UpdatesCounted(1, 0, 0, 100, 100, 0, 0, 0, 0, 0));

    assertEquals(50, ledger.rolledBack());
    assertEquals(List.of(), ledger.problems());
  }

  @Test
  void shouldCountTheStepsThatAllWorkersUndo() {
    ledger.apply(new JobStarted(0, "diloco", 4, 0, 8, 100, 100));
    ledger.apply(new ShardRolledBack(1, UpdatesCounted.NO_SERVER, 49, 40, ""));
    ledger.apply(new UpdatesCounted(1, UpdatesCounted.NO_SERVER, 1, 50, 50, 0, 0, 0, 0, 0));

    assertEquals(36, ledger.rolledBack());
    assertEquals(List.of(), ledger.problems());
  }

  @Test
  void shouldReportNoStepBeforeTheServersDo() {
    ledger.apply(progress(0, 60));

    assertFalse(ledger.isKnown());
    assertTrue(ledger.problems().isEmpty());
    assertEquals("{\"duplicate\":2}", ledger.toJson().encode());
  }

  private static ServerProgress progress(int incarnation, long applied) {
    return new ServerProgress(0, 0, incarnation, 0, 0, applied, 0, 2, 0, 0);
  }
}
