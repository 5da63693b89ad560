package io.vertigrad.internal.transport;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the thread that waits for answers receive them itself from the memory that it shares with
 * their senders, so that no event loop has to pass them on and wake it.
 *
 * <p>Belongs to that thread, except {@link #wake}. Answers that come on other ways are passed on as
 * usual.
 */
public final class AnswerReceiver implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(AnswerReceiver.class);
  private static final int MOST_NOT_WOKEN = 3;
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final Set<Stream> streams = new CopyOnWriteArraySet<>();
  private final List<Stream> receiving = new ArrayList<>();
  private final Doorbell.Opener opener;
  private Doorbell doorbell;
  private volatile Selector selector;
  private volatile Thread waiting;
  private boolean tried;

  /** Number of messages since the doorbell rang that came without it. */
  private int notWoken;

  AnswerReceiver() {
    this(Doorbell::new);
  }

  AnswerReceiver(Doorbell.Opener opener) {
    this.opener = opener;
  }

  /** Adds a stream whose answers the thread waits for; any thread. */
  void follow(Stream stream) {
    streams.add(stream);
  }

  /** From now on this thread receives what comes through shared memory, when it waits. */
  public void begin() {
    for (Stream stream : streams) {
      if (stream.isClosed()) {
        streams.remove(stream);
      } else if (stream.isLocal()
          && !isUnreachable()
          && isOpen()
          && stream.takeOver(doorbell.port())) {
        receiving.add(stream);
      }
    }
  }

  /** Lets the event loops receive again. */
  public void end() {
    receiving.forEach(Stream::handBack);
    receiving.clear();
  }

  /** Returns whether there is anything to receive here. */
  public boolean isReceiving() {
    return !receiving.isEmpty();
  }

  /**
   * Receives what has come. If there is nothing to go on with, waits for more, at most this long.
   *
   * @param done returns true if there is something to go on with
   */
  public void await(BooleanSupplier done, long nanos) {
    Selector at = selector;
    waiting = Thread.currentThread();
    try {
      receive();
      if (done.getAsBoolean()) {
        return;
      }
      long begun = System.nanoTime();
      at.select(Math.max(1, nanos / NANOS_PER_MILLI));
      at.selectedKeys().clear();
      boolean rung = doorbell.clear();
      boolean late = System.nanoTime() - begun >= nanos;
      boolean received = receive();
      if (rung) {
        notWoken = 0;
      } else if (late && received) {
        notWoken++;
      }
    } catch (IOException broken) {
      notWoken = MOST_NOT_WOKEN;
    } finally {
      waiting = null;
    }
    if (isUnreachable()) {
      LOG.info(
          "no wake-ups over UDP on this host's loopback interface: event loops pass answers on");
      close();
    }
  }

  /** Datagrams may be filtered here: none comes, though messages do. */
  private boolean isUnreachable() {
    return notWoken >= MOST_NOT_WOKEN;
  }

  private boolean receive() {
    boolean any = false;
    for (Stream stream : receiving) {
      any |= stream.receiveHere();
    }
    return any;
  }

  /** Ends a wait; any thread. */
  public void wake() {
    Thread waits = waiting;
    if (waits != null && waits != Thread.currentThread()) {
      selector.wakeup();
    }
  }

  private boolean isOpen() {
    try {
      if (doorbell != null) {
        tried |= doorbell.clear();
        return tried;
      }
      Selector opened = Selector.open();
      try {
        doorbell = opener.open();
        doorbell.channel().register(opened, SelectionKey.OP_READ);
        selector = opened;
        tried = doorbell.clear();
        return tried;
      } finally {
        if (selector != opened) {
          opened.close();
        }
      }
    } catch (IOException none) {
      LOG.debug("no port to wait at", none);
      notWoken = MOST_NOT_WOKEN;
      return false;
    }
  }

  /** Releases the port; it may begin again. */
  @Override
  public void close() {
    end();
    Doorbell open = doorbell;
    doorbell = null;
    if (open != null) {
      try {
        selector.close();
        open.close();
      } catch (IOException harmless) {
        LOG.debug("closing", harmless);
      }
    }
  }
}
