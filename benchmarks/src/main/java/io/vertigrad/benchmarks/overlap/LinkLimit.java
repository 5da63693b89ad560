package io.vertigrad.benchmarks.overlap;

import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Limits what one process sends over all of its TCP connections together, like a network card of
 * that speed: messages go out one after the other, in the order in which they were sent.
 *
 * <p>A message goes out when its last byte would have left such a card. The senders' windows bound
 * what waits here. Any thread may send.
 */
final class LinkLimit {

  /** Bytes that pass at once after a pause, enough for acknowledgements. */
  private static final int BURST_BYTES = 4 << 10;

  private static final double BYTES_PER_MEGABIT = 125_000;
  private static final String MEGABITS = "vertigrad.benchmarks.megabits";

  private final TokenBucket bucket;
  private final LongSupplier nanoClock;
  private final Timer timer;
  private final Queue<Waiting> queue = new ArrayDeque<>();

  /** Runs an action after a number of nanoseconds, on any thread. */
  @FunctionalInterface
  interface Timer {
    void after(long nanos, Runnable action);
  }

  private record Waiting(long dueNanos, Runnable send) {}

  /**
   * Creates a limit with an empty queue.
   *
   * @param bytesPerSecond most bytes sent in a second
   * @param nanoClock a monotonic clock
   * @param timer runs actions later, by the same clock
   */
  LinkLimit(double bytesPerSecond, LongSupplier nanoClock, Timer timer) {
    this.nanoClock = nanoClock;
    this.timer = timer;
    this.bucket = new TokenBucket(bytesPerSecond, BURST_BYTES, nanoClock.getAsLong());
  }

  /**
   * Returns words in front of {@code ./vertigrad} that limit each of its processes to a speed:
   * through Netty's own extensions, so that the measured program need not know.
   */
  static List<String> commandPrefix(int megabits) throws URISyntaxException {
    Path classes =
        Path.of(LinkLimit.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    return List.of(
        "env",
        "VERTIGRAD_CLASSPATH=" + classes,
        "VERTIGRAD_JAVA_OPTS=-D%s=serviceload -D%s=%s"
            .formatted(ChannelInitializerExtension.EXTENSIONS_SYSTEM_PROPERTY, MEGABITS, megabits));
  }

  /** Limits every TCP connection of a process together. Netty loads it as a service. */
  public static final class EveryConnection extends ChannelInitializerExtension {

    private final LinkLimit limit =
        new LinkLimit(
            Integer.getInteger(MEGABITS) * BYTES_PER_MEGABIT, System::nanoTime, timerThread());

    @Override
    public void postInitializeClientChannel(Channel channel) {
      channel.pipeline().addFirst(limit.handler());
    }

    @Override
    public void postInitializeServerChildChannel(Channel channel) {
      channel.pipeline().addFirst(limit.handler());
    }

    private static Timer timerThread() {
      ScheduledThreadPoolExecutor threads =
          new ScheduledThreadPoolExecutor(
              1,
              work -> {
                Thread thread = new Thread(work, "link limit");
                thread.setDaemon(true);
                return thread;
              });
      return (nanos, action) -> threads.schedule(action, nanos, TimeUnit.NANOSECONDS);
    }
  }

  /** Returns a handler that sends the bytes of one connection through this limit. */
  ChannelOutboundHandlerAdapter handler() {
    return new ChannelOutboundHandlerAdapter() {
      @Override
      public void write(ChannelHandlerContext connection, Object message, ChannelPromise promise) {
        int bytes = message instanceof ByteBuf buffer ? buffer.readableBytes() : 0;
        sendInOrder(connection, bytes, () -> connection.writeAndFlush(message, promise));
      }

      @Override
      public void close(ChannelHandlerContext connection, ChannelPromise promise) {
        sendInOrder(connection, 0, () -> connection.close(promise));
      }

      /** Always a task of the event loop, so that a message cannot pass one that has waited. */
      private void sendInOrder(ChannelHandlerContext connection, int bytes, Runnable action) {
        send(bytes, () -> connection.executor().execute(action));
      }
    };
  }

  /**
   * Sends a message when the link has room for it.
   *
   * @param bytes length of the message
   * @param send passes the message to its connection without blocking; runs on the sender's thread
   *     if the link is free, otherwise on the timer's
   */
  synchronized void send(int bytes, Runnable send) {
    long now = nanoClock.getAsLong();
    long due = bucket.take(bytes, now);
    if (queue.isEmpty() && due <= now) {
      send.run();
    } else {
      queue.add(new Waiting(due, send));
      if (queue.size() == 1) {
        timer.after(due - now, this::release);
      }
    }
  }

  private synchronized void release() {
    long now = nanoClock.getAsLong();
    while (!queue.isEmpty() && queue.peek().dueNanos() <= now) {
      queue.remove().send().run();
    }
    if (!queue.isEmpty()) {
      timer.after(queue.peek().dueNanos() - now, this::release);
    }
  }

  /**
   * Limits bytes per second: each byte takes a token, and tokens arrive at a fixed rate.
   *
   * <p>A message may go when all of its tokens have arrived. It takes them at once, so the number
   * of tokens can be negative; the next message also waits for the missing ones. Unused tokens are
   * kept up to the bucket's size. Used by one thread at a time.
   */
  static final class TokenBucket {

    private static final double SECOND = 1e9;

    private final double bytesPerNano;
    private final double size;
    private double tokens;
    private long filledNanos;

    /**
     * Creates a full bucket.
     *
     * @param bytesPerSecond tokens that arrive in a second
     * @param size bytes that may go at once after a pause
     * @param nowNanos time of a monotonic clock
     */
    TokenBucket(double bytesPerSecond, int size, long nowNanos) {
      this.bytesPerNano = bytesPerSecond / SECOND;
      this.size = size;
      this.tokens = size;
      this.filledNanos = nowNanos;
    }

    /**
     * Takes the tokens of a message.
     *
     * @param nowNanos time of the same clock
     * @return the time at which the message may go; not before that of an earlier message
     */
    long take(int bytes, long nowNanos) {
      tokens = Math.min(size, tokens + (nowNanos - filledNanos) * bytesPerNano);
      filledNanos = nowNanos;
      tokens -= bytes;
      return tokens >= 0 ? nowNanos : nowNanos + (long) Math.ceil(-tokens / bytesPerNano);
    }
  }
}
