package io.vertigrad.launcher;

import io.vertigrad.internal.cluster.JoinAddress;
import io.vertigrad.job.ServingConfig;
import io.vertigrad.launcher.job.Assignment;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.serving.ModelServer;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.BindException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Implements {@code vertigrad serve}, which answers with trained models until Ctrl-C. */
@Command(
    name = "serve",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Answers with trained models over HTTP, by the Open Inference Protocol (KServe, Triton),"
          + " until Ctrl-C. When a run has a better model, it takes over.",
      "A model that is still being trained is served by train --serve."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class ServeCommand implements Callable<Integer> {

  /** The port if none is given. */
  static final String PORT = "8351";

  private static final String TOKENS = "VERTIGRAD_SERVE_TOKENS";
  private static final long MOST_TOKEN_BYTES = 1 << 20;
  private static final long LISTEN_SECONDS = 20;
  private static final long START_SECONDS = 120;
  private static final long STOP_SECONDS = 10;

  @Parameters(
      index = "0..*",
      arity = "1..*",
      paramLabel = "[NAME=]MODEL",
      description =
          "A run's folder or its name below runs/, last for the newest run, a model's file, or a"
              + " folder of runs, of which the best of each job is served. Several of one name are"
              + " its versions. The name is the job's unless given.")
  private List<String> words = new ArrayList<>();

  @Mixin private ModelJobOptions options;

  @Option(
      names = "--port",
      paramLabel = "N",
      defaultValue = PORT,
      description = "Port, 0 for a free one (${DEFAULT-VALUE}; serving.port).")
  private int port;

  @Option(
      names = "--grpc-port",
      paramLabel = "N",
      description =
          "Answers over gRPC, too, at this port, 0 for a free one; needs vertigrad-serving-grpc.")
  private Integer grpcPort;

  @Mixin private AddressOptions address;

  @Option(
      names = "--insecure",
      description =
          "Lets everyone who reaches --host ask, without a certificate (serving.insecure).")
  private boolean insecure;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "Name of the only model; of several each is given as NAME=MODEL.")
  private String name;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description =
          "File with a token a line; requests need one of them (Authorization: Bearer). A line"
              + " admin TOKEN lets it load and unload models, too. Or the variable "
              + TOKENS
              + " has these lines.")
  private String tokenFile;

  @Override
  public Integer call() throws InterruptedException {
    RunLog.leaveConsole();
    System.setProperty("java.awt.headless", "true");
    if (grpcPort != null && (grpcPort < 0 || grpcPort > JoinAddress.MOST_PORT)) {
      throw new InputException(
          "--grpc-port %s: expected 0 to %s, where 0 is a free one"
              .formatted(grpcPort, JoinAddress.MOST_PORT));
    }
    Optional<String> tokens = tokens();
    AtomicReference<ServingConfig> first = new AtomicReference<>();
    List<ModelServer.Source> sources = sources(first);
    // Looked at once here, so that wrong options are reported before anything is loaded.
    sources.forEach(ModelServer.Source::find);
    if (first.get() == null) {
      throw new InputException(
          "%s: has no model, expected a run that is over".formatted(String.join(", ", words)));
    }
    Vertx vertx = MeteredVertx.alone();
    ModelServer server =
        Await.result(
            ModelServer.open(vertx, first.get().http(), sources, tokens, ServeCommand::print)
                .recover(why -> Future.failedFuture(explained(why))),
            START_SECONDS * words.size(),
            "opening the models");
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> Await.cleanUp(server.close(), STOP_SECONDS, "answering the last requests")));
    Optional<Integer> grpc =
        Optional.ofNullable(grpcPort).map(number -> listenGrpc(server, number));
    List<String> names = server.names();
    print(
        "serving %s at %s/v2/models/%s  (Ctrl-C ends it)"
            .formatted(
                names.size() == 1 ? names.get(0) : names.size() + " models",
                server.address(),
                names.size() == 1 ? names.get(0) : "NAME"));
    grpc.ifPresent(number -> print("gRPC at port " + number));
    new CountDownLatch(1).await();
    return ExitStatus.OK;
  }

  private static int listenGrpc(ModelServer server, int port) {
    return Await.result(
        server
            .listenGrpc(port)
            .recover(
                why ->
                    Future.failedFuture(
                        new InputException("--grpc-port: " + why.getMessage(), why))),
        LISTEN_SECONDS,
        "listening at --grpc-port");
  }

  private static void print(String line) {
    System.out.println(line);
    System.out.flush();
  }

  /** Finds the models of each word; the first job that is read says where the server listens. */
  private List<ModelServer.Source> sources(AtomicReference<ServingConfig> first) {
    if (name != null && words.size() > 1) {
      throw new InputException(
          "--name %s: names one model, but there are %s; expected NAME=MODEL for each"
              .formatted(name, words.size()));
    }
    List<ModelServer.Source> sources = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    for (String word : words) {
      if (!seen.add(word)) {
        throw new InputException("%s: is given twice, expected each model once".formatted(word));
      }
      int end = Files.exists(Path.of(word)) ? -1 : word.indexOf('=');
      if (end == 0 || end == word.length() - 1) {
        throw new InputException("%s: expected NAME=MODEL, or MODEL".formatted(word));
      }
      Optional<String> given =
          end > 0 ? Optional.of(word.substring(0, end)) : Optional.ofNullable(name);
      sources.add(
          ServedModels.of(word.substring(end + 1), reading(given, first), ServeCommand::print));
    }
    return sources;
  }

  private Function<Path, ModelJobOptions.Chosen> reading(
      Optional<String> given, AtomicReference<ServingConfig> first) {
    return path -> {
      ModelJobOptions.Chosen chosen =
          options.chosen(
              path.toString(),
              (file, json) -> {
                apply(json);
                given.ifPresent(word -> new Assignment("job", word).applyTo(json));
              });
      first.compareAndSet(null, chosen.job().serving());
      return chosen;
    };
  }

  private void apply(JsonObject json) {
    new Assignment("serving.port", port).applyTo(json);
    address.applyTo(json, "serving");
    if (insecure) {
      new Assignment("serving.insecure", true).applyTo(json);
    }
  }

  private Optional<String> tokens() {
    Optional<String> variable =
        Optional.ofNullable(System.getenv(TOKENS)).filter(text -> !text.isBlank());
    if (tokenFile == null) {
      return variable;
    }
    if (variable.isPresent()) {
      throw new InputException(
          "--token-file %s: the variable %s has tokens, too; expected one of both"
              .formatted(tokenFile, TOKENS));
    }
    Path file = Path.of(tokenFile);
    try {
      if (!Files.isRegularFile(file) || Files.size(file) > MOST_TOKEN_BYTES) {
        throw new InputException(
            "--token-file %s: expected a file of at most 1 MiB with a token a line"
                .formatted(tokenFile));
      }
      return Optional.of(Files.readString(file));
    } catch (IOException e) {
      throw new InputException(
          "--token-file %s: cannot be read as UTF-8; check its permissions".formatted(tokenFile),
          e);
    }
  }

  private Throwable explained(Throwable why) {
    return why.getCause() instanceof BindException
        ? new InputException(
            "--port %s is taken, expected a free one; 0 takes any".formatted(port), why)
        : why;
  }
}
