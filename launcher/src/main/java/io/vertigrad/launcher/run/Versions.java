package io.vertigrad.launcher.run;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/** Returns the versions of the software that takes part in a run. */
public final class Versions {

  private Versions() {}

  /**
   * Returns the versions by name: {@code java}, {@code vertx}, {@code dl4j}, {@code hazelcast},
   * {@code vertigrad}.
   */
  public static Map<String, String> all() {
    Map<String, String> versions = new TreeMap<>();
    Properties built = built();
    built.stringPropertyNames().forEach(name -> versions.put(name, built.getProperty(name)));
    versions.put("java", System.getProperty("java.vm.version"));
    return versions;
  }

  /** Returns the commit that the start script passes; {@code unknown} when it passes none. */
  public static String gitRevision() {
    String revision = System.getProperty("vertigrad.revision", "");
    return revision.isBlank() ? "unknown" : revision;
  }

  private static Properties built() {
    Properties properties = new Properties();
    try (InputStream in = Versions.class.getResourceAsStream("versions.properties")) {
      properties.load(in);
      return properties;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
