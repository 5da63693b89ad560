package io.vertigrad.launcher.image;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** Reads YAML, and checks manifests against the fields that Kubernetes' own client knows. */
final class KubernetesSchema {

  private static final String MODELS = "io.kubernetes.client.openapi.models.V1";

  private KubernetesSchema() {}

  /** Returns the documents of a YAML file. */
  static List<JsonObject> read(Path file) throws IOException {
    try (Reader text = Files.newBufferedReader(file)) {
      return read(text);
    }
  }

  /** Returns the documents of a YAML text. */
  static List<JsonObject> read(String text) {
    return read(new StringReader(text));
  }

  /**
   * Checks that a manifest has no unknown field, and every required one, at any depth.
   *
   * @throws IllegalArgumentException when it does not; the message names the field
   */
  static void check(JsonObject manifest) throws IOException {
    String kind = manifest.get("kind").getAsString();
    try {
      Class.forName(MODELS + kind)
          .getMethod("validateJsonObject", JsonObject.class)
          .invoke(null, manifest);
    } catch (InvocationTargetException wrong) {
      throw new IllegalArgumentException(
          kind + ": " + wrong.getCause().getMessage(), wrong.getCause());
    } catch (ReflectiveOperationException unknown) {
      throw new IllegalArgumentException(kind + ": is no kind of Kubernetes", unknown);
    }
  }

  private static List<JsonObject> read(Reader text) {
    LoaderOptions options = new LoaderOptions();
    options.setAllowDuplicateKeys(false);
    Gson gson = new GsonBuilder().serializeNulls().create();
    List<JsonObject> documents = new ArrayList<>();
    for (Object document : new Yaml(new SafeConstructor(options)).loadAll(text)) {
      documents.add(gson.toJsonTree(document).getAsJsonObject());
    }
    return documents;
  }
}
