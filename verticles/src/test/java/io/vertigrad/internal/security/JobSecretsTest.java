package io.vertigrad.internal.security;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The class path of this module's tests lacks {@code vertigrad-cluster}. */
class JobSecretsTest {

  private static final String REFUSAL =
      "job digits has a secret (cluster.secretFile), and nothing here proves messages of the event"
          + " bus with it: add the artifact io.vertigrad:vertigrad-cluster";

  @TempDir private Path folder;
  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void close() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  @Test
  void shouldRefuseASecretWhenNothingProvesMessages() {
    JobConfig job = job("secret");
    JobSecrets secrets = JobSecrets.of(vertx);

    SettingsException refused =
        assertThrows(
            SettingsException.class, () -> secrets.add(job.addresses(), JobSecret.random()));

    assertEquals(REFUSAL, refused.getMessage());
    assertFalse(secrets.has(job.addresses()));
  }

  @Test
  void shouldRefuseToDeployWhenTheJobFileNamesASecretAndNothingProvesMessages() {
    Path file = folder.resolve("secret");
    JobSecret.createOrRead(file);
    Vertx clustered =
        (Vertx)
            Proxy.newProxyInstance(
                Vertx.class.getClassLoader(),
                new Class<?>[] {Vertx.class},
                (proxy, method, arguments) ->
                    method.getName().equals("isClustered")
                        ? true
                        : method.invoke(vertx, arguments));

    ExecutionException refused =
        assertThrows(
            ExecutionException.class,
            () ->
                VerticleJob.protect(clustered, job(file.toString()))
                    .toCompletionStage()
                    .toCompletableFuture()
                    .get(30, TimeUnit.SECONDS));

    assertInstanceOf(SettingsException.class, refused.getCause());
    assertEquals(REFUSAL, refused.getCause().getMessage());
  }

  private static JobConfig job(String secretFile) {
    return JobConfig.read(
        "test", JsonObject.of("job", "digits", "cluster", JsonObject.of("secretFile", secretFile)));
  }
}
