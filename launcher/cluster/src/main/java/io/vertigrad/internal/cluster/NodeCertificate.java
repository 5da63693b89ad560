package io.vertigrad.internal.cluster;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Base64;
import java.util.Optional;

/**
 * The certificate that this node shows to its peers, checked against its key and its authority.
 *
 * @param certificate the node's own certificate
 */
public record NodeCertificate(X509Certificate certificate) {

  private static final byte[] PROOF = {1, 2, 3};

  /**
   * Reads and checks the three files.
   *
   * @throws SettingsException naming the file that is wrong, and how
   */
  public static NodeCertificate of(ClusterConfig config) {
    String file = config.certificate().orElseThrow();
    X509Certificate own = read("certificate", file);
    X509Certificate authority = read("authority", config.authority().orElseThrow());
    untimely(file, own).ifPresent(NodeCertificate::refuse);
    try {
      own.verify(authority.getPublicKey());
    } catch (GeneralSecurityException e) {
      throw new SettingsException(
          "cluster.certificate: %s is not valid, or cluster.authority did not sign it: %s"
              .formatted(file, e.getMessage()),
          e);
    }
    proveKey(own, config.key().orElseThrow());
    return new NodeCertificate(own);
  }

  /**
   * Refuses a certificate that is not valid now: no other node would accept it.
   *
   * @throws SettingsException with the dates
   */
  static void requireTimely(ClusterConfig config) {
    untimely(config).ifPresent(NodeCertificate::refuse);
  }

  private static void refuse(String why) {
    throw new SettingsException("cluster.certificate: " + why);
  }

  /**
   * Returns a line when a node's certificate is not valid now; empty when it is valid, when there
   * is none, and when its file holds none, which is an error of another kind.
   */
  static Optional<String> untimely(ClusterConfig config) {
    if (config.certificate().isEmpty()) {
      return Optional.empty();
    }
    String file = config.certificate().get();
    try {
      return untimely(file, read("certificate", file));
    } catch (SettingsException noCertificate) {
      return Optional.empty();
    }
  }

  private static Optional<String> untimely(String file, X509Certificate own) {
    try {
      own.checkValidity();
      return Optional.empty();
    } catch (CertificateException expired) {
      return Optional.of(
          "%s is valid from %s until %s, and this machine's clock says %s: make a new one, or set the clock"
              .formatted(
                  file,
                  own.getNotBefore().toInstant(),
                  own.getNotAfter().toInstant(),
                  Instant.now().truncatedTo(ChronoUnit.SECONDS)));
    }
  }

  /** Returns the certificate's subject and the date until which it is valid. */
  public String describe() {
    return "%s, valid until %s"
        .formatted(
            certificate.getSubjectX500Principal().getName(), certificate.getNotAfter().toInstant());
  }

  private static X509Certificate read(String key, String file) {
    try {
      InputStream in = new ByteArrayInputStream(JsonText.bytes(Path.of(file)));
      return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
    } catch (IOException | GeneralSecurityException e) {
      throw new SettingsException(
          "cluster.%s: %s is no PEM certificate: %s".formatted(key, file, e.getMessage()), e);
    }
  }

  private static void proveKey(X509Certificate certificate, String file) {
    try {
      String algorithm = certificate.getPublicKey().getAlgorithm();
      Signature signature =
          Signature.getInstance(algorithm.equals("EC") ? "SHA256withECDSA" : "SHA256withRSA");
      signature.initSign(privateKey(algorithm, file));
      signature.update(PROOF);
      byte[] signed = signature.sign();
      signature.initVerify(certificate.getPublicKey());
      signature.update(PROOF);
      if (!signature.verify(signed)) {
        throw new SettingsException(
            "cluster.key: %s does not belong to cluster.certificate".formatted(file));
      }
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      throw new SettingsException(
          "cluster.key: %s is no unencrypted PKCS#8 PEM key (BEGIN PRIVATE KEY) that fits %s: %s"
              .formatted(file, "cluster.certificate", e.getMessage()),
          e);
    }
  }

  private static PrivateKey privateKey(String algorithm, String file)
      throws IOException, GeneralSecurityException {
    String pem = new String(JsonText.bytes(Path.of(file)), StandardCharsets.ISO_8859_1);
    String body = pem.replaceAll("-----[A-Z ]+-----|\\s", "");
    PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(Base64.getDecoder().decode(body));
    return KeyFactory.getInstance(algorithm).generatePrivate(spec);
  }
}
