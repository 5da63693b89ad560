package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.BorrowedTensor;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetSocket;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class StreamsTest {

  private static final String ADDRESS = "streams-test";
  private static final long LIMIT_MILLIS = 10_000;
  private static final long SECOND = 1_000_000_000;
  private static final Frame FRAME = frame(1, 2, 3);

  private final Vertx vertx = Vertx.vertx();

  @BeforeEach
  void open() {
    FrameCodecs.register(vertx.eventBus());
    Streams.open(vertx, new EventBusOptions().setHost("127.0.0.1"));
  }

  @AfterEach
  void close() {
    await(vertx.close());
  }

  @Test
  void shouldBringAFrameThereAndAnAnswerBack() {
    listen(frame -> Future.succeededFuture(frame(((PeerPartition) frame).tensor())));

    Frame answer = await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS));

    assertEquals(FRAME, answer);
    assertTrue(answer != FRAME, "it should have travelled as bytes");
  }

  @Test
  void shouldLendAnAnswerOnlyToWhomAsksSo() {
    listen(Future::succeededFuture);
    Promise<Boolean> lent = Promise.promise();

    stream()
        .request(
            ADDRESS,
            FRAME,
            LIMIT_MILLIS,
            (answer, failure) ->
                lent.complete(((PeerPartition) answer).tensor() instanceof BorrowedTensor));
    Frame first = await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS));
    await(stream().request(ADDRESS, frame(7, 8, 9), LIMIT_MILLIS));

    assertTrue(await(lent.future()));
    assertEquals(FRAME, first, "it should not have been written again");
  }

  @Test
  void shouldBringAnAnswerWithoutFrame() {
    listen(frame -> Future.succeededFuture());

    assertNull(await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS)));
  }

  @Test
  void shouldTakeTheBusWithinAProcess() {
    listen(Future::succeededFuture);
    Transport transport = new StreamTransport(vertx, streams());

    assertSame(FRAME, await(transport.request(ADDRESS, FRAME, LIMIT_MILLIS)));
  }

  @Test
  void shouldKeepAnswersApartWhenTheyComeInAnotherOrder() {
    Promise<Frame> late = Promise.promise();
    listen(frame -> frame.equals(FRAME) ? late.future() : Future.succeededFuture(frame(4)));
    Transport stream = stream();
    Future<Frame> first = stream.request(ADDRESS, FRAME, LIMIT_MILLIS);

    assertEquals(frame(4), await(stream.request(ADDRESS, frame(9), LIMIT_MILLIS)));
    late.complete(frame(5));

    assertEquals(frame(5), await(first));
  }

  @Test
  void shouldTellTheSenderWhenItsListenerFails() {
    listen(frame -> Future.failedFuture(new IllegalStateException("no room")));

    ReplyException failure = failure(stream().request(ADDRESS, FRAME, LIMIT_MILLIS));

    assertEquals(ReplyFailure.RECIPIENT_FAILURE, failure.failureType());
    assertEquals(
        "defect at streams-test: java.lang.IllegalStateException: no room", failure.getMessage());
  }

  @Test
  void shouldFailWhatIsUnderWayWhenTheListenerEnds() {
    Transport.Listening listening = listen(frame -> Promise.<Frame>promise().future());
    Future<Frame> waiting = stream().request(ADDRESS, FRAME, LIMIT_MILLIS);

    await(listening.close());

    assertEquals("the connection to streams-test was closed", failure(waiting).getMessage());
    assertEquals(ReplyFailure.NO_HANDLERS, failure(streams().ways().to(ADDRESS)).failureType());
  }

  @Test
  void shouldFindAListenerThatComesBack() {
    await(listen(Future::succeededFuture).close());
    failure(streams().ways().to(ADDRESS));

    listen(Future::succeededFuture);

    assertEquals(FRAME, await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS)));
  }

  @Test
  void shouldAskAgainForAnAddressNobodyHasWhenTheAnswerComesAtOnce() {
    Promise<Throwable> second = Promise.promise();
    vertx.runOnContext(
        go ->
            streams()
                .ways()
                .to(ADDRESS)
                .recover(first -> streams().ways().to(ADDRESS))
                .onFailure(second::complete));

    assertInstanceOf(ReplyException.class, await(second.future()));
    listen(Future::succeededFuture);
    assertEquals(FRAME, await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS)));
  }

  @Test
  void shouldFailARequestThatIsNotAnsweredInTime() {
    listen(frame -> Promise.<Frame>promise().future());

    ReplyException failure = failure(stream().request(ADDRESS, FRAME, 10));

    assertEquals(ReplyFailure.TIMEOUT, failure.failureType());
    assertEquals("no answer from streams-test in time", failure.getMessage());
  }

  @Test
  void shouldGiveUpAStreamOnWhichNothingComes() {
    Future<NetSocket> mute =
        vertx
            .createNetServer()
            .connectHandler(socket -> socket.handler(ignored -> {}))
            .listen(0, "127.0.0.1")
            .compose(server -> vertx.createNetClient().connect(server.actualPort(), "127.0.0.1"));
    Stream stream = new Stream(ADDRESS, await(mute), closed -> {});
    Future<Frame> waiting = stream.request(ADDRESS, FRAME, 60_000);

    stream.sweep(System.nanoTime() + 9 * SECOND);
    assertTrue(!waiting.isComplete());
    stream.sweep(System.nanoTime() + 11 * SECOND);

    assertEquals("the connection to streams-test was closed", failure(waiting).getMessage());
    assertEquals(
        "the connection to streams-test was closed",
        failure(stream.request(ADDRESS, FRAME, 60_000)).getMessage());
  }

  @Test
  void shouldKeepAStreamOnWhichSomebodyAnswersPings() {
    Promise<Frame> late = Promise.promise();
    listen(frame -> late.future());
    Stream stream = assertInstanceOf(Stream.class, stream());
    Future<Frame> waiting = stream.request(ADDRESS, FRAME, 60_000);

    stream.sweep(System.nanoTime() + 6 * SECOND);
    late.complete(FRAME);

    assertEquals(FRAME, await(waiting));
  }

  @Test
  void shouldHangUpOnWhoeverSpeaksAnotherLanguage() {
    listen(Future::succeededFuture);
    NetSocket stranger =
        await(
            vertx
                .eventBus()
                .<JsonObject>request(
                    ADDRESS, null, new DeliveryOptions().addHeader(BusListener.WHERE, ""))
                .map(answer -> StreamAddress.fromJson(answer.body()))
                .compose(at -> vertx.createNetClient().connect(at.port(), at.host())));
    Promise<Void> closed = Promise.promise();
    stranger.closeHandler(closed::tryComplete);

    stranger.write(Buffer.buffer("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));

    await(closed.future());
  }

  @Test
  void shouldUseTheBusWhereNoStreamsAreWanted() {
    Vertx plain = Vertx.vertx();
    try {
      assertEquals(Optional.empty(), Streams.of(plain));
    } finally {
      await(plain.close());
    }
  }

  private Transport.Listening listen(Function<Frame, Future<Frame>> answers) {
    return await(Transport.listen(vertx, ADDRESS, answers));
  }

  private Streams streams() {
    return Streams.of(vertx).orElseThrow();
  }

  private Transport stream() {
    return await(streams().ways().to(ADDRESS));
  }

  private static Frame frame(float... values) {
    return frame(Tensor.ofFloats(values));
  }

  private static Frame frame(TensorView tensor) {
    return new PeerPartition(new ExchangeId(1, 2, 3, 4, 5, 6), 7, 0, tensor);
  }

  private static ReplyException failure(Future<?> future) {
    CompletionException failed = assertThrows(CompletionException.class, () -> await(future));
    return assertInstanceOf(ReplyException.class, failed.getCause());
  }

  private static <T> T await(Future<T> future) {
    CompletableFuture<T> result = future.toCompletionStage().toCompletableFuture();
    return result.orTimeout(10, TimeUnit.SECONDS).join();
  }
}
