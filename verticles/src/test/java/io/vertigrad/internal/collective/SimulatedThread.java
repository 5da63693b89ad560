package io.vertigrad.internal.collective;

import java.util.concurrent.Semaphore;

/**
 * A thread that runs only while it has the turn. The caller that gives turns decides the order of
 * all threads.
 */
final class SimulatedThread {

  private static final long STACK_BYTES = 256 << 10;

  private final Thread thread;
  private final Semaphore turn = new Semaphore(0);
  private final Semaphore returned = new Semaphore(0);
  private boolean done;
  private Throwable failure;

  SimulatedThread(String name, Runnable body) {
    thread = new Thread(null, () -> live(body), name, STACK_BYTES);
    thread.setDaemon(true);
  }

  void launch() {
    thread.start();
  }

  /** Gives the thread the turn; returns when the thread gives it back or has ended. */
  void resume() {
    turn.release();
    returned.acquireUninterruptibly();
  }

  /** Gives the turn back; returns when the thread has it again. Called by the thread itself. */
  void pause() {
    returned.release();
    try {
      turn.acquire();
    } catch (InterruptedException e) {
      throw new SimulationOver();
    }
  }

  /** Ends the thread while it waits for its turn. */
  void interrupt() {
    thread.interrupt();
  }

  boolean done() {
    return done;
  }

  void rethrow() {
    if (failure != null) {
      throw new AssertionError(thread.getName() + " failed: " + failure, failure);
    }
  }

  private void live(Runnable body) {
    try {
      turn.acquireUninterruptibly();
      body.run();
    } catch (SimulationOver over) {
      return;
    } catch (Throwable e) {
      failure = e;
    }
    done = true;
    returned.release();
  }

  private static final class SimulationOver extends Error {
    private static final long serialVersionUID = 1L;
  }
}
