package io.vertigrad.launcher.job;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.EvaluatorConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TrainingLength;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A job file's name and the changes that the command line makes to it. */
public final class JobRequest {

  private static final String JOB = "job";
  private static final String STRATEGY = "strategy";

  /** The beginning of an error, which may be a key. */
  private static final Pattern FIRST_WORD = Pattern.compile("([a-z]\\w*\\.)*\\w+\\b");

  private final String name;
  private final List<Change> changes = new ArrayList<>();
  private final List<Change> fallbacks = new ArrayList<>();

  /** An option of the command line, as it was typed, and what it changes. */
  private record Change(String words, Assignment assignment) {

    /**
     * Returns true if an error may be about this change: it is about a key of the same section, or
     * names the changed key or its value.
     */
    boolean concerns(String error) {
      String path = assignment.path();
      String section = path.replaceFirst("\\..*", "");
      if (!isAboutAKey(error)) {
        return !JobKeys.has(section, KeyTrait.NAMED_IN_ERRORS);
      }
      return error.matches("(?s)" + Pattern.quote(section) + "\\b.*")
          || names(error, path)
          || assignment.value() instanceof String text && !text.isBlank() && names(error, text);
    }

    private static boolean isAboutAKey(String error) {
      Matcher first = FIRST_WORD.matcher(error);
      return first.lookingAt() && (first.group().indexOf('.') >= 0 || JobKeys.isKey(first.group()));
    }

    private static boolean names(String error, String word) {
      return Pattern.compile("(?<![\\w.-])" + Pattern.quote(word) + "(?![\\w-])")
          .matcher(error)
          .find();
    }
  }

  public JobRequest(String name) {
    this.name = name == null ? JobFile.DEFAULT : name;
  }

  /** Adds a {@code --set}. */
  public JobRequest set(String text) {
    changes.add(new Change("--set " + text, Assignment.parse(text)));
    return this;
  }

  /** Adds an option that sets one key; null means that the option was not given. */
  public JobRequest option(String option, String key, Object value) {
    if (value != null) {
      String words = value instanceof Boolean ? option : option + " " + value;
      changes.add(new Change(words, new Assignment(key, value)));
    }
    return this;
  }

  /**
   * Sets a key where neither an option nor the job file does.
   *
   * @param why what error messages name, such as a variable and its value
   */
  public JobRequest otherwise(String why, String key, Object value) {
    fallbacks.add(new Change(why, new Assignment(key, value)));
    return this;
  }

  /** Takes the paths of this machine from its {@linkplain MachinePath#variable variables}. */
  public JobRequest variables(Map<String, String> environment) {
    for (MachinePath each : MachinePath.values()) {
      String path = environment.getOrDefault(each.variable(), "");
      if (!path.isEmpty()) {
        otherwise(each.variable() + "=" + path, each.key(), path);
      }
    }
    return this;
  }

  /**
   * Reads the file, applies the changes and checks the result.
   *
   * @return fails with the first error, naming the file and the changes
   */
  public Future<JobConfig> read(Vertx vertx) {
    return JobFile.read(vertx, name, () -> cluster().authority())
        .map(
            file -> {
              JobConfig job = resolve(file);
              if (JobFile.isUrl(name)) {
                LocalSettings.refuseIn(file, job, this::isReplaced);
              }
              return job;
            });
  }

  /** Returns the cluster settings that the changes alone make, before there is a job file. */
  public ClusterConfig cluster() {
    JsonObject alone = new JsonObject();
    List<Change> cluster =
        Stream.concat(fallbacks.stream(), changes.stream())
            .filter(change -> change.assignment().path().startsWith("cluster."))
            .toList();
    cluster.forEach(change -> change.assignment().applyTo(alone));
    return JobConfig.read(words(cluster), alone).cluster();
  }

  /**
   * Returns an error's message without the changes that have nothing to do with it.
   *
   * @param message may begin with the file and all changes, as {@link #resolve} names the job
   */
  public String related(String message) {
    String all = " with " + words(changes) + ": ";
    int at = changes.isEmpty() ? -1 : message.indexOf(all);
    if (at < 0) {
      return message;
    }
    String error = message.substring(at + all.length());
    List<Change> some = changes.stream().filter(change -> change.concerns(error)).toList();
    String named = some.isEmpty() ? "" : " with " + words(some);
    return message.substring(0, at) + named + ": " + error;
  }

  private static String words(List<Change> changes) {
    return changes.stream().map(Change::words).collect(Collectors.joining(" "));
  }

  /**
   * Applies the changes to a job file that was read elsewhere, and checks the result.
   *
   * @throws io.vertigrad.compute.settings.SettingsException at the first error
   */
  public JobConfig resolve(JobFile file) {
    JsonObject changed = apply(file);
    JobConfig job = JobConfig.read(origin(file), changed);
    StrategyProviders.configure(job, getClass().getClassLoader());
    return job;
  }

  /** Applies the changes to a job file that was read elsewhere. Returns a copy, unchecked. */
  public JsonObject apply(JobFile file) {
    JsonObject changed = file.json().copy();
    fallbacks.stream()
        .filter(fallback -> !isSet(fallback.assignment().path(), file.json()))
        .forEach(changes::add);
    List<Assignment> assignments = changes.stream().map(Change::assignment).toList();
    if (assignments.stream().anyMatch(JobRequest::isLength)) {
      TrainingLength.keys().forEach(changed::remove);
    }
    if (assignments.stream().anyMatch(JobRequest::isInterval)
        && changed.getValue("evaluator") instanceof JsonObject evaluator) {
      EvaluatorConfig.INTERVALS.forEach(evaluator::remove);
    }
    if (assignments.stream().anyMatch(assignment -> namesAnotherStrategy(assignment, changed))) {
      changed.remove(STRATEGY);
    }
    try {
      assignments.forEach(assignment -> assignment.applyTo(changed));
    } catch (InputException noSection) {
      throw new InputException(origin(file) + ": " + noSection.getMessage(), noSection);
    }
    if (assignments.stream().noneMatch(assignment -> assignment.path().equals(JOB))) {
      JobKeys.with(KeyTrait.COMPONENT).forEach(key -> rename(key, file.json(), changed));
    }
    return changed;
  }

  private String origin(JobFile file) {
    return file.origin() + (changes.isEmpty() ? "" : " with " + words(changes));
  }

  /** Returns true if an option sets this key, or a section around it. */
  private boolean isReplaced(String path) {
    return changes.stream()
        .map(change -> change.assignment().path())
        .anyMatch(changed -> path.equals(changed) || path.startsWith(changed + "."));
  }

  private boolean isChanged(String path) {
    return changes.stream().anyMatch(change -> change.assignment().path().equals(path));
  }

  /** Returns true if an option or the job file sets this key. */
  private boolean isSet(String path, JsonObject job) {
    int dot = path.indexOf('.');
    return isChanged(path)
        || job.getValue(path.substring(0, dot)) instanceof JsonObject section
            && section.containsKey(path.substring(dot + 1));
  }

  /**
   * Renames a job after its changed parts: {@code digits-sync} trained on other data gets that
   * data's name.
   */
  private static void rename(String key, JsonObject before, JsonObject changed) {
    String section = key.substring(0, key.indexOf('.'));
    Optional<String> old = nameIn(section, before);
    Optional<String> now = nameIn(section, changed).map(JobRequest::shortName);
    if (old.isPresent() && now.isPresent() && changed.getValue(JOB) instanceof String job) {
      changed.put(
          JOB,
          Stream.of(job.split("-"))
              .map(part -> part.equals(old.get()) ? now.get() : part)
              .collect(Collectors.joining("-")));
    }
  }

  private static Optional<String> nameIn(String section, JsonObject job) {
    return job.getValue(section) instanceof JsonObject found
            && found.getValue("name") instanceof String name
        ? Optional.of(name)
        : Optional.empty();
  }

  /** Returns a plain name: a file without folder and extension, a class without package. */
  private static String shortName(String name) {
    String last = name.replaceFirst(".*[/\\\\]", "");
    String plain = Engine.isFileOfAny(last) ? last.replaceFirst("\\.[^.]*$", "") : last;
    return plain.replaceFirst(".*\\.", "").replaceAll("[^A-Za-z0-9_]", "_");
  }

  /**
   * Returns true for an option that sets the training length. It replaces the file's length: steps
   * on the command line replace epochs in the file, and the other way round.
   */
  private static boolean isLength(Assignment assignment) {
    return assignment.value() != null && TrainingLength.keys().contains(assignment.path());
  }

  /**
   * Returns true for an option that names another strategy than the file. The file's options belong
   * to its own strategy, so they do not apply.
   */
  private static boolean namesAnotherStrategy(Assignment assignment, JsonObject job) {
    return assignment.path().equals(STRATEGY + ".name")
        && !nameIn(STRATEGY, job).equals(Optional.ofNullable(assignment.value()));
  }

  /**
   * Returns true for an option that sets how often the model is tested; it replaces the file's
   * setting.
   */
  private static boolean isInterval(Assignment assignment) {
    return assignment.value() != null
        && EvaluatorConfig.INTERVALS.stream()
            .anyMatch(key -> assignment.path().equals("evaluator." + key));
  }
}
