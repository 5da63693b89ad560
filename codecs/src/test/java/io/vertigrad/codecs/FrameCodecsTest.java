package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageCodec;
import io.vertx.junit5.VertxExtension;
import io.vertx.junit5.VertxTestContext;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(VertxExtension.class)
class FrameCodecsTest {

  @BeforeEach
  void register(Vertx vertx) {
    FrameCodecs.register(vertx.eventBus());
  }

  @Test
  void shouldDoNothingWhenRegisteredAgain(Vertx vertx) {
    FrameCodecs.register(vertx.eventBus());

    IllegalStateException taken =
        assertThrows(
            IllegalStateException.class,
            () -> vertx.eventBus().registerDefaultCodec(Refusal.class, new RefusalCodec()));
    assertTrue(taken.getMessage().contains("Refusal"), taken.getMessage());
  }

  @Test
  void shouldAnswerWithTheSameObjectsWhenBothSidesAreLocal(Vertx vertx, VertxTestContext test) {
    EventBus bus = vertx.eventBus();
    bus.<Frame>consumer("server", request -> request.reply(answer(request)));

    Future<Message<Frame>> gradient = bus.request("server", Frames.GRADIENT);
    Future<Message<Frame>> pull = bus.request("server", Frames.PULL);

    Future.all(gradient, pull)
        .onComplete(
            test.succeeding(
                answers ->
                    test.verify(
                        () -> {
                          assertSame(Frames.PARAMETERS, gradient.result().body());
                          assertSame(Frames.REFUSAL, pull.result().body());
                          test.completeNow();
                        })));
  }

  @Test
  void shouldDecodeToAnEqualFrameForAnyFrame() {
    for (Frame frame : Frames.EVERY) {
      assertEquals(frame, Frames.decode(frame, Frames.encode(frame)));
      assertSame(frame, Frames.codec(frame).transform(frame));
    }
  }

  @Test
  void shouldGiveTheSameNumbersWhenAFullFrameTravels() {
    float[] values = new float[FrameLimits.MAX_ELEMENTS];
    for (int i = 0; i < values.length; i++) {
      values[i] = 1f / (i + 1);
    }
    GradientPartition sent = new GradientPartition(Frames.ID, 0, 0, 1, 0, Tensor.ofFloats(values));
    Buffer wire = Buffer.buffer(1_024).appendString("header of odd size, 27 byte");

    Frames.encode(sent, wire);
    Frame received = Frames.codec(sent).decodeFromWire(27, wire);

    assertEquals(sent, received);
    assertTrue(wire.length() - 27 <= FrameLimits.MAX_FRAME_BYTES);
  }

  @Test
  void shouldHaveStableNamesWhenListed() {
    assertEquals(
        List.of(
            "vertigrad.gradient",
            "vertigrad.parameters",
            "vertigrad.pull",
            "vertigrad.refusal",
            "vertigrad.malformed",
            "vertigrad.peer",
            "vertigrad.stage"),
        FrameCodecs.all().stream().map(MessageCodec::name).toList());
    assertTrue(FrameCodecs.all().stream().allMatch(codec -> codec.systemCodecID() == -1));
  }

  @Test
  void shouldCoverEveryFrameOnceWhenListed() {
    Set<Integer> kinds = new HashSet<>();
    Set<Class<?>> types = new HashSet<>();
    for (FrameCodec<?> codec : FrameCodecs.all()) {
      assertTrue(kinds.add(codec.kind()), "kind " + codec.kind() + " is taken twice");
      types.add(codec.type());
    }
    assertEquals(Set.of(Frame.class.getPermittedSubclasses()), types);
  }

  @Test
  void shouldListTheFramesWhenNoneIsNamed() {
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> FrameCodecs.of(Frame.class));

    assertTrue(error.getMessage().startsWith("no codec for io.vertigrad.codecs.Frame, expected"));
  }

  private static Frame answer(Message<Frame> request) {
    return request.body() == Frames.GRADIENT ? Frames.PARAMETERS : Frames.REFUSAL;
  }
}
