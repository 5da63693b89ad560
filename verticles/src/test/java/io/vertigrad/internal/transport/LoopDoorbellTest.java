package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One end sends through a ring and rings, unless datagrams are to be lost; an event loop reads. */
@Timeout(30)
class LoopDoorbellTest {

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
  private static final int THREAD_PORT = 1_234;

  private final ByteBuffer memory =
      ByteBuffer.allocateDirect(2 * MessageRing.BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = group.next();
  private final Doorbell.Ringer ringer = new Doorbell.Ringer();
  private final List<Long> received = new CopyOnWriteArrayList<>();
  private final BlockingQueue<Integer> wakings = new LinkedBlockingQueue<>();
  private final RingConnection sender = connection();
  private final RingConnection receiver = connection();
  private Doorbell doorbell;
  private LoopDoorbell loopDoorbell;
  private volatile boolean lost;

  @BeforeEach
  void open() throws Exception {
    doorbell = new Doorbell();
    loopDoorbell = new LoopDoorbell(doorbell, receiver, receiver::read);
    sender.use(ring(0), ring(1));
    onLoop(() -> receiver.use(ring(1), ring(0)));
    loopDoorbell.answerOn(loop);
    awaitWaitingAt(doorbell.port());
  }

  @AfterEach
  void close() throws Exception {
    ringer.close();
    onLoop(
        () -> {
          try {
            loopDoorbell.close();
          } catch (IOException e) {
            throw new IllegalStateException(e);
          }
        });
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
  }

  @Test
  void shouldReadWhenADatagramArrives() throws Exception {
    for (long i = 0; i < 100; i++) {
      send(i);
      awaitReceived(i);
      awaitWaitingAt(doorbell.port());
      assertEquals(doorbell.port(), wakings.take());
    }
  }

  @Test
  void shouldAskForStreamWakesWhenDatagramsAreLost() throws Exception {
    // The doorbell's own ring, by which it has found that it works, does not count afterwards.
    onLoop(loopDoorbell::check);
    lost = true;
    for (long i = 0; i < 3; i++) {
      send(i);
      send(10 + i);
      assertEquals(2 * i, received.size(), "nothing has woken the loop");
      onLoop(loopDoorbell::check);
      assertEquals(2 * i + 2, received.size());
      assertEquals(doorbell.port(), wakings.take());
      assertTrue(wakings.isEmpty(), "the loop is woken already, as far as the sender knows");
    }

    send(20);

    assertEquals(MessageRing.BY_STREAM, wakings.take());
    onLoop(receiver::read);
    assertEquals(List.of(0L, 10L, 1L, 11L, 2L, 12L, 20L), received);
  }

  @Test
  void shouldContinueWithDatagramsWhenSomeAreLost() throws Exception {
    for (long i = 0; i < 20; i += 2) {
      lost = true;
      send(i);
      onLoop(loopDoorbell::check);
      lost = false;
      send(i + 1);
      awaitReceived(i + 1);
      awaitWaitingAt(doorbell.port());
      // This one sees that the doorbell has rung.
      onLoop(loopDoorbell::check);
    }

    assertEquals(LongStream.range(0, 20).boxed().toList(), received);
    assertFalse(wakings.contains(MessageRing.BY_STREAM));
  }

  @Test
  void shouldDeliverMessagesOnlyToTheThreadThatWaits() throws Exception {
    assertTrue(receiver.takeOver(THREAD_PORT));
    assertFalse(receiver.read());
    lost = true;
    send(0);

    onLoop(loopDoorbell::check);
    assertEquals(List.of(), received);

    assertTrue(receiver.read());
    assertEquals(List.of(0L), received);
    receiver.handBack();
    assertEquals(doorbell.port(), waitingAt());
  }

  private RingConnection connection() {
    return new RingConnection(
        new RingConnection.Channel() {
          @Override
          public void wake(int port) {
            wakings.add(port);
            if (!lost && port != MessageRing.BY_STREAM) {
              assertTrue(ringer.ring(port));
            }
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
        message -> received.add(message.number()),
        true);
  }

  private void send(long number) {
    assertTrue(sender.post(Kind.REQUEST, number, NOTHING, NOTHING, true));
  }

  private MessageRing ring(int index) {
    return new MessageRing(memory, index * MessageRing.BYTES);
  }

  private void onLoop(Runnable task) throws Exception {
    loop.submit(task).get(10, TimeUnit.SECONDS);
  }

  private void awaitReceived(long number) {
    await(() -> received.contains(number));
  }

  private void awaitWaitingAt(int port) {
    await(() -> waitingAt() == port);
  }

  /** Returns where the receiver waits when its event loop has nothing else to do. */
  private long waitingAt() {
    try {
      return loop.submit(() -> memory.getLong(MessageRing.WAITING)).get(10, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!condition.getAsBoolean()) {
      assertFalse(System.nanoTime() > deadline, "it did not happen in 10 s");
      Thread.onSpinWait();
    }
  }
}
