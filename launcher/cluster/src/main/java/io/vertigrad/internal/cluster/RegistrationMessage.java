package io.vertigrad.internal.cluster;

import com.hazelcast.config.Config;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.HazelcastInstanceAware;
import com.hazelcast.nio.ObjectDataInput;
import com.hazelcast.nio.ObjectDataOutput;
import com.hazelcast.nio.serialization.IdentifiedDataSerializable;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;

/**
 * Carries one message between the {@link BusRegistrations} of two nodes over Hazelcast's
 * connection.
 */
final class RegistrationMessage
    implements Callable<String>, IdentifiedDataSerializable, HazelcastInstanceAware {

  /** The Hazelcast executor that carries these messages. */
  static final String EXECUTOR = "vertigrad.registrations";

  private static final int FACTORY = 1_701;
  private static final int CLASS = 1;

  private String json = "";
  private HazelcastInstance node;

  private RegistrationMessage() {}

  RegistrationMessage(JsonObject message) {
    json = message.encode();
  }

  /**
   * Lets a node receive such messages. Call it before the node starts.
   *
   * @param handler receives the node, which may still be starting, and the message, and returns the
   *     answer
   */
  static void accept(Config config, BiFunction<HazelcastInstance, JsonObject, JsonObject> handler) {
    config
        .getSerializationConfig()
        .addDataSerializableFactory(FACTORY, type -> new RegistrationMessage());
    config.getExecutorConfig(EXECUTOR).setPoolSize(1).setStatisticsEnabled(false);
    config.getUserContext().put(EXECUTOR, handler);
  }

  @Override
  @SuppressWarnings("unchecked")
  public String call() {
    return ((BiFunction<HazelcastInstance, JsonObject, JsonObject>)
            node.getUserContext().get(EXECUTOR))
        .apply(node, new JsonObject(json))
        .encode();
  }

  @Override
  public void setHazelcastInstance(HazelcastInstance instance) {
    node = instance;
  }

  @Override
  public int getFactoryId() {
    return FACTORY;
  }

  @Override
  public int getClassId() {
    return CLASS;
  }

  @Override
  public void writeData(ObjectDataOutput out) throws IOException {
    out.writeString(json);
  }

  @Override
  public void readData(ObjectDataInput in) throws IOException {
    json = in.readString();
  }
}
