package io.vertigrad.launcher.image;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * An image as one tar file, which has the OCI image layout and the file {@code manifest.json} that
 * {@code docker load} has read since its first version.
 */
final class ImageArchive {

  private static final String OCI = "application/vnd.oci.image.";

  private final String repository;
  private final String tag;
  private final Instant time;
  private final JsonObject settings;
  private final List<Blob> layers = new ArrayList<>();
  private final List<String> history = new ArrayList<>();

  /**
   * Creates an image without layers.
   *
   * @param repository its name
   * @param tag its version
   * @param time when it was made, as the image says
   * @param settings what a container of it starts, and how: {@code config} of Docker's and OCI's
   *     image configuration
   */
  ImageArchive(String repository, String tag, Instant time, JsonObject settings) {
    this.repository = repository;
    this.tag = tag;
    this.time = time;
    this.settings = settings;
  }

  /** Adds a layer over all others. */
  void add(String name, Blob layer) {
    layers.add(layer);
    history.add(name);
  }

  /** Writes the file and returns the digest of its manifest, by which registries name the image. */
  String write(Path file, String architecture) throws IOException {
    Layer content = new Layer("image");
    JsonArray manifestLayers = new JsonArray();
    JsonArray layerFiles = new JsonArray();
    for (Blob layer : layers) {
      content.file(path(layer.digest()), false, layer.file());
      layerFiles.add(path(layer.digest()));
      manifestLayers.add(
          descriptor(
              "layer.v1.tar" + (layer.compressed() ? "+gzip" : ""),
              layer.digest(),
              Files.size(layer.file())));
    }
    JsonObject config = addJson(content, "config.v1+json", config(architecture));
    JsonObject manifest =
        addJson(
            content,
            "manifest.v1+json",
            new JsonObject()
                .put("schemaVersion", 2)
                .put("mediaType", OCI + "manifest.v1+json")
                .put("config", config)
                .put("layers", manifestLayers));
    String digest = manifest.getString("digest");
    manifest.put(
        "annotations",
        new JsonObject()
            .put("io.containerd.image.name", "docker.io/library/%s:%s".formatted(repository, tag))
            .put("org.opencontainers.image.ref.name", tag));
    content.text("oci-layout", false, "{\"imageLayoutVersion\":\"1.0.0\"}");
    content.text(
        "index.json",
        false,
        new JsonObject()
            .put("schemaVersion", 2)
            .put("mediaType", OCI + "index.v1+json")
            .put("manifests", new JsonArray().add(manifest))
            .encode());
    content.text(
        "manifest.json",
        false,
        new JsonArray()
            .add(
                new JsonObject()
                    .put("Config", path(config.getString("digest")))
                    .put("RepoTags", new JsonArray().add(repository + ":" + tag))
                    .put("Layers", layerFiles))
            .encode());
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 16)) {
      content.writeTar(out, time);
    }
    return digest;
  }

  private JsonObject config(String architecture) {
    JsonArray contents = new JsonArray();
    JsonArray steps = new JsonArray();
    for (int i = 0; i < layers.size(); i++) {
      contents.add(layers.get(i).contentDigest());
      steps.add(new JsonObject().put("created", time.toString()).put("created_by", history.get(i)));
    }
    return new JsonObject()
        .put("created", time.toString())
        .put("architecture", architecture)
        .put("os", "linux")
        .put("config", settings)
        .put("rootfs", new JsonObject().put("type", "layers").put("diff_ids", contents))
        .put("history", steps);
  }

  private static JsonObject addJson(Layer content, String type, JsonObject json) {
    byte[] bytes = json.encode().getBytes(StandardCharsets.UTF_8);
    String digest = HashingOutput.digest(bytes);
    content.text(path(digest), false, json.encode());
    return descriptor(type, digest, bytes.length);
  }

  private static JsonObject descriptor(String type, String digest, long bytes) {
    return new JsonObject().put("mediaType", OCI + type).put("digest", digest).put("size", bytes);
  }

  private static String path(String digest) {
    return "blobs/" + digest.replace(':', '/');
  }
}
