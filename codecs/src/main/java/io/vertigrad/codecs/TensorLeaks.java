package io.vertigrad.codecs;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds tensors that a {@link TensorMemory} or a {@link SharedTensor} lent and that nobody gave
 * back, and reports the call that lent them.
 *
 * <p>It is for debugging and for tests: {@code -Dvertigrad.leaks=true} turns it on for the life of
 * the JVM. Every loan then records a stack trace. A leak is noticed once the garbage collector has
 * found that nobody can reach the tensor, and is logged at the next loan. Any thread.
 */
public final class TensorLeaks {

  private static final Logger LOG = LoggerFactory.getLogger(TensorLeaks.class);

  private static final boolean ON = Boolean.getBoolean("vertigrad.leaks");

  /** Later leaks are logged only; the first ones show the cause. */
  private static final int MOST_KEPT = 20;

  private static final int SHOWN_CALLS = 16;

  private static final long GARBAGE_COLLECTION_MILLIS = TimeUnit.SECONDS.toMillis(10);

  private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
  private static final Set<Loan> OPEN = ConcurrentHashMap.newKeySet();
  private static final List<String> FOUND = new ArrayList<>();

  private TensorLeaks() {}

  /** One tensor that was lent and has to be given back once. */
  static final class Loan extends PhantomReference<Object> {

    private final Throwable lent;
    private volatile boolean left;

    private Loan(BorrowedTensor tensor) {
      super(tensor, UNREACHABLE);
      this.lent =
          new Throwable(
              "a tensor of %s elements was lent by thread %s"
                  .formatted(tensor.length(), Thread.currentThread().getName()));
    }

    /**
     * Ends the loan.
     *
     * @throws IllegalStateException if it has ended before
     */
    void end() {
      if (!OPEN.remove(this) && !left) {
        throw new IllegalStateException(
            "a tensor was given back twice; its memory may hold another tensor already", lent);
      }
    }

    /** Ends the loan, which may be ended again. */
    void leave() {
      left = true;
      OPEN.remove(this);
    }

    private String report() {
      return Stream.of(lent.getStackTrace())
          .limit(SHOWN_CALLS)
          .map(call -> "\n    at " + call)
          .collect(Collectors.joining("", "never given back: " + lent.getMessage(), ""));
    }
  }

  /** Records a loan. Returns null when detection is off. */
  static Loan lent(BorrowedTensor tensor) {
    if (!ON) {
      return null;
    }
    noteUnreachable();
    Loan loan = new Loan(tensor);
    OPEN.add(loan);
    return loan;
  }

  /** Fails if detection is on, because a tensor without a loan is given back. */
  static void requireOff() {
    if (ON) {
      throw new IllegalStateException(
          "a received tensor was given to a TensorMemory, expected one that a memory lent: the"
              + " transport overwrites the memory of the other");
    }
  }

  /**
   * Returns the leaks found since the last call. If a tensor is lent at this moment, it collects
   * garbage first, so that a tensor that nobody can reach any more is found now.
   *
   * @return for each leak the stack trace of the call that lent the tensor, at most 20; empty if
   *     detection is off
   */
  public static List<String> find() {
    // Two collections: all that the first one found is in the queue when the second one's mark is.
    for (int i = 0; i < 2 && !OPEN.isEmpty(); i++) {
      collectGarbage();
    }
    synchronized (FOUND) {
      List<String> found = List.copyOf(FOUND);
      FOUND.clear();
      return found;
    }
  }

  private static void collectGarbage() {
    PhantomReference<Object> mark = new PhantomReference<>(new Object(), UNREACHABLE);
    System.gc();
    try {
      long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GARBAGE_COLLECTION_MILLIS);
      while (true) {
        long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        Reference<?> next = left > 0 ? UNREACHABLE.remove(left) : null;
        if (next == null || next == mark) {
          break;
        }
        note(next);
      }
      noteUnreachable();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void noteUnreachable() {
    for (Reference<?> next = UNREACHABLE.poll(); next != null; next = UNREACHABLE.poll()) {
      note(next);
    }
  }

  private static void note(Reference<?> unreachable) {
    if (unreachable instanceof Loan loan && OPEN.remove(loan)) {
      String report = loan.report();
      LOG.error("{}", report);
      synchronized (FOUND) {
        if (FOUND.size() < MOST_KEPT) {
          FOUND.add(report);
        }
      }
    }
  }
}
