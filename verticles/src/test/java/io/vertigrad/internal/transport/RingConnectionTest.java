package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.transport.StreamMessage.Kind;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Uses two ends with an event loop each; a message over the stream is a task on the other event
 * loop.
 */
@Timeout(60)
class RingConnectionTest {

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
  private static final int PORT = 40_000;
  private static final ByteBuffer LONG = ByteBuffer.allocate(200);

  private final ByteBuffer memory = ByteBuffer.allocateDirect(2 * MessageRing.BYTES);
  private final List<Long> received = new ArrayList<>();
  private final AtomicInteger wakeups = new AtomicInteger();
  private final Semaphore threadWakeups = new Semaphore(0);
  private final ScheduledExecutorService there = Executors.newSingleThreadScheduledExecutor();
  private final ScheduledExecutorService here = Executors.newSingleThreadScheduledExecutor();
  private Consumer<StreamMessage> listener = message -> received.add(message.number());
  private final RingConnection sender = connection(here, this::wakeListener, message -> {});
  private final RingConnection receiver =
      connection(there, port -> {}, message -> listener.accept(message));

  @AfterEach
  void end() {
    here.shutdownNow();
    there.shutdownNow();
  }

  @Test
  void shouldDeliverAllMessagesInOrderOverStreamAndRing() throws Exception {
    int messages = 400_000;
    CountDownLatch all = new CountDownLatch(messages);
    listener =
        message -> {
          received.add(message.number());
          all.countDown();
        };
    connect();

    for (int i = 0; i < messages; i++) {
      boolean tooLong = i % 1_000 == 999;
      send(i, tooLong ? LONG : NOTHING, true);
      if (i % 500 == 0) {
        Thread.yield();
      }
    }

    assertTrue(all.await(30, TimeUnit.SECONDS), () -> all.getCount() + " did not come");
    assertTrue(
        LongStream.range(0, messages).allMatch(i -> received.get((int) i) == i), "out of order");
    assertTrue(wakeups.get() < messages, "nobody should be woken who is awake");
  }

  @Test
  @Tag("slow")
  void shouldDeliverAMessageThatArrivesWhileItsReaderStartsToWait() throws Exception {
    AtomicLong last = new AtomicLong(-1);
    listener = message -> last.set(message.number());
    connect();

    // Fewer on a busy machine, where each takes the time of a thread switch.
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    for (int i = 0; i < 200_000 && System.nanoTime() < end; i++) {
      send(i, NOTHING, true);
      long expected = i;
      until(() -> last.get() == expected);
    }
  }

  @Test
  void shouldDelayWakesForMessagesThatAreNotUrgent() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    listener =
        message -> {
          received.add(message.number());
          first.countDown();
        };
    connect();
    until(() -> receiverWaits());

    send(1, NOTHING, false);
    assertTrue(first.await(10, TimeUnit.SECONDS));
    assertEquals(1, wakeups.get());
  }

  @Test
  void shouldContinueAfterAMessageWhoseHandlerFailed() throws Exception {
    CountDownLatch second = new CountDownLatch(1);
    listener =
        message -> {
          if (message.number() == 1) {
            throw new IllegalStateException("on purpose");
          }
          second.countDown();
        };
    connect();

    send(1, NOTHING, true);
    send(2, NOTHING, true);

    assertTrue(second.await(10, TimeUnit.SECONDS));
  }

  @Test
  void shouldReadNothingWhilePausedAndEverythingAfterwards() throws Exception {
    connect();
    there.submit(receiver::pause).get();
    for (int i = 0; i < 5; i++) {
      send(i, NOTHING, true);
    }
    there.submit(() -> assertEquals(List.of(), received)).get();

    there.submit(receiver::resume).get();

    until(() -> receivedNumbers().equals(List.of(0L, 1L, 2L, 3L, 4L)));
  }

  @Test
  void shouldSendOverTheStreamWhenTheRingIsFull() throws Exception {
    CountDownLatch reading = new CountDownLatch(1);
    connect();
    there.execute(() -> awaitOn(reading));

    int posted = 0;
    while (sender.post(Kind.REQUEST, posted, NOTHING, NOTHING, true)) {
      posted++;
    }
    assertEquals(256, posted);
    send(posted, NOTHING, true);
    reading.countDown();

    until(() -> receivedNumbers().equals(LongStream.range(0, 257).boxed().toList()));
  }

  @Test
  void shouldDeliverMessagesToTheThreadThatWaits() throws Exception {
    List<Thread> receivers = Collections.synchronizedList(new ArrayList<>());
    listener = message -> receivers.add(Thread.currentThread());
    connect();

    assertTrue(receiver.takeOver(PORT));
    assertFalse(receiver.takeOver(PORT + 1), "there is one already");
    send(1, NOTHING, true);
    assertEquals(0, wakeups.get(), "the thread has not said that it waits");
    assertTrue(receiver.read());
    assertFalse(receiver.read());
    send(2, NOTHING, true);
    assertTrue(threadWakeups.tryAcquire());
    assertTrue(receiver.read());
    assertEquals(List.of(Thread.currentThread(), Thread.currentThread()), receivers);

    receiver.handBack();
    send(3, NOTHING, true);
    until(() -> receivers.size() == 3);
    assertNotSame(Thread.currentThread(), receivers.get(2));
    assertEquals(1, wakeups.get());
  }

  @Test
  void shouldLoseNothingBetweenEventLoopAndThread() throws Exception {
    int messages = 100_000;
    AtomicLong next = new AtomicLong();
    AtomicInteger wrong = new AtomicInteger();
    listener =
        message -> {
          if (message.number() != next.getAndIncrement()) {
            wrong.incrementAndGet();
          }
        };
    connect();
    Thread sending =
        new Thread(
            () -> {
              for (int i = 0; i < messages; i++) {
                send(i, i % 1_000 == 999 ? LONG : NOTHING, true);
                // Lets the reader fall asleep now and then.
                for (long sent = i; sent % 97 == 0 && next.get() <= sent; ) {
                  Thread.onSpinWait();
                }
              }
            });
    sending.start();

    while (sending.isAlive()) {
      assertTrue(receiver.takeOver(PORT));
      for (int i = 0; i < 3; i++) {
        receiver.read();
        threadWakeups.tryAcquire(1, TimeUnit.MILLISECONDS);
      }
      receiver.handBack();
    }

    until(() -> next.get() == messages);
    assertEquals(0, wrong.get(), "out of order");
  }

  private void connect() throws Exception {
    sender.count();
    here.submit(() -> sender.use(ring(0), ring(1))).get();
    there.submit(() -> receiver.use(ring(1), ring(0))).get();
  }

  private void send(long number, ByteBuffer body, boolean urgent) {
    if (!sender.post(Kind.REQUEST, number, body, NOTHING, urgent)) {
      sender.sendOverStream(
          () ->
              there.submit(() -> receiver.onStreamMessage(() -> listener.accept(message(number)))));
    }
  }

  private void wakeListener(int port) {
    if (port == PORT) {
      threadWakeups.release();
      return;
    }
    wakeups.incrementAndGet();
    there.execute(receiver::read);
  }

  private boolean receiverWaits() {
    try {
      return there.submit(() -> ring(0).isWaiting()).get();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private List<Long> receivedNumbers() {
    try {
      return there.submit(() -> List.copyOf(received)).get();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private MessageRing ring(int index) {
    return new MessageRing(memory, index * MessageRing.BYTES);
  }

  private static StreamMessage message(long number) {
    return new StreamMessage(Kind.REQUEST, number, NOTHING, true);
  }

  private static RingConnection connection(
      ScheduledExecutorService loop, IntConsumer wake, Consumer<StreamMessage> messages) {
    return new RingConnection(
        new RingConnection.Channel() {
          @Override
          public void wake(int port) {
            wake.accept(port);
          }

          @Override
          public void run(Runnable task) {
            loop.execute(task);
          }

          @Override
          public void runLater(Runnable task) {
            loop.schedule(task, 1, TimeUnit.MILLISECONDS);
          }
        },
        messages,
        true);
  }

  private static void until(java.util.function.BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!condition.getAsBoolean()) {
      assertFalse(System.nanoTime() > deadline, "it did not happen in 10 s");
      Thread.onSpinWait();
    }
  }

  private static void awaitOn(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
