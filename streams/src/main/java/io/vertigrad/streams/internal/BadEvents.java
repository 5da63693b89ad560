package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.Event.Original;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What becomes of events that cannot be read, or that the schema refuses, and of labels that find
 * no event. Used by one thread, but for {@link #takeWarnings}.
 */
final class BadEvents implements AutoCloseable {

  private static final Pattern ORIGIN = Pattern.compile(".+@\\d{1,18}");
  private static final Pattern SAFE = Pattern.compile("[A-Za-z0-9_@%+=:,./-]+");
  private static final String TOPIC = "topic:";
  private static final int MOST_SHOWN = 1_000;

  /** The values of {@code data.onBadEvent}. */
  enum Action {
    /** Training ends with an error that has the command which leaves the event out. */
    STOP,
    /** The event is left out and counted. */
    SKIP,
    /** As well, and it is kept in a file or a topic. */
    DEAD_LETTER
  }

  /**
   * The keys of a job file.
   *
   * @param skip origins of events that are left out whatever the action is
   * @param target a file, or a topic with {@code topic:} before its name; empty unless events are
   *     kept
   */
  record Config(Action action, Set<String> skip, Optional<String> target) {

    static Config read(Settings data) {
      String choice = data.choice("onBadEvent", "stop", "stop", "skip", "deadLetter");
      Optional<String> target = data.optionalString("deadLetter");
      List<String> skip = data.textList("skip", List.of());
      boolean letters = choice.equals("deadLetter");
      if (letters && target.isEmpty()) {
        throw data.refuse(
            "deadLetter", "is missing, expected a file, or topic:NAME with the source kafka");
      }
      if (!letters && target.isPresent()) {
        throw data.refuse(
            "deadLetter",
            "is given, but onBadEvent is %s, expected onBadEvent deadLetter".formatted(choice));
      }
      for (String origin : skip) {
        if (!ORIGIN.matcher(origin).matches()) {
          throw data.refuse(
              "skip",
              "has \"%s\", expected TOPIC/PARTITION@OFFSET or FILE@LINE, as the error names it"
                  .formatted(origin));
        }
      }
      return new Config(
          letters ? Action.DEAD_LETTER : choice.equals("skip") ? Action.SKIP : Action.STOP,
          Set.copyOf(skip),
          target);
    }

    /** Finds out whether the file's folder is there, before anything begins. */
    void check(Settings data) {
      Optional<Path> folder =
          target
              .filter(name -> topic().isEmpty())
              .map(name -> Path.of(name).toAbsolutePath().getParent());
      if (folder.isPresent() && !Files.isDirectory(folder.get())) {
        throw data.refuse(
            "deadLetter",
            "is \"%s\", but there is no folder %s, expected a file in a folder that is there"
                .formatted(target.orElseThrow(), folder.get()));
      }
    }

    /** Returns the topic that keeps bad events, if it is not a file. */
    Optional<String> topic() {
      return target.filter(BadEvents::isTopic).map(name -> name.substring(TOPIC.length()));
    }
  }

  /** Returns whether a value of {@code data.deadLetter} is a topic, not a file. */
  static boolean isTopic(Object target) {
    return target instanceof String name && name.startsWith(TOPIC);
  }

  private final Config config;
  private final Optional<DeadLetters> letters;
  private final List<String> warnings = new ArrayList<>();
  private final List<Original> refused = new ArrayList<>();
  private String firstRefusal = "";
  private long left;
  private long unmatched;

  BadEvents(Config config, Optional<DeadLetters> letters) {
    this.config = config;
    this.letters = letters;
  }

  /** Keeps what cannot be trained on. Used by one thread. */
  interface DeadLetters extends AutoCloseable {

    /**
     * Keeps an event, and returns when it is kept.
     *
     * @throws DataException if that fails
     */
    void write(Original event, String reason);

    /** Returns the file or topic, for messages. */
    String name();

    @Override
    void close();
  }

  /**
   * Leaves an event out, or keeps it for {@link #refusal} if training must end.
   *
   * @param why what was found and what was expected
   * @param reported true if its sender got a failure, so that training goes on in any case
   * @param again true if it was left out before, and is passed over now
   */
  void leaveOut(Original event, String why, boolean reported, boolean again) {
    if (again) {
      return;
    }
    if (config.action() == Action.STOP && !reported && !isNamed(event.origin())) {
      if (refused.isEmpty()) {
        firstRefusal = "%s: %s".formatted(event.place(), shown(why));
      }
      refused.add(event);
      return;
    }
    letters.ifPresent(kept -> kept.write(event, why));
    left++;
    if (Long.bitCount(left) == 1) {
      warn("%s: %s; left out%s".formatted(event.place(), shown(why), soFar(left)));
    }
  }

  /** Returns whether the user has named an event; of a file, the name without folders will do. */
  private boolean isNamed(String origin) {
    return config.skip().contains(origin)
        || config.skip().stream().anyMatch(name -> origin.endsWith("/" + name));
  }

  /** Returns whether training must end. */
  boolean refuses() {
    return !refused.isEmpty();
  }

  /**
   * Returns the error that ends the training. It has the command that goes on without the events.
   *
   * @param looked number of events that were looked at after the first bad one
   */
  DataException refusal(int looked) {
    List<String> origins = refused.stream().map(Original::origin).toList();
    String more =
        origins.size() == 1
            ? ""
            : "; %s more of the next %s events of this worker are bad"
                .formatted(origins.size() - 1, looked);
    String next =
        origins.contains("")
            ? ""
            : "; to go on without %s: vertigrad resume RUN --skip %s"
                .formatted(
                    origins.size() == 1 ? "it" : "them",
                    origins.stream().map(BadEvents::quoted).collect(Collectors.joining(",")));
    return DataException.permanent(firstRefusal + more + next);
  }

  /** Keeps labels that found no event: too late, or without one. */
  void unmatched(List<Original> labels) {
    for (Original label : labels) {
      String why = "no event waits for this label: it came too late, or its event never came";
      letters.ifPresent(kept -> kept.write(label, why));
      unmatched++;
      if (Long.bitCount(unmatched) == 1) {
        warn("%s: %s%s".formatted(label.place(), why, soFar(unmatched)));
      }
    }
  }

  private String soFar(long count) {
    String kept = letters.map(each -> " to " + each.name()).orElse("");
    return kept + (count == 1 ? "" : String.format(Locale.ROOT, " (%,d so far)", count));
  }

  private static String quoted(String word) {
    return SAFE.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
  }

  private static String shown(String why) {
    return why.length() > MOST_SHOWN ? why.substring(0, MOST_SHOWN) + "..." : why;
  }

  private synchronized void warn(String message) {
    warnings.add(message);
  }

  /** Returns the messages since the last call. Any thread. */
  synchronized List<String> takeWarnings() {
    List<String> taken = List.copyOf(warnings);
    warnings.clear();
    return taken;
  }

  @Override
  public void close() {
    letters.ifPresent(DeadLetters::close);
  }
}
