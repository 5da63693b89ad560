package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.BorrowedTensor;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.TransportKind;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class StreamsTest {

  private static final String ADDRESS = "streams-test";
  private static final long LIMIT_MILLIS = 10_000;
  private static final long SECOND = 1_000_000_000;
  private static final int CHALLENGE_BYTES = StreamProof.NONCE_BYTES + JobSecret.CODE_BYTES;
  private static final Frame FRAME = frame(1, 2, 3);

  private final Vertx vertx = Vertx.vertx();

  /** Kept in a field, because Vert.x closes a client that is not referenced any more. */
  private final NetClient client = vertx.createNetClient();

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
  void shouldDeliverAFrameAndItsAnswer() {
    listen(frame -> Future.succeededFuture(frame(((PeerPartition) frame).tensor())));

    Frame answer = await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS));

    assertEquals(FRAME, answer);
    assertTrue(answer != FRAME, "it should have travelled as bytes");
  }

  @Test
  void shouldLendAnAnswerOnlyOnRequest() {
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
  void shouldReleaseTheMemoryOfAnAnswerWhenItIsWritten() {
    TensorMemory memory = new TensorMemory();
    List<TensorView> lent = new ArrayList<>();
    listen(
        frame -> {
          float[] values = {lent.size(), 1, 2};
          SharedTensor shared = memory.share(DataType.FLOAT32, FloatBuffer.wrap(values));
          lent.add(shared.lend());
          shared.release();
          ExchangeId id = new ExchangeId(1, 0, 0, 0, 0, 0);
          return Future.succeededFuture(
              new ParameterPartition(
                  id, 1, 0, 1, 0, Outcome.APPLIED, 0, lent.get(lent.size() - 1)));
        });
    Transport stream = stream();

    for (int i = 0; i < 50; i++) {
      Frame answer = await(stream.request(ADDRESS, FRAME, LIMIT_MILLIS));
      assertEquals(Tensor.ofFloats(i, 1, 2), ((ParameterPartition) answer).parameters());
    }

    assertNotEquals(Tensor.ofFloats(0, 1, 2), lent.get(0), "its memory was written again");
  }

  @Test
  void shouldDeliverAnAnswerWithoutFrame() {
    listen(frame -> Future.succeededFuture());

    assertNull(await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS)));
  }

  @Test
  void shouldUseTheBusWithinAProcess() {
    listen(Future::succeededFuture);
    Transport transport = streams().transport(TransportKind.AUTO);

    assertSame(FRAME, await(transport.request(ADDRESS, FRAME, LIMIT_MILLIS)));
  }

  @Test
  void shouldMatchAnswersToRequestsInAnyOrder() {
    Promise<Frame> late = Promise.promise();
    listen(frame -> frame.equals(FRAME) ? late.future() : Future.succeededFuture(frame(4)));
    Transport stream = stream();
    Future<Frame> first = stream.request(ADDRESS, FRAME, LIMIT_MILLIS);

    assertEquals(frame(4), await(stream.request(ADDRESS, frame(9), LIMIT_MILLIS)));
    late.complete(frame(5));

    assertEquals(frame(5), await(first));
  }

  @Test
  void shouldReportAFailedListenerToTheSender() {
    listen(frame -> Future.failedFuture(new IllegalStateException("no room")));

    ReplyException failure = failure(stream().request(ADDRESS, FRAME, LIMIT_MILLIS));

    assertEquals(ReplyFailure.RECIPIENT_FAILURE, failure.failureType());
    assertEquals(
        "defect at streams-test: java.lang.IllegalStateException: no room", failure.getMessage());
  }

  @Test
  void shouldFailOpenRequestsWhenTheListenerCloses() {
    Transport.Listening listening = listen(frame -> Promise.<Frame>promise().future());
    Future<Frame> waiting = stream().request(ADDRESS, FRAME, LIMIT_MILLIS);

    await(listening.close());

    assertEquals("the connection to streams-test was closed", failure(waiting).getMessage());
    assertEquals(
        ReplyFailure.NO_HANDLERS, failure(streams().to(ADDRESS, TransportKind.AUTO)).failureType());
  }

  @Test
  void shouldReconnectToAListenerThatReturns() {
    await(listen(Future::succeededFuture).close());
    failure(streams().to(ADDRESS, TransportKind.AUTO));

    listen(Future::succeededFuture);

    assertEquals(FRAME, await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS)));
  }

  @Test
  void shouldRepeatTheRequestWhenNobodyHasTheAddress() {
    Promise<Throwable> second = Promise.promise();
    vertx.runOnContext(
        go ->
            streams()
                .to(ADDRESS, TransportKind.AUTO)
                .recover(first -> streams().to(ADDRESS, TransportKind.AUTO))
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
  void shouldConnectAgainWhenAConnectionIsRenewed() {
    listen(Future::succeededFuture);
    Stream before = assertInstanceOf(Stream.class, stream());

    streams().transport(TransportKind.AUTO).renew(ADDRESS);

    assertTrue(stream() != before);
    assertEquals(FRAME, await(stream().request(ADDRESS, FRAME, LIMIT_MILLIS)));
    Awaitility.await().until(before::isClosed);
  }

  @Test
  void shouldCloseAStreamThatIsSilent() {
    Future<NetSocket> mute =
        vertx
            .createNetServer()
            .connectHandler(socket -> socket.handler(ignored -> {}))
            .listen(0, "127.0.0.1")
            .compose(server -> client.connect(server.actualPort(), "127.0.0.1"));
    Stream stream =
        new Stream(
            ADDRESS,
            JobSecret.none(),
            await(mute),
            TransportKind.STREAM,
            Optional.empty(),
            closed -> {});
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
  void shouldKeepAStreamThatAnswersPings() {
    Promise<Frame> late = Promise.promise();
    listen(frame -> late.future());
    Stream stream = assertInstanceOf(Stream.class, stream());
    Future<Frame> waiting = stream.request(ADDRESS, FRAME, 60_000);

    stream.sweep(System.nanoTime() + 6 * SECOND);
    late.complete(FRAME);

    assertEquals(FRAME, await(waiting));
  }

  @Test
  void shouldCloseConnectionsOfOtherProtocols() {
    listen(Future::succeededFuture);
    NetSocket stranger =
        await(
            vertx
                .eventBus()
                .<JsonObject>request(
                    ADDRESS, null, new DeliveryOptions().addHeader(BusListener.ADDRESS_LOOKUP, ""))
                .map(answer -> StreamAddress.fromJson(answer.body()))
                .compose(at -> client.connect(at.port(), at.host())));
    Promise<Void> closed = Promise.promise();
    stranger.closeHandler(closed::tryComplete);

    stranger.write(Buffer.buffer("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));

    await(closed.future());
  }

  @Test
  void shouldCloseNewConnectionsWhenTheLimitIsReached() throws Exception {
    Vertx limited = Vertx.vertx();
    FrameCodecs.register(limited.eventBus());
    Streams.open(limited, new EventBusOptions().setHost("127.0.0.1"), ExchangeConfig.usual(), 2);
    StreamServer server = served(limited).server;
    Socket second = connected(server);
    try (Socket first = connected(server);
        Socket third = connected(server)) {
      assertEquals(-1, third.getInputStream().read(), "the third should be closed");
      assertTrue(isOpen(first));
      assertTrue(isOpen(second));
      second.close();
      Socket fourth = connected(server);
      while (!isOpen(fourth)) {
        fourth.close();
        fourth = connected(server);
      }
      fourth.close();
    } finally {
      await(limited.close());
    }
  }

  @Test
  void shouldCloseTheOldestUnprovedConnectionWhenThereAreTooMany() throws Exception {
    Served served = served(vertx);
    List<Socket> idle = new ArrayList<>();
    try (Socket proved = connected(served.server)) {
      open(proved);
      for (int i = 0; i <= StreamServer.MOST_UNPROVED; i++) {
        idle.add(connected(served.server));
      }

      assertEquals(-1, idle.get(0).getInputStream().read(), "the oldest should be closed");
      assertTrue(isOpen(proved));
      assertTrue(isOpen(idle.get(StreamServer.MOST_UNPROVED)));
    } finally {
      for (Socket socket : idle) {
        socket.close();
      }
      await(served.server.close());
    }
  }

  @Test
  void shouldCloseAConnectionThatDoesNotProveItsSecretInTime() throws Exception {
    Served served = served(vertx);
    try (Socket idle = connected(served.server);
        Socket proved = connected(served.server)) {
      open(proved);
      assertTrue(isOpen(idle));

      for (int second = 0; second < 12; second++) {
        await(served.run(served.server::sweep));
      }

      assertFalse(isOpen(idle));
      assertTrue(isOpen(proved));
    } finally {
      await(served.server.close());
    }
  }

  @Test
  void shouldCloseAConnectionWhenAMessageIsNotFinishedInTime() throws Exception {
    Served served = served(vertx);
    try (Socket half = connected(served.server);
        Socket idle = connected(served.server)) {
      open(half);
      open(idle);
      half.getOutputStream().write(new byte[] {0, 4, 0, 0, 1});
      assertTrue(isOpen(half));

      for (int second = 0; second < 32; second++) {
        // A byte now and then does not count as progress; only whole messages do.
        half.getOutputStream().write(0);
        await(served.run(served.server::sweep));
      }

      assertFalse(isOpen(half));
      assertTrue(isOpen(idle));
    } finally {
      await(served.server.close());
    }
  }

  @Test
  void shouldReportFailuresOfAPeerOnceAMinute() {
    List<String> warned = new ArrayList<>();
    PeerWarnings warnings = new PeerWarnings(warned::add);

    for (int i = 0; i < 442; i++) {
      warnings.warn("10.0.0.1", "broke " + i, i * SECOND / 10);
    }
    warnings.warn("10.0.0.2", "another", SECOND);
    warnings.warn("10.0.0.1", "again", 61 * SECOND);
    warnings.warn("10.0.0.1", "later", 200 * SECOND);

    assertEquals(
        List.of(
            "broke 0",
            "another",
            "again (and 441 more about 10.0.0.1 since the last line)",
            "later"),
        warned);
  }

  /** A port and the context of the event loop that serves it. */
  private record Served(StreamServer server, Context context) {

    Future<Void> run(Runnable task) {
      Promise<Void> done = Promise.promise();
      context.runOnContext(
          turn -> {
            task.run();
            done.complete();
          });
      return done.future();
    }
  }

  private static Served served(Vertx vertx) {
    Promise<Served> open = Promise.promise();
    Context context = vertx.getOrCreateContext();
    context.runOnContext(
        turn ->
            StreamServer.open(
                    Streams.of(vertx).orElseThrow(), ADDRESS, Future::succeededFuture, true)
                .map(server -> new Served(server, context))
                .onComplete(open));
    return await(open.future());
  }

  private static Socket connected(StreamServer server) throws IOException {
    StreamAddress at = server.endpoint();
    Socket socket = new Socket(at.host(), at.port());
    socket.setSoTimeout(5_000);
    return socket;
  }

  /** Returns true if the connection is open: a stream that is served and idle sends nothing. */
  private static boolean isOpen(Socket socket) throws IOException {
    socket.setSoTimeout(300);
    try {
      return socket.getInputStream().read() >= 0;
    } catch (SocketTimeoutException silent) {
      return true;
    } catch (SocketException reset) {
      return false;
    }
  }

  private static byte[] message(StreamMessage.Kind kind, long number, byte[] body) {
    return ByteBuffer.allocate(StreamMessage.HEADER_BYTES + body.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(body.length)
        .putInt(kind.ordinal())
        .putLong(number)
        .put(body)
        .array();
  }

  /** Opens a stream like the real sender, but without its code. */
  private static void open(Socket socket) throws IOException {
    socket.getOutputStream().write(opening());
    byte[] challenge =
        socket.getInputStream().readNBytes(StreamMessage.HEADER_BYTES + CHALLENGE_BYTES);
    byte[] nonce =
        Arrays.copyOfRange(
            challenge,
            StreamMessage.HEADER_BYTES,
            StreamMessage.HEADER_BYTES + StreamProof.NONCE_BYTES);
    socket
        .getOutputStream()
        .write(
            message(
                StreamMessage.Kind.PROOF,
                0,
                new StreamProof(JobSecret.none(), ADDRESS)
                    .proof(new byte[StreamProof.NONCE_BYTES], nonce)));
  }

  private static byte[] opening() {
    return message(
        StreamMessage.Kind.OPEN,
        StreamMessage.FORMAT,
        new StreamProof(JobSecret.none(), ADDRESS).opening(new byte[StreamProof.NONCE_BYTES]));
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
    return await(streams().to(ADDRESS, TransportKind.AUTO));
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
