package io.vertigrad.launcher.image;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the file of an image, which Docker, Podman and OCI tools read, with small layers. */
class ImageArchiveTest {

  private static final Instant TIME = Instant.parse("2026-11-23T00:00:00Z");

  @TempDir private Path folder;

  @Test
  void shouldDescribeTheSameLayersForDockerAndForOci() throws IOException {
    Layer lower = new Layer("system");
    lower.text("etc/passwd", false, "root:x:0:0:root:/root:/bin/sh\n");
    Layer upper = new Layer("program");
    upper.text("opt/vertigrad/bin/vertigrad", true, "#!/bin/sh\n");
    JsonObject settings =
        new JsonObject()
            .put("User", "10001:10001")
            .put("Healthcheck", new JsonObject().put("Test", new JsonArray().add("NONE")));
    ImageArchive image = new ImageArchive("vertigrad", "0.2.0", TIME, settings);
    image.add(lower.name(), lower.write(folder.resolve("lower"), TIME));
    image.add(upper.name(), upper.write(folder.resolve("upper"), TIME));

    String digest = image.write(folder.resolve("image.tar"), "amd64");

    Map<String, byte[]> files = entries(Files.newInputStream(folder.resolve("image.tar")));
    assertEquals("{\"imageLayoutVersion\":\"1.0.0\"}", text(files, "oci-layout"));
    JsonObject index = new JsonObject(text(files, "index.json"));
    JsonObject manifest = json(files, index.getJsonArray("manifests").getJsonObject(0));
    assertEquals(digest, index.getJsonArray("manifests").getJsonObject(0).getString("digest"));
    JsonObject config = json(files, manifest.getJsonObject("config"));
    JsonArray contents = config.getJsonObject("rootfs").getJsonArray("diff_ids");
    JsonObject docker = new JsonArray(text(files, "manifest.json")).getJsonObject(0);
    assertEquals(path(manifest.getJsonObject("config")), docker.getString("Config"));
    assertEquals("[\"vertigrad:0.2.0\"]", docker.getJsonArray("RepoTags").encode());
    assertEquals(2, manifest.getJsonArray("layers").size());
    for (int i = 0; i < 2; i++) {
      JsonObject layer = manifest.getJsonArray("layers").getJsonObject(i);
      byte[] packed = bytes(files, layer);
      byte[] plain = new GZIPInputStream(new ByteArrayInputStream(packed)).readAllBytes();
      assertEquals(HashingOutput.digest(plain), contents.getString(i));
      assertEquals(path(layer), docker.getJsonArray("Layers").getString(i));
    }
    assertEquals(settings, config.getJsonObject("config"));
    assertEquals("amd64", config.getString("architecture"));
    assertEquals(
        "program", config.getJsonArray("history").getJsonObject(1).getString("created_by"));
  }

  @Test
  void shouldWriteTheSameBytesForFilesInAnyOrderAndOfAnyTime() throws IOException {
    Path source = Files.createDirectories(folder.resolve("source/inner"));
    Path one = Files.writeString(source.resolve("one"), "1");
    Files.createSymbolicLink(source.resolve("link"), Path.of("one"));
    Layer first = new Layer("first");
    first.tree("a", source.getParent());
    first.text("b", true, "2");
    Blob before = first.write(folder.resolve("first.tar.gz"), TIME);
    Files.setLastModifiedTime(one, FileTime.from(TIME.minusSeconds(100)));

    Layer second = new Layer("second");
    second.text("b", true, "2");
    second.tree("a", source.getParent());
    Blob after = second.write(folder.resolve("second.tar.gz"), TIME);

    assertEquals(before.digest(), after.digest());
    assertArrayEquals(Files.readAllBytes(before.file()), Files.readAllBytes(after.file()));
    assertEquals(before.contentDigest(), Blob.of(before.file()).contentDigest());
    List<TarArchiveEntry> entries = headers(before.file());
    assertEquals(
        List.of("a/", "a/inner/", "a/inner/link", "a/inner/one", "b"),
        entries.stream().map(TarArchiveEntry::getName).toList());
    assertEquals("one", entries.get(2).getLinkName());
    assertEquals(0644, entries.get(3).getMode() & 0777);
    assertEquals(0755, entries.get(4).getMode() & 0777);
    for (TarArchiveEntry entry : entries) {
      assertEquals(FileTime.from(TIME), entry.getLastModifiedTime());
      assertEquals(0, entry.getLongUserId());
    }
  }

  @Test
  void shouldUnpackPackagesOfEveryDebianToTheMergedFolders() throws IOException {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/dpkg-deb")), "there is no dpkg-deb");
    Path old = Files.createDirectories(folder.resolve("old/lib/x86_64-linux-gnu"));
    Files.writeString(old.resolve("libc.so.6"), "C library");
    Files.createLink(old.resolve("libc-2.so"), old.resolve("libc.so.6"));
    write("old/usr/share/man/man1/libc.1", "manual");
    write("old/usr/share/doc/libc6/copyright", "licence");
    write("old/usr/share/doc/libc6/changelog", "changes");
    Path packages = Files.createDirectories(folder.resolve("packages"));
    pack("old", "libc6", packages);
    write("new/usr/bin/locale", "locale");
    write("new/usr/bin/ldd", "ldd");
    pack("new", "libc-bin", packages);

    DebianPackages found = DebianPackages.in(packages, List.of("libc6", "libc-bin"));
    Layer layer = new Layer("system");
    found.unpack(layer);

    assertEquals(
        List.of(
            "usr/bin/locale",
            "usr/lib/x86_64-linux-gnu/libc-2.so",
            "usr/lib/x86_64-linux-gnu/libc.so.6",
            "usr/share/doc/libc6/copyright",
            "var/lib/dpkg/status.d/libc-bin",
            "var/lib/dpkg/status.d/libc6"),
        layer.files());
    assertEquals(List.of("libc6=1.0", "libc-bin=1.0"), found.versions());
  }

  @Test
  void shouldNameTheFolderAndThePackageWhenThereAreTwoVersions() throws IOException {
    Files.createFile(folder.resolve("libc6_1_amd64.deb"));
    Files.createFile(folder.resolve("libc6_2_amd64.deb"));

    IOException two =
        assertThrows(IOException.class, () -> DebianPackages.in(folder, List.of("libc6")));

    assertTrue(two.getMessage().contains("found 2 packages libc6"), two.getMessage());
    assertTrue(two.getMessage().endsWith("remove the older ones"), two.getMessage());
  }

  private void write(String path, String text) throws IOException {
    Path file = folder.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  private void pack(String tree, String name, Path packages) throws IOException {
    write(
        tree + "/DEBIAN/control",
        "Package: %s\nVersion: 1.0\nArchitecture: all\nMaintainer: Nobody <a@b>\nDescription: test\n"
            .formatted(name));
    Tool.run(
        folder,
        List.of("dpkg-deb", "--build", tree, packages.resolve(name + "_1.0_all.deb").toString()));
  }

  private static JsonObject json(Map<String, byte[]> files, JsonObject descriptor) {
    return new JsonObject(new String(bytes(files, descriptor), StandardCharsets.UTF_8));
  }

  /** Returns the bytes that a descriptor names, whose length and digest it must have. */
  private static byte[] bytes(Map<String, byte[]> files, JsonObject descriptor) {
    byte[] bytes = files.get(path(descriptor));
    assertEquals(descriptor.getInteger("size"), bytes.length);
    assertEquals(descriptor.getString("digest"), HashingOutput.digest(bytes));
    return bytes;
  }

  private static String path(JsonObject descriptor) {
    return "blobs/" + descriptor.getString("digest").replace(':', '/');
  }

  private static String text(Map<String, byte[]> files, String name) {
    return new String(files.get(name), StandardCharsets.UTF_8);
  }

  private static Map<String, byte[]> entries(InputStream tar) throws IOException {
    Map<String, byte[]> entries = new LinkedHashMap<>();
    try (TarArchiveInputStream in = new TarArchiveInputStream(tar)) {
      for (TarArchiveEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        in.transferTo(bytes);
        entries.put(entry.getName(), bytes.toByteArray());
      }
    }
    return entries;
  }

  private static List<TarArchiveEntry> headers(Path layer) throws IOException {
    List<TarArchiveEntry> headers = new ArrayList<>();
    try (TarArchiveInputStream in =
        new TarArchiveInputStream(new GZIPInputStream(Files.newInputStream(layer)))) {
      for (TarArchiveEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
        headers.add(entry);
      }
    }
    return headers;
  }
}
