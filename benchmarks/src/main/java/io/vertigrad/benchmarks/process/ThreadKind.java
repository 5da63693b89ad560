package io.vertigrad.benchmarks.process;

import java.util.List;

/** What a thread of Vertigrad works for. */
public enum ThreadKind {
  EVENT_LOOPS("eventLoops", "event loops", "vert.x-event"),
  WORKERS("workers", "workers", "worker "),
  /** The threads on which strategies without servers exchange. */
  STRATEGIES("strategies", "strategies", "strateg"),
  COMPILERS("compilers", "compilers", "C1 Comp", "C2 Comp"),
  COLLECTORS("collectors", "garbage collectors", "GC Thread", "G1 ", "ParGC"),
  OTHERS("others", "other threads");

  private final String key;
  private final String label;
  private final List<String> beginnings;

  ThreadKind(String key, String label, String... beginnings) {
    this.key = key;
    this.label = label;
    this.beginnings = List.of(beginnings);
  }

  /**
   * Returns the kind of a thread.
   *
   * @param name as Linux has it: the first 15 characters or, since Java 21, the first 7, two dots
   *     and the last 6
   */
  static ThreadKind of(String name) {
    if (name.startsWith("vert.x-..") && name.contains("ad-")) {
      return EVENT_LOOPS;
    }
    for (ThreadKind kind : values()) {
      if (kind.beginnings.stream().anyMatch(name::startsWith)) {
        return kind;
      }
    }
    return OTHERS;
  }

  /** Returns the name in JSON. */
  public String key() {
    return key;
  }

  /** Returns the name in tables. */
  public String label() {
    return label;
  }
}
