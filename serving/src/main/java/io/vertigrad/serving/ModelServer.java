package io.vertigrad.serving;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.ServingConfig;
import io.vertigrad.serving.internal.ModelSource;
import io.vertigrad.serving.internal.ServerEndpoints;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A port that answers with several trained models, in several versions, and replaces one when its
 * source has a better one. Any thread may use it.
 *
 * <p>A better model is one with a lower test loss on the same samples. A request is answered by one
 * version from its beginning to its end.
 */
public final class ModelServer {

  private final ServerEndpoints endpoints;

  /** Where the server finds models. */
  public interface Source {

    /**
     * Returns what the user calls it.
     *
     * @return such as the path of a run
     */
    String text();

    /**
     * Returns whether it is a folder of runs.
     *
     * @return true if of all models of a name only the best is served, and those that cannot be
     *     loaded are passed over
     */
    boolean isFolder();

    /**
     * Returns the models that are there now. It is called about once a second, by one thread, and
     * may block.
     *
     * @return the models; empty if there are none at the moment
     * @throws RuntimeException with a message for the user
     */
    List<Candidate> find();
  }

  /**
   * A model that may be served.
   *
   * @param name of the model in addresses
   * @param origin the run or file, as it is shown
   * @param job the job that trained it
   * @param file the model
   * @param test the last test of these parameters; empty if there was none
   */
  public record Candidate(
      String name, String origin, JobConfig job, Path file, Optional<TestResult> test) {}

  /**
   * A test of a model.
   *
   * @param loss mean loss, a finite number
   * @param samples number of samples
   * @param on names the loss function and the samples; only tests on the same are compared
   */
  public record TestResult(double loss, long samples, String on) {}

  private ModelServer(ServerEndpoints endpoints) {
    this.endpoints = endpoints;
  }

  /**
   * Loads the models, and listens.
   *
   * @param vertx whose predictors share memory and threads with these
   * @param http where to listen; it must have a port
   * @param sources where models are, at least one
   * @param tokens the lines of a token file, {@code TOKEN} or {@code admin TOKEN}; empty to let
   *     everyone ask, and no one load models
   * @param notices takes a line when a model begins to answer, or cannot be loaded; called on a
   *     thread of the server
   * @return completes when it answers; fails with a message for the user if a source has no model
   *     that can be loaded, if the tokens are wrong, or if it cannot listen
   */
  public static Future<ModelServer> open(
      Vertx vertx,
      ServingConfig.Http http,
      List<Source> sources,
      Optional<String> tokens,
      Consumer<String> notices) {
    List<ModelSource> found =
        sources.stream()
            .map(
                source ->
                    new ModelSource(
                        source.text(),
                        source.isFolder(),
                        () -> source.find().stream().map(ModelServer::plain).toList()))
            .toList();
    return ServerEndpoints.open(vertx, http, found, tokens, notices).map(ModelServer::new);
  }

  private static ModelSource.Candidate plain(Candidate candidate) {
    return new ModelSource.Candidate(
        candidate.name(),
        candidate.origin(),
        candidate.job(),
        candidate.file(),
        candidate
            .test()
            .map(test -> new ModelSource.TestResult(test.loss(), test.samples(), test.on())));
  }

  /**
   * Returns the server's address.
   *
   * @return such as {@code http://127.0.0.1:8351}
   */
  public String address() {
    return endpoints.address();
  }

  /**
   * Answers over gRPC, too, at the same host and with the same certificates, tokens and limits. The
   * artifact {@code vertigrad-serving-grpc} must be on the class path.
   *
   * @param port 0 for a free one
   * @return the port's number; fails with a message for the user without that artifact, or if the
   *     port is taken
   */
  public Future<Integer> listenGrpc(int port) {
    return endpoints.listen("grpc", port);
  }

  /**
   * Returns the names of the models, also of those that are not loaded.
   *
   * @return in the order of the sources
   */
  public List<String> names() {
    return endpoints.models().names();
  }

  /**
   * Stops listening, and closes the models.
   *
   * @return completes then
   */
  public Future<Void> close() {
    return endpoints.close();
  }
}
