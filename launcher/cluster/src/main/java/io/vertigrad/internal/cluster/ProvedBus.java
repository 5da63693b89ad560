package io.vertigrad.internal.cluster;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.internal.security.BusAuthentication;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Vertx;
import java.util.Set;

/** Gives an event bus its {@link BusGuard}; found through ServiceLoader. */
@SuppressWarnings("exports") // Public for the ServiceLoader only.
public final class ProvedBus implements BusAuthentication {

  /** Creates the provider; called by the {@code ServiceLoader}. */
  public ProvedBus() {}

  @Override
  public void install(
      Vertx vertx, Addresses job, JobSecret secret, Set<String> localFrameAddresses) {
    Module core = Vertx.class.getModule();
    new InnerPackage(core, "io.vertx.core.eventbus.impl").require();
    new InnerPackage(core, "io.vertx.core.eventbus.impl.clustered").require();
    BusGuard.install(vertx, job, secret, localFrameAddresses);
  }
}
