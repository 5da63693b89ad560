package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Block;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.exchange.PartitionClient.Round;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.job.TransportKind;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Both ends of a stream with shared memory, and a thread that waits for the answers. */
@Timeout(30)
class AnswerReceiverTest {

  private static final String ADDRESS = "answer-receiver-test";
  private static final long LIMIT_MILLIS = 10_000;
  private static final long LONG_NANOS = TimeUnit.SECONDS.toNanos(25);
  private static final int ELEMENTS = 10_000;

  private final Vertx vertx = Vertx.vertx();
  private AnswerReceiver answers = new AnswerReceiver();
  private Stream stream;

  @BeforeEach
  void open() {
    assumeTrue(Files.exists(Path.of("/proc/sys/kernel/random/boot_id")), "Linux only");
    FrameCodecs.register(vertx.eventBus());
    Streams.open(vertx, new EventBusOptions().setHost("127.0.0.1"), ExchangeConfig.usual());
    await(
        Transport.borrow(
            vertx, ADDRESS, frame -> Future.succeededFuture(answer((GradientPartition) frame))));
    stream = (Stream) await(Streams.of(vertx).orElseThrow().to(ADDRESS, TransportKind.SHARED));
    answers.follow(stream);
  }

  @AfterEach
  void close() {
    answers.close();
    await(vertx.close());
  }

  @Test
  void shouldReceiveOnTheWaitingThread() {
    Thread self = Thread.currentThread();
    AtomicReference<Thread> receiver = new AtomicReference<>();
    untilAnswersAreShared();
    until(this::isReceiving);

    for (int i = 0; i < 100; i++) {
      receiver.set(null);
      stream.request(ADDRESS, gradient(), LIMIT_MILLIS, (answer, no) -> receiver.set(self()));
      until(
          () -> {
            answers.await(() -> receiver.get() != null, LONG_NANOS);
            return receiver.get() != null;
          });
      assertSame(self, receiver.get());
    }

    receiver.set(null);
    answers.end();
    assertFalse(answers.isReceiving());
    stream.request(ADDRESS, gradient(), LIMIT_MILLIS, (answer, no) -> receiver.set(self()));
    until(() -> receiver.get() != null);
    assertNotSame(self, receiver.get());
  }

  @Test
  void shouldEndTheWaitWhenWoken() throws InterruptedException {
    until(this::isReceiving);
    AtomicReference<Boolean> done = new AtomicReference<>(false);
    Thread waking =
        new Thread(
            () -> {
              done.set(true);
              answers.wake();
            });

    // The thread starts when nothing would end the wait but the waking.
    answers.await(
        () -> {
          waking.start();
          return done.get();
        },
        LONG_NANOS);

    waking.join();
    assertTrue(done.get());
  }

  @Test
  void shouldLetTwoThreadsOfAStreamWaitAtOnce() {
    until(this::isReceiving);
    AnswerReceiver other = new AnswerReceiver();
    other.follow(stream);

    other.begin();

    assertFalse(other.isReceiving(), "the first one passes its answers on");
    other.close();
  }

  @Test
  void shouldReadAnswersWithoutACopyOnTheThreadOfTheRound() {
    untilAnswersAreShared();
    until(this::isReceiving);
    answers.end();
    PartitionClient client = client();

    for (int i = 0; i < 10; i++) {
      GradientRound round = new GradientRound(null);

      assertEquals(Ending.COMPLETE, client.run(round));

      assertSame(Thread.currentThread(), round.taker);
      assertTrue(round.inPlace, "the tensor is still in the slot");
      assertFalse(answers.isReceiving(), "the round is over");
    }
    client.close();
  }

  @Test
  void shouldFailTheRoundWhenItsAnswerCannotBeRead() {
    RuntimeException onPurpose = new IllegalStateException("on purpose");
    untilAnswersAreShared();
    until(this::isReceiving);
    answers.end();
    PartitionClient client = client();

    assertSame(
        onPurpose,
        assertThrows(IllegalStateException.class, () -> client.run(new GradientRound(onPurpose))));

    assertEquals(Ending.COMPLETE, client.run(new GradientRound(null)));
  }

  @Test
  void shouldReceiveAnswersOnEventLoopsWhenNoDatagramArrives() {
    AnswerReceiver deaf =
        new AnswerReceiver(
            () -> {
              Doorbell doorbell = new Doorbell();
              doorbell.clear();
              filter(doorbell);
              return doorbell;
            });
    deaf.follow(stream);
    untilAnswersAreShared();

    deaf.begin();

    assertFalse(deaf.isReceiving(), "it has not heard its own ring");
    deaf.close();
  }

  @Test
  void shouldCompleteRoundsWhenDatagramsAreFiltered() {
    AtomicReference<Doorbell> opened = new AtomicReference<>();
    answers.close();
    answers =
        new AnswerReceiver(
            () -> {
              opened.set(new Doorbell());
              return opened.get();
            });
    answers.follow(stream);
    untilAnswersAreShared();
    until(this::isReceiving);
    answers.end();
    PartitionClient client = client();
    GradientRound before = new GradientRound(null);
    assertEquals(Ending.COMPLETE, client.run(before));
    assertSame(Thread.currentThread(), before.taker);

    filter(opened.get());

    until(
        () -> {
          GradientRound round = new GradientRound(null);
          assertEquals(Ending.COMPLETE, client.run(round));
          assertSame(Thread.currentThread(), round.taker, "who applies an answer stays the same");
          answers.begin();
          boolean receiving = answers.isReceiving();
          answers.end();
          return !receiving;
        });
    assertEquals(Ending.COMPLETE, client.run(new GradientRound(null)));
    client.close();
  }

  /** Makes the system drop the datagrams of all other ports, as a filter would. */
  private static void filter(Doorbell doorbell) {
    try (DatagramChannel silent = DatagramChannel.open(StandardProtocolFamily.INET)) {
      silent.bind(new InetSocketAddress("127.0.0.1", 0));
      doorbell.channel().connect(silent.getLocalAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private boolean isReceiving() {
    if (!answers.isReceiving()) {
      answers.begin();
    }
    return answers.isReceiving();
  }

  /** Until the listener has a segment, its answers go over the stream. */
  private void untilAnswersAreShared() {
    SharedMemory memory = Streams.of(vertx).orElseThrow().sharing().orElseThrow();
    until(
        () -> {
          long before = memory.payloads();
          await(stream.request(ADDRESS, gradient(), LIMIT_MILLIS));
          return memory.payloads() == before + 2;
        });
  }

  private PartitionClient client() {
    PartitionClient client =
        new PartitionClient(
                new OneBell(),
                new Addresses("answer-receiver-test"),
                ExchangeConfig.usual(),
                System::nanoTime)
            .receivingAnswers();
    client.membershipChanged(new Membership(1, List.of(), List.of(new Membership.Member(0, 0, 0))));
    return client;
  }

  private static Frame answer(GradientPartition gradient) {
    return new ParameterPartition(
        gradient.id(), 7, 0, 1, 0, Outcome.APPLIED, 0, gradient.gradient().retain());
  }

  private static Frame gradient() {
    return new GradientPartition(
        new ExchangeId(1, 2, 3, 4, 5, 0), 7, 0, 1, 0, Tensor.ofFloats(new float[ELEMENTS]));
  }

  private static Thread self() {
    return Thread.currentThread();
  }

  private static void until(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!condition.getAsBoolean()) {
      assertFalse(System.nanoTime() > deadline, "it did not happen in 10 s");
      Thread.onSpinWait();
    }
  }

  private static <T> T await(Future<T> future) {
    CompletableFuture<T> result = future.toCompletionStage().toCompletableFuture();
    return result.orTimeout(10, TimeUnit.SECONDS).join();
  }

  /** Sends everything over the stream of the test, and has its answers. */
  private final class OneBell implements Transport {

    @Override
    public void request(
        String address, Frame frame, long limitMillis, Completable<Frame> answered) {
      stream.request(ADDRESS, frame, limitMillis, answered);
    }

    @Override
    public Optional<AnswerReceiver> answerReceiver() {
      return Optional.of(answers);
    }
  }

  /** Sends one gradient and records who takes the answer. */
  private static final class GradientRound implements Round {

    private final RuntimeException failure;
    private Thread taker;
    private boolean inPlace;

    GradientRound(RuntimeException failure) {
      this.failure = failure;
    }

    @Override
    public List<Partition> order() {
      return List.of(new Partition(0, 0, ELEMENTS, Block.Kind.TRAINABLE, 0));
    }

    @Override
    public Frame request(Partition partition) {
      return gradient();
    }

    @Override
    public void answered(Partition partition, ParameterPartition answer) {
      taker = Thread.currentThread();
      inPlace =
          StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
              .walk(
                  calls ->
                      calls.anyMatch(call -> call.getDeclaringClass() == RingConnection.class));
      if (failure != null) {
        throw failure;
      }
    }
  }
}
