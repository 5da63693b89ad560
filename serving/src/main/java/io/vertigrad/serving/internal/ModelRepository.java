package io.vertigrad.serving.internal;

import io.vertigrad.serving.internal.ModelSource.Candidate;
import io.vertigrad.serving.internal.ModelSource.Found;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The models that a server answers with, by name and version. A request leases one version: it is
 * decoded, computed and answered with that one, also when another takes over meanwhile. A version
 * that was replaced is closed after its last request.
 *
 * <p>Any thread may use it. One thread of its own looks for better models, loads and closes them.
 */
public final class ModelRepository {

  private static final Logger LOG = LoggerFactory.getLogger(ModelRepository.class);

  /** How often sources are looked at; a file must be the same twice before it is loaded. */
  private static final long LOOK_MILLIS = 1_000;

  private static final long LOAD_SECONDS = 300;
  private static final long CLOSE_SECONDS = 30;

  /** How long a request may go on with a version that was replaced. */
  private static final long DRAIN_SECONDS = 600;

  /** Most calls that load or unload, and wait for each other. */
  private static final int MOST_CALLS = 16;

  private static final int MOST_NAMES = 20;
  private static final int MOST_SHOWN = 200;

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyyMMddHHmmss", Locale.ROOT).withZone(ZoneOffset.UTC);

  private final List<ModelSource> sources;
  private final Consumer<String> notices;
  private final Opening opening;
  private final long lookMillis;
  private final Optional<ScheduledExecutorService> loader;
  private final AtomicInteger calls = new AtomicInteger();

  /** What a source offers by one name. Changed by the loader's thread only. */
  private volatile List<Offer> offers = List.of();

  /** The versions that answer, by name; the first one answers where no version is asked for. */
  private volatile Map<String, Named> models = Map.of();

  /** What is not closed yet, replaced versions included. */
  private final Set<Loaded> open = ConcurrentHashMap.newKeySet();

  /** Problems of sources that were reported, by the source's text. Only the loader's thread. */
  private final Map<String, String> problems = new LinkedHashMap<>();

  /** Why models are looked at. */
  private enum Cause {
    START,
    CHANGE,
    CALL
  }

  /** The versions of one name, and why the first one answers; empty if it is the only one. */
  private record Named(List<Loaded> versions, String reason) {}

  /** The models that a source has by one name, of which one is loaded. */
  private static final class Offer {

    final ModelSource source;
    final String name;
    volatile Loaded loaded;
    volatile boolean loading;
    volatile boolean unloaded;
    volatile String problem = "";

    /** What was found at the last look, and is loaded if it is the same at the next. */
    private Found seen;

    /** What was loaded last, and as which version. */
    private Found numbered;

    private long number = -1;

    /** Files that could not be loaded, as they were then. */
    private List<Found> failed = List.of();

    Offer(ModelSource source, String name) {
      this.source = source;
      this.name = name;
    }

    boolean hasFailed(Found found) {
      return failed.stream().anyMatch(found::isUnchanged);
    }
  }

  /** A predictor that answers, with the requests that use it. */
  private final class Loaded {

    final Predictor predictor;
    final Optional<Found> found;
    final String reason;
    final Instant since = Instant.now();
    private final AtomicBoolean closed = new AtomicBoolean();
    private int leases;
    private boolean retired;

    Loaded(Predictor predictor, Optional<Found> found, String reason) {
      this.predictor = predictor;
      this.found = found;
      this.reason = reason;
      open.add(this);
    }

    synchronized boolean lease() {
      if (!retired) {
        leases++;
      }
      return !retired;
    }

    void release() {
      boolean last;
      synchronized (this) {
        leases--;
        last = retired && leases == 0;
      }
      if (last) {
        onLoader(this::close, 0);
      }
    }

    /** Accepts no further requests, and closes the predictor after the last one. */
    void retire() {
      boolean idle;
      synchronized (this) {
        retired = true;
        idle = leases == 0;
      }
      onLoader(this::close, idle ? 0 : DRAIN_SECONDS);
    }

    /** Closes the predictor. Blocks. */
    void close() {
      if (closed.compareAndSet(false, true)) {
        predictor.close();
        open.remove(this);
      }
    }
  }

  /** A version of a model that one request uses. */
  public static final class Lease {

    private final String name;
    private final Loaded loaded;
    private final Named named;
    private final AtomicBoolean released = new AtomicBoolean();

    private Lease(String name, Loaded loaded, Named named) {
      this.name = name;
      this.loaded = loaded;
      this.named = named;
    }

    /** Returns what answers. */
    public Predictor predictor() {
      return loaded.predictor;
    }

    /**
     * Checks that the version that a request asks for is the one that it has now: the predictor of
     * a running job goes on to newer ones.
     *
     * @param version empty for any
     * @throws Refusal if it is another one
     */
    public void requireVersion(OptionalLong version) {
      long served = loaded.predictor.version();
      if (version.isPresent() && version.getAsLong() != served) {
        throw new Refusal(
            Code.UNKNOWN,
            "model \"%s\": version %s is not served, expected %s"
                .formatted(name, version.getAsLong(), served));
      }
    }

    /** Returns the versions of this name that answer; the first one where none is asked for. */
    public List<Long> versions() {
      return named.versions().stream()
          .map(version -> version.predictor.version())
          .filter(version -> version >= 0)
          .toList();
    }

    /** Returns what is known of the model's file: run, test and reason; empty without a file. */
    public JsonObject description() {
      JsonObject description = new JsonObject();
      loaded.found.ifPresent(
          found -> {
            boolean first = named.versions().get(0) == loaded && !named.reason().isEmpty();
            description
                .put("run", found.candidate().origin())
                .put("reason", first ? named.reason() : loaded.reason)
                .put("loaded", loaded.since.toString());
            found
                .candidate()
                .test()
                .ifPresent(
                    test ->
                        description
                            .put("test_loss", test.loss())
                            .put("test_samples", test.samples()));
          });
      return description;
    }

    /** Ends the request's use; a second call does nothing. */
    public void release() {
      if (released.compareAndSet(false, true)) {
        loaded.release();
      }
    }
  }

  /** Opens a model's file. */
  @FunctionalInterface
  interface Opening {

    /**
     * Opens a model on the calling thread.
     *
     * @param version as which it answers
     */
    ServedModel open(Candidate candidate, long version);
  }

  private ModelRepository(
      List<ModelSource> sources,
      Consumer<String> notices,
      Opening opening,
      long lookMillis,
      Optional<ScheduledExecutorService> loader) {
    this.sources = sources;
    this.notices = notices;
    this.opening = opening;
    this.lookMillis = lookMillis;
    this.loader = loader;
  }

  /** Returns a repository of one model, which its owner closes. */
  static ModelRepository of(Predictor predictor) {
    ModelRepository repository =
        new ModelRepository(
            List.of(),
            line -> {},
            (candidate, version) -> {
              throw new IllegalStateException("this repository has no files");
            },
            LOOK_MILLIS,
            Optional.empty());
    Loaded only = repository.new Loaded(predictor, Optional.empty(), "");
    repository.models = Map.of(predictor.job(), new Named(List.of(only), ""));
    return repository;
  }

  /**
   * Returns a repository that holds nothing until it is {@link #open}.
   *
   * @param notices takes a line for each model that begins to answer or cannot be loaded
   */
  static ModelRepository of(List<ModelSource> sources, Consumer<String> notices) {
    return of(
        sources,
        notices,
        (candidate, version) -> HeldModel.open(candidate.job(), candidate.file(), version),
        LOOK_MILLIS);
  }

  /** Returns such a repository, which opens files in its own way. */
  static ModelRepository of(
      List<ModelSource> sources, Consumer<String> notices, Opening opening, long lookMillis) {
    return new ModelRepository(
        List.copyOf(sources),
        notices,
        opening,
        lookMillis,
        Optional.of(
            Executors.newSingleThreadScheduledExecutor(
                work -> {
                  Thread thread = new Thread(work, "models");
                  thread.setDaemon(true);
                  return thread;
                })));
  }

  /**
   * Loads the models, and begins to look for better ones.
   *
   * @return fails with a line for each source of which nothing can be loaded; of a folder, a model
   *     that can be loaded suffices
   */
  CompletableFuture<Void> open() {
    return CompletableFuture.runAsync(this::start, loader.orElseThrow());
  }

  private void start() {
    List<String> failures = new ArrayList<>();
    for (ModelSource source : sources) {
      try {
        // All names first: how versions are numbered depends on how many share a name.
        source.find().get().forEach(candidate -> offer(source, candidate.name()));
      } catch (RuntimeException why) {
        LOG.debug("{} is reported below", source.text(), why);
      }
    }
    for (ModelSource source : sources) {
      try {
        refresh(source, Cause.START);
        if (offers.stream().noneMatch(offer -> offer.source == source && offer.loaded != null)) {
          failures.add(
              "%s: has no model that can be served, expected a run that is over"
                  .formatted(source.text()));
        }
      } catch (RuntimeException why) {
        failures.add(message(why));
      }
    }
    if (!failures.isEmpty()) {
      throw new IllegalArgumentException(String.join(System.lineSeparator(), failures));
    }
    loader
        .orElseThrow()
        .scheduleWithFixedDelay(this::look, lookMillis, lookMillis, TimeUnit.MILLISECONDS);
  }

  private void look() {
    for (ModelSource source : sources) {
      try {
        refresh(source, Cause.CHANGE);
        problems.remove(source.text());
      } catch (RuntimeException | Error why) {
        // Otherwise the executor would silently look no more.
        String problem = message(why);
        if (!problem.equals(problems.put(source.text(), problem))) {
          notices.accept(problem);
        }
      }
    }
  }

  private void refresh(ModelSource source, Cause cause) {
    Map<String, List<Candidate>> byName = new LinkedHashMap<>();
    for (Candidate candidate : source.find().get()) {
      byName.computeIfAbsent(candidate.name(), name -> new ArrayList<>()).add(candidate);
    }
    byName.forEach(
        (name, candidates) -> {
          Offer offer = offer(source, name);
          if (!offer.unloaded) {
            refresh(
                offer,
                candidates.stream().flatMap(each -> Found.find(each).stream()).toList(),
                cause);
          }
        });
  }

  private Offer offer(ModelSource source, String name) {
    return offers.stream()
        .filter(offer -> offer.source == source && offer.name.equals(name))
        .findFirst()
        .orElseGet(
            () -> {
              Offer fresh = new Offer(source, name);
              List<Offer> all = new ArrayList<>(offers);
              all.add(fresh);
              offers = List.copyOf(all);
              return fresh;
            });
  }

  /** Loads the best of these files, if it is not loaded already. */
  private void refresh(Offer offer, List<Found> all, Cause cause) {
    offer.failed =
        offer.failed.stream().filter(bad -> all.stream().anyMatch(bad::isUnchanged)).toList();
    List<Found> usable = new ArrayList<>(all);
    usable.removeIf(offer::hasFailed);
    while (!usable.isEmpty()) {
      ModelChoice choice = ModelChoice.among(usable);
      Found found = choice.found();
      Optional<Found> now = Optional.ofNullable(offer.loaded).flatMap(loaded -> loaded.found);
      if (now.filter(found::isUnchanged).isPresent()
          || cause == Cause.CHANGE && now.isPresent() && isKept(offer, now.get(), found, all)) {
        return;
      }
      boolean settled = offer.seen != null && offer.seen.isUnchanged(found);
      if (cause == Cause.CHANGE && !settled) {
        offer.seen = found;
        return;
      }
      try {
        replace(offer, choice);
        return;
      } catch (RuntimeException why) {
        remember(offer, found, message(why));
        if (!offer.source.folder() && cause != Cause.CHANGE) {
          throw why;
        }
        announce(offer, found);
        usable.remove(found);
      }
    }
  }

  /**
   * Returns whether what is loaded goes on answering, though its file has changed: while its run is
   * being saved, and if what would replace it has a higher loss.
   */
  private boolean isKept(Offer offer, Found now, Found found, List<Found> all) {
    boolean offered = all.stream().anyMatch(now::isSameFile);
    if (!offered || !found.isWorseThan(now)) {
      return !offered && Files.exists(now.candidate().file());
    }
    boolean noticed = offer.seen != null && offer.seen.isUnchanged(found);
    if (now.isSameFile(found) && !noticed) {
      offer.seen = found;
      notices.accept(
          "%s: version %s goes on answering: %s was written anew with %s, which is more than %s; load it by a call if you want it"
              .formatted(
                  offer.name,
                  offer.loaded.predictor.version(),
                  found.candidate().origin(),
                  ModelChoice.text(found),
                  ModelChoice.text(now)));
    }
    return true;
  }

  /** Remembers a file that cannot be loaded, until it changes or a call asks for it. */
  private static void remember(Offer offer, Found found, String why) {
    List<Found> failed = new ArrayList<>(offer.failed);
    failed.add(found);
    offer.failed = List.copyOf(failed);
    offer.problem = why;
  }

  private void announce(Offer offer, Found found) {
    notices.accept(
        "%s: %s cannot be loaded%s: %s"
            .formatted(
                offer.name,
                found.candidate().origin(),
                offer.loaded == null ? "" : ", what was loaded before goes on answering",
                offer.problem));
  }

  private void replace(Offer offer, ModelChoice choice) {
    Loaded before = offer.loaded;
    offer.loading = true;
    Loaded next;
    try {
      next = load(choice, version(offer, choice.found()));
    } finally {
      offer.loading = false;
    }
    offer.loaded = next;
    offer.numbered = choice.found();
    offer.number = next.predictor.version();
    offer.problem = "";
    publish();
    notices.accept(
        "%s: version %s from %s answers%s: %s"
            .formatted(
                offer.name,
                next.predictor.version(),
                choice.found().candidate().origin(),
                before == null ? "" : " instead of " + before.predictor.version(),
                choice.reason()));
    if (before != null) {
      before.retire();
    }
  }

  /**
   * Returns a version's number. Where a name has one run or file, that of its training, or a higher
   * one when the file is written anew. Otherwise the time at which the file was written, such as
   * 20261130093455 in UTC, so that all servers of the same runs have the same.
   */
  private long version(Offer offer, Found found) {
    if (offer.numbered != null && offer.numbered.isUnchanged(found)) {
      return offer.number;
    }
    List<Long> taken =
        offers.stream()
            .filter(other -> other.name.equals(offer.name))
            .map(other -> other.number)
            .toList();
    boolean several =
        offer.source.folder()
            || offers.stream().anyMatch(other -> other != offer && other.name.equals(offer.name));
    long version =
        several
            ? Long.parseLong(TIME.format(Instant.ofEpochMilli(found.millis())))
            : HeldModel.trainedVersion(found.candidate().file());
    version = several ? version : Math.max(version, offer.number + 1);
    while (taken.contains(version)) {
      version++;
    }
    return version;
  }

  private Loaded load(ModelChoice choice, long version) {
    Candidate candidate = choice.found().candidate();
    Predictor predictor =
        Predictor.holding(
            candidate.job().serving(),
            candidate.name(),
            candidate.name(),
            event -> {},
            () -> opening.open(candidate, version));
    try {
      predictor.opened().get(LOAD_SECONDS, TimeUnit.SECONDS);
      predictor.ready().get(LOAD_SECONDS, TimeUnit.SECONDS);
      if (Found.find(candidate).filter(choice.found()::isUnchanged).isEmpty()) {
        throw new IllegalStateException("the file was changed while it was read");
      }
      return new Loaded(predictor, Optional.of(choice.found()), choice.reason());
    } catch (ExecutionException failed) {
      predictor.close();
      throw new IllegalArgumentException(message(failed.getCause()), failed.getCause());
    } catch (TimeoutException late) {
      predictor.close();
      throw new IllegalStateException("was not loaded within %s s".formatted(LOAD_SECONDS), late);
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
      predictor.close();
      throw new IllegalStateException("the server is being stopped", ended);
    } catch (RuntimeException why) {
      predictor.close();
      throw why;
    }
  }

  /** Makes what is loaded visible to requests. */
  private void publish() {
    Map<String, List<Loaded>> byName = new LinkedHashMap<>();
    for (Offer offer : offers) {
      if (offer.loaded != null) {
        byName.computeIfAbsent(offer.name, name -> new ArrayList<>()).add(offer.loaded);
      }
    }
    Map<String, Named> next = new LinkedHashMap<>();
    byName.forEach((name, versions) -> next.put(name, named(versions)));
    models = next;
  }

  private Named named(List<Loaded> versions) {
    if (versions.size() == 1) {
      return new Named(List.copyOf(versions), "");
    }
    ModelChoice choice =
        ModelChoice.among(versions.stream().map(version -> version.found.orElseThrow()).toList());
    List<Loaded> sorted = new ArrayList<>(versions);
    sorted.sort(
        (one, other) ->
            Boolean.compare(
                other.found.orElseThrow() == choice.found(),
                one.found.orElseThrow() == choice.found()));
    return new Named(List.copyOf(sorted), choice.reason());
  }

  /**
   * Leases a model for a request, which must release it.
   *
   * @param name of the model, as the request has it
   * @param version the only version that may answer; empty for the one that was chosen
   * @throws Refusal if there is no such model or version, naming those there are, or if it is not
   *     loaded
   */
  public Lease lease(String name, OptionalLong version) {
    while (true) {
      Named named = models.get(name);
      if (named == null) {
        throw missing(name);
      }
      Loaded loaded = version.isEmpty() ? named.versions().get(0) : find(name, named, version);
      if (loaded.lease()) {
        return new Lease(name, loaded, named);
      }
    }
  }

  /** Finds a version; where there is only one, its predictor decides, for it may change. */
  private static Loaded find(String name, Named named, OptionalLong version) {
    if (named.versions().size() == 1) {
      return named.versions().get(0);
    }
    return named.versions().stream()
        .filter(loaded -> loaded.predictor.version() == version.getAsLong())
        .findFirst()
        .orElseThrow(
            () ->
                new Refusal(
                    Code.UNKNOWN,
                    "model \"%s\": version %s is not served, expected %s, or none"
                        .formatted(
                            name,
                            version.getAsLong(),
                            named.versions().stream()
                                .map(loaded -> String.valueOf(loaded.predictor.version()))
                                .collect(Collectors.joining(" or ")))));
  }

  private Refusal missing(String name) {
    return offers.stream()
        .filter(offer -> offer.name.equals(name))
        .findFirst()
        .map(
            offer ->
                new Refusal(
                    Code.NOT_READY,
                    "model \"%s\" is not loaded: %s".formatted(name, state(offer).reason())))
        .orElseGet(() -> unknown(name));
  }

  private Refusal unknown(String name) {
    List<String> names = names();
    String expected =
        names.stream().limit(MOST_NAMES).map("\"%s\""::formatted).collect(Collectors.joining(", "));
    return new Refusal(
        Code.UNKNOWN,
        "model \"%s\" is not served here, expected %s%s%s"
            .formatted(
                SampleFormat.cut(name, MOST_SHOWN),
                names.size() > 1 ? "one of " : "",
                expected,
                names.size() > MOST_NAMES
                    ? " and %s more".formatted(names.size() - MOST_NAMES)
                    : ""));
  }

  /** Returns the names of all models, also of those that are not loaded. */
  public List<String> names() {
    return loader.isEmpty()
        ? List.copyOf(models.keySet())
        : offers.stream().map(offer -> offer.name).distinct().toList();
  }

  /** Returns whether every loaded model can answer. */
  public boolean isReady() {
    return models.values().stream()
        .flatMap(named -> named.versions().stream())
        .allMatch(loaded -> loaded.predictor.isReady());
  }

  /** Returns whether a loaded model continues texts. */
  public boolean continuesTexts() {
    return models.values().stream()
        .flatMap(named -> named.versions().stream())
        .anyMatch(loaded -> loaded.predictor.format().tokenizer().isPresent());
  }

  /** Returns whether models can be loaded and unloaded by calls. */
  public boolean isManaged() {
    return loader.isPresent();
  }

  /** Counts a refusal that came before a model was found, if there is only one. */
  Refusal refused(Refusal why) {
    return models.size() == 1
        ? models.values().iterator().next().versions().get(0).predictor.refused(why)
        : why;
  }

  /** A model's state, as the index has it. */
  private record State(String name, String reason) {}

  private static State state(Offer offer) {
    Loaded loaded = offer.loaded;
    if (loaded != null) {
      return new State(
          "READY",
          offer.problem.isEmpty() ? loaded.reason : loaded.reason + "; newer: " + offer.problem);
    }
    if (offer.loading) {
      return new State("LOADING", "is being loaded");
    }
    return new State("UNAVAILABLE", offer.unloaded ? "unloaded by a call" : offer.problem);
  }

  /**
   * Lists the models of all sources.
   *
   * @param ready lists only those that answer
   * @return an object with {@code name}, {@code version} if it is loaded, {@code state} and {@code
   *     reason} for each
   */
  public JsonArray index(boolean ready) {
    JsonArray index = new JsonArray();
    for (Offer offer : offers) {
      Loaded loaded = offer.loaded;
      if (loaded == null && ready) {
        continue;
      }
      State state = state(offer);
      JsonObject entry = new JsonObject().put("name", offer.name);
      if (loaded != null) {
        entry.put("version", String.valueOf(loaded.predictor.version()));
      }
      index.add(entry.put("state", state.name()).put("reason", state.reason()));
    }
    return index;
  }

  /**
   * Loads a model, or loads it anew if its file has changed, also if its loss is higher.
   *
   * @return fails with a {@link Refusal} if there is no such model, or if it cannot be loaded
   */
  public CompletableFuture<Void> load(String name) {
    return call(
        name,
        of -> {
          for (Offer offer : of) {
            offer.unloaded = false;
            offer.failed = List.of();
          }
          for (ModelSource source : of.stream().map(offer -> offer.source).distinct().toList()) {
            refresh(source, Cause.CALL);
          }
          for (Offer offer : of) {
            if (offer.loaded == null) {
              throw Refusal.invalid(
                  "model \"%s\" cannot be loaded: %s",
                  name, offer.problem.isEmpty() ? "its file is not there any more" : offer.problem);
            }
          }
        });
  }

  /**
   * Unloads all versions of a model. Requests that have begun are answered.
   *
   * @return completes when no further request gets it; fails with a {@link Refusal} if there is no
   *     such model
   */
  public CompletableFuture<Void> unload(String name) {
    return call(
        name,
        of -> {
          List<Loaded> before = new ArrayList<>();
          for (Offer offer : of) {
            offer.unloaded = true;
            if (offer.loaded != null) {
              before.add(offer.loaded);
              offer.loaded = null;
            }
          }
          publish();
          before.forEach(Loaded::retire);
          notices.accept("%s: unloaded by a call".formatted(name));
        });
  }

  private CompletableFuture<Void> call(String name, Consumer<List<Offer>> work) {
    List<Offer> of = offers.stream().filter(offer -> offer.name.equals(name)).toList();
    if (of.isEmpty()) {
      return CompletableFuture.failedFuture(unknown(name));
    }
    if (calls.incrementAndGet() > MOST_CALLS) {
      calls.decrementAndGet();
      return CompletableFuture.failedFuture(
          new Refusal(
              Code.OVERLOADED,
              "%s calls wait to load or unload models already; try again later"
                  .formatted(MOST_CALLS)));
    }
    return CompletableFuture.runAsync(() -> answered(name, of, work), loader.orElseThrow())
        .whenComplete((done, why) -> calls.decrementAndGet());
  }

  private static void answered(String name, List<Offer> of, Consumer<List<Offer>> work) {
    try {
      work.accept(of);
    } catch (Refusal why) {
      throw why;
    } catch (RuntimeException why) {
      throw Refusal.invalid("model \"%s\" cannot be loaded: %s", name, message(why));
    }
  }

  /** Runs work on the loader's thread; after the end nothing is left to do. */
  private void onLoader(Runnable work, long delaySeconds) {
    try {
      loader.orElseThrow().schedule(work, delaySeconds, TimeUnit.SECONDS);
    } catch (RejectedExecutionException ended) {
      LOG.debug("the server has ended", ended);
    }
  }

  /** Closes the models that it has loaded. Blocks. */
  void close() {
    if (loader.isEmpty()) {
      return;
    }
    loader.get().shutdownNow();
    try {
      if (!loader.get().awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("a model was still being loaded when its server ended");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    List.copyOf(open).forEach(Loaded::close);
  }

  private static String message(Throwable why) {
    return why.getMessage() == null ? why.toString() : why.getMessage();
  }
}
