package io.vertigrad.dashboard;

import io.vertigrad.compute.Divergence;
import io.vertigrad.compute.data.Baseline;
import io.vertigrad.dashboard.RunFigures.Host;
import io.vertigrad.dashboard.RunFigures.Test;
import io.vertigrad.dashboard.RunFigures.Worker;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/**
 * The rules that judge a run, the most important first. Each is a function of the figures alone. It
 * advises only what this project has measured or a paper has shown; {@code docs/guide/advice.md}
 * names the source of each.
 */
enum AdviceRule {
  /** The loss is not finite, or well above its first values. */
  DIVERGES("diverges", AdviceRule::diverges),
  /** The final model is no better than a constant answer. */
  GUESSES("guesses", AdviceRule::guesses),
  /** The loss stays where a model is that only guesses. */
  LEARNS_NOTHING("learnsNothing", AdviceRule::learnsNothing),
  /** The test loss rises while the training loss falls. */
  OVERFITS("overfits", AdviceRule::overfits),
  /** The others wait for one worker in every round. */
  SLOW_WORKER("slowWorker", AdviceRule::slowWorker),
  /** More workers than processors. */
  TOO_MANY_WORKERS("tooManyWorkers", AdviceRule::tooManyWorkers),
  /** Every worker exchanges most of the time. */
  EXCHANGES("exchanges", AdviceRule::exchanges),
  /** Gradients are many updates old. */
  STALE("stale", AdviceRule::stale),
  /** The training loss does not fall any more. */
  LEVEL("level", AdviceRule::level),
  /** The training loss falls. */
  FALLS("falls", AdviceRule::falls);

  /** A model that learns is better than guessing by at least this share of the loss. */
  static final double BETTER = 0.02;

  /** How many points of the training loss the rules on its course need. */
  static final int POINTS = 30;

  /** Their number at the end of a run, which may be short. */
  static final int POINTS_AT_END = 20;

  /** The share of the points, the last ones, whose trend counts. */
  static final double LAST_PART = 0.4;

  /** A fall of the training loss that is worth mentioning, as a share of its mean. */
  static final double NOTICEABLE = 0.05;

  /** A training loss that rises by this share of its mean needs a lower rate from the start. */
  static final double FAR = 0.5;

  /** Tests are compared by the means of so many in sequence, because one scatters. */
  static final int STRIP = 5;

  /** The test loss has risen when it is above its least mean by this factor. */
  static final double DRIFT = 1.1;

  /** A worker is slow when a sample takes it this many times as long as the others. */
  static final double SLOW = 2;

  /** The share of the time that is most of it. */
  static final double MOST_TIME = 0.5;

  /** A machine is busy when its processors are busy for this share of the time. */
  static final double BUSY = 0.8;

  /** How long the workers must have been watched, in seconds, before their time is judged. */
  static final double WATCHED_SECONDS = 10;

  /** A model with fewer parameters gained nothing from compression in our measurements. */
  static final long LARGE_MODEL = 100_000;

  /** A mean staleness from which an undivided rate diverged in our measurements, with a margin. */
  static final double OLD = 6;

  private static final int FIRST_POINTS = 3;
  private static final int LAST_POINTS = 5;
  private static final String RATE = "optimizer.learningRate";
  private static final Pattern KEYS = Pattern.compile("\\b(" + RATE + "|workers\\.count)\\b");

  private final String key;
  private final Function<RunFigures, Optional<Advice>> rule;

  AdviceRule(String key, Function<RunFigures, Optional<Advice>> rule) {
    this.key = key;
    this.rule = rule;
  }

  /** Returns the rule's name in messages. */
  String key() {
    return key;
  }

  /** Returns what the rule says about a run; empty when it does not apply. */
  Optional<Advice> judge(RunFigures run) {
    return rule.apply(run);
  }

  private static Optional<Advice> diverges(RunFigures run) {
    String verb = run.ended() ? "The training diverged" : "The training diverges";
    if (run.summary().containsKey("testSamples")) {
      return run.summary().getValue("diverged") instanceof JsonObject losses
          ? advice(verb + ": " + rise(run, losses) + ".", lowerRate(run))
          : Optional.empty();
    }
    if (!run.lossIsFinite()) {
      return advice(verb + ": the loss is not a finite number.", lowerRate(run));
    }
    if (run.losses().length < FIRST_POINTS + LAST_POINTS) {
      return Optional.empty();
    }
    double first = firstLoss(run);
    double last = lastLoss(run);
    boolean judged = !isStream(run) && (!startsTrained(run) || run.trend(1).rises());
    double model = judged ? leastOfLast(run) : first;
    if (Divergence.isShownBy(first, Double.NaN, last, model, 0)) {
      String found = verb + ": the training loss is %s, and was %s at first.";
      return advice(found.formatted(loss(last), loss(first)), lowerRate(run));
    }
    if (Divergence.isShownBy(first, Double.NaN, last, model, run.refused())) {
      String found = verb + ": %,d updates were refused, and the training loss is %s.";
      return advice(format(found, run.refused(), loss(last)), lowerRate(run));
    }
    return Optional.empty();
  }

  private static String rise(RunFigures run, JsonObject losses) {
    return Divergence.rise(
        losses.getDouble("initialLoss", Double.NaN),
        losses.getDouble("worstLoss", Double.NaN),
        run.summary().getDouble("loss", Double.NaN));
  }

  private static String lowerRate(RunFigures run) {
    return marked(Divergence.remedy(run.config(), run.workers().size()));
  }

  /** Returns a sentence with its keys in backticks, and its full stop. */
  private static String marked(String sentence) {
    return KEYS.matcher(sentence).replaceAll("`$1`") + ".";
  }

  private static Optional<Advice> guesses(RunFigures run) {
    if (diverges(run).isPresent()) {
      return Optional.empty();
    }
    return Baseline.unbeatenIn(run.summary())
        .flatMap(
            constant ->
                advice(
                    "The model is no better than guessing: %s."
                        .formatted(constant.found(run.summary())),
                    marked(Baseline.remedy(run.config()))));
  }

  private static Optional<Advice> learnsNothing(RunFigures run) {
    if (tooShort(run) || isStream(run) || guesses(run).isPresent()) {
      return Optional.empty();
    }
    double initial = startsTrained(run) ? Double.POSITIVE_INFINITY : initialLoss(run);
    double guessing = Math.min(guessingLoss(run), initial);
    double last = lastLoss(run);
    if (!(last > (1 - BETTER) * guessing) || !run.trend(LAST_PART).isLevel()) {
      return Optional.empty();
    }
    boolean scales = run.has("data.normalization", "raw") || run.has("data.normalization", "unit");
    return advice(
        "The model learns nothing: the training loss stays at %s, %s."
            .formatted(
                loss(last),
                guessing < initial ? "that of guessing" : "that of the initial parameters"),
        "Try another `%s` (%s), a tenth%s."
            .formatted(
                RATE,
                run.text(RATE, "0.01"),
                scales ? ", or `data.normalization` `standard`" : " or ten times as much"));
  }

  /** Returns whether the first losses are those of parameters that were trained before. */
  private static boolean startsTrained(RunFigures run) {
    return run.number("run.resumes", 0) > 0
        || !run.text("model.parameters", "").isEmpty()
        || run.text("model.name", "").contains("/");
  }

  /** Returns the loss of a model that finds all classes equally probable, if it is known. */
  private static double guessingLoss(RunFigures run) {
    return run.classes().isPresent()
            && run.text("model.loss", "crossEntropy").equals("crossEntropy")
        ? Math.log(run.classes().getAsInt())
        : Double.POSITIVE_INFINITY;
  }

  private static Optional<Advice> overfits(RunFigures run) {
    List<Test> tests = run.tests();
    if (tests.size() < 2 * STRIP) {
      return Optional.empty();
    }
    int best = 0;
    for (int first = 1; first <= tests.size() - STRIP; first++) {
      best = strip(tests, first) < strip(tests, best) ? first : best;
    }
    double least = strip(tests, best);
    double last = strip(tests, tests.size() - STRIP);
    long version = tests.get(best + STRIP / 2).version();
    LossTrend training = run.trendSince(version);
    boolean rises = last > DRIFT * least && run.testsFrom(best + STRIP / 2).rises();
    if (!rises || training.points() < LAST_POINTS || !training.falls()) {
      return Optional.empty();
    }
    boolean decays =
        run.number("optimizer.weightDecay", 0) > 0 || run.number("optimizer.l2", 0) > 0;
    return advice(
        format(
            "Training and test drift apart: the test loss was %s about update %,d and is %s now,"
                + " while the training loss %s.",
            loss(least), version, loss(last), run.ended() ? "fell" : "falls"),
        "Try %s`stop.loss` %s, which ends a run about there."
            .formatted(decays ? "" : "`optimizer.weightDecay` or ", loss(least)));
  }

  /** Returns the mean loss of some tests in sequence. */
  private static double strip(List<Test> tests, int first) {
    double sum = 0;
    for (int i = first; i < first + STRIP; i++) {
      sum += tests.get(i).loss();
    }
    return sum / STRIP;
  }

  private static Optional<Advice> slowWorker(RunFigures run) {
    List<Worker> workers =
        run.workers().stream()
            .filter(worker -> worker.samples() > 0)
            .sorted(Comparator.comparingDouble(Worker::secondsPerSample))
            .toList();
    String remedy = remedyForSlowWorker(run, workers.size());
    if (run.seconds() < WATCHED_SECONDS || workers.size() < 2 || remedy.isEmpty()) {
      return Optional.empty();
    }
    Worker slowest = workers.get(workers.size() - 1);
    double usual = workers.get((workers.size() - 1) / 2).secondsPerSample();
    double times = slowest.secondsPerSample() / usual;
    return times >= SLOW
        ? advice(
            format(
                "Worker %d takes %.1f times as long for a sample as the others, which %s for it.",
                slowest.rank(), times, run.ended() ? "waited" : "wait"),
            remedy)
        : Optional.empty();
  }

  /** Returns what was measured for the job's strategy; empty for others. */
  private static String remedyForSlowWorker(RunFigures run, int workers) {
    if (run.isPipeline() || isStream(run) || run.number("strategy.quorum", 0) > 0) {
      return "";
    }
    boolean divides =
        run.text("strategy.reduction", "mean").equals("mean")
            && run.text("strategy.groups", "1").equals("1")
            && run.text("workers.sampler", "distributed").equals("distributed")
            && run.text("workers.balance", "equal").equals("equal");
    return switch (run.text("strategy.name", "")) {
      case "sync", "allreduce" -> divides ? "Try `workers.balance` `speed`." : "";
      case "diloco" -> workers > 2 && takesServers(run) ? quorum(run, workers - 1) : "";
      default -> "";
    };
  }

  private static boolean takesServers(RunFigures run) {
    return run.number("strategy.fragments", 1) == 1 && !run.has("exchange.overlap", "true");
  }

  private static String quorum(RunFigures run, int workers) {
    String servers = run.has("strategy.servers", "true") ? "" : "`strategy.servers` `true` with ";
    return format("Try %s`strategy.quorum` %d.", servers, workers);
  }

  private static Optional<Advice> tooManyWorkers(RunFigures run) {
    if (run.isPipeline() || !run.text("workers.device", "cpu").equals("cpu")) {
      return Optional.empty();
    }
    double threads = run.number("workers.threads", 1);
    Map<String, Long> workers =
        run.workers().stream().collect(Collectors.groupingBy(Worker::host, Collectors.counting()));
    for (Map.Entry<String, Host> entry : run.hosts().entrySet()) {
      Host host = entry.getValue();
      long here = workers.getOrDefault(entry.getKey(), 0L);
      if (here > 1
          && here * threads > host.processors()
          && host.busy() >= BUSY * host.processors()) {
        int fit = Math.max(1, (int) (host.processors() / threads));
        return advice(
            format(
                "%d workers share the %d processors of %s, which %s busy.",
                here, host.processors(), entry.getKey(), run.ended() ? "were" : "are"),
            run.hosts().size() == 1
                ? format("Try `workers.count` %d.", fit)
                : "Try fewer workers there (`workers.count`).");
      }
    }
    return Optional.empty();
  }

  private static Optional<Advice> exchanges(RunFigures run) {
    double least =
        run.workers().stream().mapToDouble(Worker::exchangingShare).min().orElse(Double.NaN);
    // Training that waits for tests exchanges meanwhile.
    boolean others = run.isPipeline() || run.has("evaluator.blocking", "true");
    if (run.seconds() < WATCHED_SECONDS || others || !(least >= MOST_TIME)) {
      return Optional.empty();
    }
    String found =
        format(
            run.workers().size() == 1
                ? "The worker exchange%2$s %1$.0f %% of the time."
                : "Every worker exchange%2$s at least %1$.0f %% of the time.",
            100 * least,
            run.ended() ? "d" : "s");
    return run.hosts().size() > 1 && run.parameters() >= LARGE_MODEL && !isStream(run)
        ? remedyForLinks(run).flatMap(remedy -> advice(found, remedy))
        : advice(found, remedyForSteps(run));
  }

  /** Returns what makes a step compute more for each exchange. */
  private static String remedyForSteps(RunFigures run) {
    boolean plain = run.has("optimizer.name", "sgd") || run.has("optimizer.name", "nesterov");
    if (isStream(run)) {
      return "If events come faster than that, try a larger `workers.batch`; the model then learns more slowly.";
    }
    return "Try a larger `workers.%s`%s%s."
        .formatted(
            run.number("workers.totalBatch", 0) > 0 ? "totalBatch" : "batch",
            plain ? ", with `" + RATE + "` in proportion" : "",
            run.workers().size() > 1 ? ", or a smaller `workers.count`" : "");
  }

  /** Returns what was measured over slow links for the job's strategy; empty for others. */
  private static Optional<String> remedyForLinks(RunFigures run) {
    if (!run.text("strategy.groups", "1").equals("1")) {
      return Optional.empty();
    }
    boolean whole =
        run.text("exchange.compression", "none").equals("none")
            && run.number("strategy.powerSgdRank", 0) == 0;
    String rarely = "`strategy.name` `diloco`, which exchanges every `strategy.syncEvery` steps";
    return switch (run.text("strategy.name", "")) {
      case "sync", "allreduce" ->
          Optional.of(
              whole
                  ? "Try `exchange.compression` `int8`, or " + rarely + "."
                  : "Try " + rarely + ".");
      case "dpsgd" -> Optional.of("Try " + rarely + ".");
      case "local" -> Optional.of("Try a larger `strategy.every`, or " + rarely + ".");
      case "diloco" ->
          Optional.of(
              whole
                  ? "Try `exchange.compression` `int4`, or a larger `strategy.syncEvery`."
                  : "Try a larger `strategy.syncEvery`.");
      default -> Optional.empty();
    };
  }

  private static Optional<Advice> stale(RunFigures run) {
    long applied = run.workers().stream().mapToLong(Worker::applied).sum();
    double age = (double) run.workers().stream().mapToLong(Worker::ages).sum() / applied;
    boolean plain =
        run.has("strategy.name", "async")
            && run.text("strategy.damping", "none").equals("none")
            && run.text("strategy.compensation", "none").equals("none");
    return plain && age >= OLD && !run.trend(LAST_PART).falls()
        ? advice(
            format("Gradients %s %.1f updates old on average.", run.ended() ? "were" : "are", age),
            "If `%s` (%s) is not divided by the number of workers, divide it."
                .formatted(RATE, run.text(RATE, "0.01")))
        : Optional.empty();
  }

  private static Optional<Advice> level(RunFigures run) {
    if (tooShort(run) || isStream(run)) {
      return Optional.empty();
    }
    LossTrend trend = run.trend(LAST_PART);
    boolean rises = trend.rises() && trend.share() > NOTICEABLE;
    if (!trend.isLevel() && !rises) {
      return Optional.empty();
    }
    String found =
        rises
            ? format(
                "The training loss %s: by %.0f %% over the last %,.0f updates.",
                run.ended() ? "rose" : "rises", 100 * trend.share(), trend.updates())
            : format(
                "The training loss %s over the last %,.0f updates: %s on average.",
                run.ended() ? "did not fall" : "does not fall",
                trend.updates(),
                loss(trend.mean()));
    if (rises && trend.share() > FAR) {
      return advice(found, lowerRate(run));
    }
    return advice(
        found,
        hasConstantRate(run)
            ? "Try a rate that falls: `optimizer.schedule.name` `cosine`, or `step`."
            : "");
  }

  private static Optional<Advice> falls(RunFigures run) {
    if (tooShort(run) || overfits(run).isPresent() || run.ended() && run.cutShort()) {
      return Optional.empty();
    }
    LossTrend trend = run.trend(LAST_PART);
    if (!trend.falls() || trend.share() < NOTICEABLE) {
      return Optional.empty();
    }
    LossTrend tests = run.testsFrom((int) (run.tests().size() * (1 - LAST_PART)));
    boolean longer = hasConstantRate(run) && tests.falls() && tests.share() > NOTICEABLE;
    return advice(
        format(
            "The training loss %s: by %.0f %% over the last %,.0f updates.",
            run.ended() ? "still fell at the end" : "falls", 100 * trend.share(), trend.updates()),
        run.ended() && longer ? "Train longer: more `steps` or `epochs`." : "");
  }

  private static boolean hasConstantRate(RunFigures run) {
    return run.text("optimizer.schedule.name", "constant").equals("constant");
  }

  private static boolean tooShort(RunFigures run) {
    return run.losses().length < (run.ended() ? POINTS_AT_END : POINTS);
  }

  /** In a stream the samples change, so a level loss does not mean that nothing is learned. */
  private static boolean isStream(RunFigures run) {
    return run.has("data.name", "stream");
  }

  /** Returns the first training losses' mean, or the loss of the initial parameters if higher. */
  private static double firstLoss(RunFigures run) {
    double reported = Arrays.stream(run.losses()).limit(FIRST_POINTS).average().orElseThrow();
    double initial = initialLoss(run);
    return initial > reported && Double.isFinite(initial) ? initial : reported;
  }

  /** Returns the loss that a test of the initial parameters found; infinite without one. */
  private static double initialLoss(RunFigures run) {
    return run.tests().stream()
        .filter(test -> test.version() == 0)
        .mapToDouble(Test::loss)
        .findFirst()
        .orElse(Double.POSITIVE_INFINITY);
  }

  private static double lastLoss(RunFigures run) {
    return lastLosses(run).average().orElseThrow();
  }

  private static double leastOfLast(RunFigures run) {
    return lastLosses(run).min().orElseThrow();
  }

  private static DoubleStream lastLosses(RunFigures run) {
    int skipped = Math.max(0, run.losses().length - LAST_POINTS);
    return Arrays.stream(run.losses()).skip(skipped);
  }

  private static Optional<Advice> advice(String found, String remedy) {
    return Optional.of(new Advice(found, remedy));
  }

  private static String loss(double value) {
    return format("%.3g", value);
  }

  private static String format(String text, Object... values) {
    return String.format(Locale.ROOT, text, values);
  }
}
