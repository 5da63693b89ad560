package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.SampleFiles.gzip;
import static io.vertigrad.compute.data.files.SampleFiles.write;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DatasetProvider.Split;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class MnistDownloadTest {

  private static final byte[] CONTENT = "pretend images".getBytes(StandardCharsets.UTF_8);
  private static final String ADVICE =
      "check the network and the address, or name another mirror with --download URL";

  private Mirror mirror;

  @TempDir private Path folder;

  /** Loads the client's classes, which takes longer than some of the limits below. */
  @BeforeAll
  static void fetchOnce(@TempDir Path first) throws IOException {
    try (Mirror other = new Mirror()) {
      other.serve(200, CONTENT);
      new HttpFetch(other.base(), 20_000).into(first.resolve("a"), CONTENT.length);
    }
  }

  @BeforeEach
  void openMirror() throws IOException {
    mirror = new Mirror();
  }

  @AfterEach
  void closeMirror() {
    mirror.close();
  }

  @Test
  void shouldKeepTheFileWhenItsContentIsRight() throws Exception {
    mirror.serve(200, gzip(CONTENT));

    download(5_000).into(folder);
    download(5_000).into(folder);

    assertArrayEquals(gzip(CONTENT), Files.readAllBytes(folder.resolve("mnist/a.gz")));
    assertEquals(List.of("a.gz"), kept());
    assertEquals(1, mirror.requests(), "what is there is not fetched again");
  }

  @Test
  void shouldDownloadNothingWhenTheFileIsInTheFolder() {
    write(folder.resolve("a"), CONTENT);

    download(5_000).into(folder);

    assertEquals(0, mirror.requests());
  }

  @Test
  void shouldNameTheStatusWhenItIsNot200() {
    mirror.serve(404, new byte[0]);

    assertEquals(
        address() + ": HTTP status 404, expected 200; " + ADVICE, refusal(download(5_000)));
    assertEquals(List.of(), kept());
  }

  @Test
  void shouldNameBothChecksumsWhenTheContentIsAnother() {
    byte[] other = "pretend imagez".getBytes(StandardCharsets.UTF_8);
    mirror.serve(200, gzip(other));

    assertEquals(
        address()
            + ": content has 14 bytes and SHA-256 %s, expected 14 bytes and %s; "
                .formatted(sha256(other), sha256(CONTENT))
            + "nothing was kept, name another mirror with --download URL",
        refusal(download(5_000)));
    assertEquals(List.of(), kept());
  }

  @Test
  void shouldStopUnpackingWhenTheContentIsTooLong() {
    mirror.serve(200, gzip(new byte[10_000_000]));

    String message = refusal(download(5_000));

    assertTrue(message.startsWith(address() + ": content has over 65536 bytes"), message);
  }

  @Test
  void shouldReportAPageInPlaceOfAGzip() {
    mirror.serve(200, "<html>log in first</html>".getBytes(StandardCharsets.UTF_8));

    assertEquals(
        address()
            + ": sent no valid gzip file (Not in GZIP format); "
            + "name another mirror with --download URL",
        refusal(download(5_000)));
    assertEquals(List.of(), kept());
  }

  @Test
  void shouldStopWhenTheBodyIsLongerThanTheFileCanBe() {
    mirror.serve(200, new byte[200_000]);

    assertEquals(
        address() + ": sends more than 65550 bytes, expected fewer; " + ADVICE,
        refusal(download(5_000)));
  }

  @Test
  void shouldReportThatNobodyAnswersWhenThePortIsClosed() {
    mirror.stop();

    String message = refusal(download(5_000));

    assertTrue(message.startsWith(address() + ": no answer (Connection refused"), message);
    assertTrue(message.endsWith(ADVICE), message);
  }

  @Test
  void shouldGiveUpWhenTheServerNeverAnswers() {
    mirror.neverAnswer();

    assertEquals(address() + ": no answer within 200 ms; " + ADVICE, refusal(download(200)));
    assertEquals(List.of(), kept());
  }

  @Test
  @Tag("slow")
  void shouldGiveUpWhenTheBodyStalls() {
    mirror.stall();

    assertEquals(
        address() + ": not complete within 3000 ms, 10 bytes came; " + ADVICE,
        refusal(download(3_000)));
    assertEquals(List.of(), kept());
  }

  @Test
  void shouldSayThatTheConnectionWasLostWhenTheServerHangsUp() {
    mirror.hangUp();

    String message = refusal(download(5_000));

    assertTrue(message.startsWith(address() + ": connection lost ("), message);
  }

  @Test
  void shouldFollowTheServerToAnotherAddress() {
    mirror.redirect("/a.gz", "/elsewhere/a.gz", gzip(CONTENT));

    download(5_000).into(folder);

    assertEquals(List.of("a.gz"), kept());
  }

  @Test
  void shouldDownloadThroughTheConfiguredProxy() {
    mirror.serve(200, gzip(CONTENT));
    RemoteFile file = new RemoteFile("a", CONTENT.length, sha256(CONTENT));
    URI nowhere = URI.create("http://mirror.invalid");

    through(
        ProxySelector.of(new InetSocketAddress("127.0.0.1", mirror.base().getPort())),
        () -> new MnistDownload(nowhere, List.of(file), 5_000).into(folder));

    assertEquals(List.of("a.gz"), kept());
  }

  @Test
  void shouldRefuseASocksProxyRatherThanLeaveItOut() {
    mirror.serve(200, gzip(CONTENT));
    ProxySelector socks =
        new ProxySelector() {
          @Override
          public List<Proxy> select(URI address) {
            return List.of(new Proxy(Proxy.Type.SOCKS, new InetSocketAddress("127.0.0.1", 1)));
          }

          @Override
          public void connectFailed(URI address, SocketAddress proxy, IOException failure) {
            throw new IllegalStateException("nobody connects to it");
          }
        };

    through(
        socks,
        () ->
            assertEquals(
                address()
                    + ": Java is to go through a SOCKS proxy (socksProxyHost), expected an HTTP"
                    + " proxy (http.proxyHost, https.proxyHost) or none for downloads",
                refusal(download(5_000))));

    assertEquals(0, mirror.requests());
  }

  private static void through(ProxySelector selector, Runnable action) {
    ProxySelector before = ProxySelector.getDefault();
    ProxySelector.setDefault(selector);
    try {
      action.run();
    } finally {
      ProxySelector.setDefault(before);
    }
  }

  @Test
  void shouldNameTheFolderWhenItCannotBeWritten() {
    mirror.serve(200, gzip(CONTENT));
    write(folder.resolve("mnist"), CONTENT);

    String message = refusal(download(5_000));

    assertTrue(message.startsWith(folder.resolve("mnist") + ": cannot be written: "), message);
  }

  @Test
  void shouldRefuseAnAddressThatIsNotHttp() {
    assertEquals(
        "ftp://example.org/mnist: cannot be downloaded from, expected an address such as "
            + "https://storage.googleapis.com/cvdf-datasets/mnist/",
        assertThrows(
                DataException.class,
                () -> MnistDownload.from(URI.create("ftp://example.org/mnist")))
            .getMessage());
  }

  @Test
  void shouldTrainOnDownloadedFiles() throws Exception {
    mirror.serve(RealData.folder("mnist"));
    URI address = mirror.base().resolve("/mirror");
    Path target = folder.resolve("new");
    DataConfig config =
        new DataConfig("mnist", Optional.of(target), Optional.of(address), Map.of());

    assertEquals(10_000, new MnistProvider().open(config, Split.TEST).size());
    assertEquals(4, mirror.requests());
    try (Stream<Path> files = Files.list(target.resolve("mnist"))) {
      assertEquals(4, files.count());
    }
  }

  private MnistDownload download(long timeoutMillis) {
    RemoteFile file = new RemoteFile("a", CONTENT.length, sha256(CONTENT));
    return new MnistDownload(mirror.base(), List.of(file), timeoutMillis);
  }

  private String refusal(MnistDownload download) {
    return assertThrows(DataException.class, () -> download.into(folder)).getMessage();
  }

  private List<String> kept() {
    String[] names = folder.resolve("mnist").toFile().list();
    return names == null ? List.of() : Arrays.asList(names);
  }

  private String address() {
    return mirror.base() + "/a.gz";
  }

  private static String sha256(byte[] content) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
