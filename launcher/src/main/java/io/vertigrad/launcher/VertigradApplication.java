package io.vertigrad.launcher;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.verticles.StrategyVerticle;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.launcher.application.HookContext;
import io.vertx.launcher.application.VertxApplication;
import io.vertx.launcher.application.VertxApplicationHooks;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Main class of the jar. It runs Vertigrad's own commands and passes everything else to the stock
 * Vert.x launcher, so that {@code java -jar vertigrad.jar io.vertigrad.verticles.WorkerVerticle
 * -cluster -conf FILE} works.
 */
public final class VertigradApplication extends VertxApplication implements VertxApplicationHooks {

  private static final Logger LOG = LoggerFactory.getLogger(VertigradApplication.class);
  private static final Set<String> OPTIONS = Set.of("-h", "--help", "-V", "--version");

  private final List<String> arguments;
  private JobConfig job;
  private ClusterStart start;
  private VertxOptions options;

  private VertigradApplication(String[] arguments) {
    super(arguments);
    this.arguments = List.of(arguments);
  }

  /** Starts a command or the Vert.x launcher. */
  public static void main(String[] arguments) {
    // What libraries write as text is read back on machines of other languages.
    Locale.setDefault(Locale.ROOT);
    try {
      CacheFolders.prepare();
    } catch (InputException e) {
      System.err.println("vertigrad: " + e.getMessage());
      System.exit(ExitStatus.BAD_INPUT);
    }
    if (arguments.length == 0 || isCommand(arguments[0])) {
      VertigradCommand.main(arguments);
    } else {
      new VertigradApplication(arguments).launch();
    }
  }

  /**
   * Returns true for a command or an option of Vertigrad. A plain word is a command, perhaps a
   * misspelt one; verticle names have dots or a prefix.
   */
  private static boolean isCommand(String argument) {
    return OPTIONS.contains(argument) || argument.matches("[A-Za-z]+");
  }

  /** Refuses a bad job file before anything is opened; the stock launcher would only warn. */
  @Override
  public JsonObject afterConfigParsed(JsonObject config) {
    try {
      boolean unread = config == null || config.isEmpty();
      if (unread && (arguments.contains("-conf") || arguments.contains("--conf"))) {
        throw new InputException("-conf: expected the path of a JSON file, or one JSON object");
      }
      job = JobConfig.read("-conf", unread ? new JsonObject() : jobFile(config));
      start = ClusterStart.ofJob(job, ClusterStart.secretOf(job.cluster()));
    } catch (InputException | SettingsException e) {
      System.err.println("vertigrad: " + e.getMessage());
      System.exit(ExitStatus.BAD_INPUT);
    }
    return config;
  }

  /**
   * Returns the job file. The configuration of a strategy verticle also names the member that it
   * serves; that key is removed.
   */
  private JsonObject jobFile(JsonObject config) {
    String strategy = StrategyVerticle.class.getName();
    return arguments.stream().anyMatch(word -> word.endsWith(strategy))
        ? StrategyVerticle.jobFile(config)
        : config;
  }

  @Override
  public VertxBuilder createVertxBuilder(VertxOptions options) {
    this.options = options;
    return start.builder(VertxApplicationHooks.super.createVertxBuilder(options), options);
  }

  /** Refuses objects serialized by Java or by Vert.x on the event bus, because no job uses them. */
  static void refuseSerialized(Vertx vertx) {
    vertx
        .eventBus()
        .serializableChecker(className -> false)
        .clusterSerializableChecker(className -> false);
  }

  @Override
  public void afterVertxStarted(HookContext context) {
    FrameCodecs.register(context.vertx().eventBus());
    refuseSerialized(context.vertx());
    if (context.vertx().isClustered()) {
      start.opened(context.vertx(), options);
    }
  }

  /** Logs the reason: the stock launcher only logs that the start failed. */
  @Override
  public void afterFailureToStartVertx(HookContext context, Throwable why) {
    LOG.error("job {}: {}", job.addresses().job(), start.explain(why).getMessage());
  }

  @Override
  public void afterVerticleDeployed(HookContext context) {
    LOG.info("{} takes part in job {}", context.mainVerticle(), job.addresses().job());
  }

  @Override
  public void beforeStoppingVertx(HookContext context) {
    LOG.info("{} leaves job {}", context.mainVerticle(), job.addresses().job());
  }
}
