package io.vertigrad.internal.cluster;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Makes a temporary authority and certificates with {@code openssl}, as the docs describe. */
final class Certificates {

  private final Path folder;

  Certificates(Path folder) {
    this.folder = folder;
  }

  Path file(String name) {
    return folder.resolve(name);
  }

  /** Writes {@code NAME.key} and {@code NAME.pem}, self-signed. */
  void authority(String name) throws IOException, InterruptedException {
    openssl(
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=" + name,
        "-keyout",
        name + ".key",
        "-out",
        name + ".pem");
  }

  /** Writes {@code NAME.key} and {@code NAME.pem}, signed by {@code authority}. */
  void node(String name, String authority) throws IOException, InterruptedException {
    node(name, authority, "2");
  }

  /** Writes a certificate that is no longer valid. */
  void expired(String name, String authority) throws IOException, InterruptedException {
    node(name, authority, "0");
    Thread.sleep(1_100);
  }

  private void node(String name, String authority, String days)
      throws IOException, InterruptedException {
    openssl(
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=" + name,
        "-keyout",
        name + ".key",
        "-out",
        name + ".csr");
    openssl(
        "x509",
        "-req",
        "-in",
        name + ".csr",
        "-CA",
        authority + ".pem",
        "-CAkey",
        authority + ".key",
        "-CAcreateserial",
        "-days",
        days,
        "-out",
        name + ".pem");
  }

  private void openssl(String... arguments) throws IOException, InterruptedException {
    List<String> command = new java.util.ArrayList<>(List.of("openssl"));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    if (!process.waitFor(20, TimeUnit.SECONDS) || process.exitValue() != 0) {
      throw new IOException("openssl failed: " + command);
    }
  }
}
