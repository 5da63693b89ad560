package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.SampleFiles.gzip;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.data.Tokenizer;
import io.vertigrad.compute.settings.SettingsException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TextProviderTest {

  @TempDir private Path folder;

  @Test
  void shouldCutWindowsWhoseClassIsTheNextByte() {
    Path file = write("a.txt", "abcdefghij");

    Dataset train = open(file, Split.TRAIN, Map.of("length", 3, "testShare", 0.4));
    Dataset test = open(file, Split.TEST, Map.of("length", 3, "testShare", 0.4));

    assertEquals(3, train.size(), "abc, bcd and cde of the first six");
    assertEquals(List.of(3), train.shape());
    assertEquals(256, train.classes());
    assertEquals(256, train.tokens());
    assertEquals(Targets.classes(256), train.targets());
    assertArrayEquals(new float[] {'b', 'c', 'd'}, window(train, 1));
    assertEquals('e', train.label(1));
    assertEquals(1, test.size());
    assertArrayEquals(new float[] {'g', 'h', 'i'}, window(test, 0));
    assertEquals('j', test.label(0));
    assertThrows(IndexOutOfBoundsException.class, () -> test.label(1));
  }

  @Test
  void shouldHaveATargetAtEachPositionWhenAskedFor() {
    Path file = write("a.txt", "abcdefghijkl");
    Dataset train =
        open(file, Split.TRAIN, Map.of("length", 3, "predict", "each", "testShare", 0.4));

    assertEquals(Targets.classes(256, 3), train.targets());
    assertEquals(2, train.size(), "windows do not overlap unless a stride says so");
    Batch batch = SequentialBatches.all(train, 2).iterator().next();
    assertEquals(2, batch.count());
    assertArrayEquals(new float[] {'a', 'b', 'c', 'd', 'e', 'f'}, batch.features());
    assertArrayEquals(new int[] {'b', 'c', 'd', 'e', 'f', 'g'}, batch.labels());
    Batch second = batch.part(1, 2, new float[3], List.of(3));
    assertArrayEquals(new int[] {'e', 'f', 'g'}, second.labels());
  }

  @Test
  void shouldUseTheEndOfAPrompt() {
    Path words = write("words.txt", "a\nb\nc\n<unk>\n");
    Path file = write("prompt.txt", "a b x c");

    Dataset bytes = asked(file, Map.of("length", 2));
    Dataset tokens = asked(file, Map.of("length", 2, "vocabulary", words.toString()));

    assertEquals(1, bytes.size());
    assertArrayEquals(new float[] {' ', 'c'}, window(bytes, 0));
    assertEquals("\u00e4b", bytes.text(0xC3, 0xA4, 'b'));
    assertEquals("\uFFFD", bytes.text(0xC3), "a part of a character");
    assertArrayEquals(new float[] {3, 2}, window(tokens, 0));
    assertEquals("<unk> c", tokens.text(3, 2));
    String refused =
        assertThrows(DataException.class, () -> asked(file, Map.of("length", 8))).getMessage();
    assertEquals(
        file + ": has 7 tokens, expected at least the 8 that the model takes (data.length)",
        refused);
  }

  private static Dataset asked(Path file, Map<String, Object> options) {
    return new TextProvider()
        .unlabelled(
            new DataConfig("text", Optional.empty(), Optional.empty(), options),
            file,
            List.of((Integer) options.get("length")));
  }

  @Test
  void shouldFollowStrideAndNumberOfWindows() {
    Path file = write("a.txt", "abcdefghijklmnopqrstuvwxyz");
    Map<String, Object> options = Map.of("length", 4, "stride", 5, "testShare", 0.2, "train", 3);

    Dataset train = open(file, Split.TRAIN, options);

    assertEquals(3, train.size());
    assertArrayEquals(new float[] {'k', 'l', 'm', 'n'}, window(train, 2));
    assertEquals(4, open(file, Split.TRAIN, with(options, "train", 100)).size());
  }

  @Test
  void shouldReadAFolderOfPagesOneAfterTheOther() {
    write("b.md", "BBBB");
    SampleFiles.write(folder.resolve("c.txt.gz"), gzip("CCCC".getBytes(StandardCharsets.UTF_8)));
    write("a.txt", "AAAA");
    write("ignored.csv", "1,2,3");

    Dataset train = open(folder, Split.TRAIN, Map.of("length", 8, "testShare", 0.25));

    assertEquals(1, train.size());
    assertArrayEquals(new float[] {'A', 'A', 'A', 'A', 'B', 'B', 'B', 'B'}, window(train, 0));
    assertEquals(
        folder
            + " (3 files): the test part has 3 of 12 tokens, expected at least 9: a window of 8"
            + " (data.length) and the token after it; data.testShare says how much is for testing",
        refusal(folder, Split.TEST, Map.of("length", 8, "testShare", 0.25)));
  }

  @Test
  void shouldTakeTheTwoFilesOfAFolderThatHasThem() {
    write("train.txt", "abcd");
    write("other.txt", "zzzz");

    assertEquals(2, open(folder, Split.TRAIN, Map.of("length", 2)).size());
    assertTrue(
        refusal(folder, Split.TEST, Map.of("length", 2)).contains("has no test.txt"),
        "a test set of another text would be a surprise");
    write("test.txt", "wxyz");
    assertEquals('y', open(folder, Split.TEST, Map.of("length", 2)).label(0));
  }

  @Test
  void shouldSplitWordsAsTheVocabularyHasThem() {
    Path words = write("words", "<unk>\nthe\nCat\nsat\n.\n,\nit's\n\u00fcber\n");
    Path file = write("a.txt", "the Cat, \u00fcber\n sat. it's the dog\tsat");
    Map<String, Object> options = Map.of("length", 9, "vocabulary", words.toString());
    write("train.txt", "the Cat, \u00fcber\n sat. it's the dog\tsat");
    write("test.txt", "the Cat, \u00fcber\n sat. it's the dog\tsat");

    Dataset train = open(folder, Split.TRAIN, options);

    assertEquals(8, train.tokens());
    assertEquals(1, train.size());
    assertArrayEquals(new float[] {1, 2, 5, 7, 3, 4, 6, 1, 0}, window(train, 0));
    assertEquals(3, train.label(0), "cat and Cat are two words, dog is unknown");
  }

  @Test
  void shouldTurnTextsIntoTokensAndBackWhenAVocabularyHasThem() {
    Path words = write("words", "the\nCat\n\u00fcber\n");
    DataConfig config =
        new DataConfig(
            "text", Optional.empty(), Optional.empty(), Map.of("vocabulary", words.toString()), "");
    Tokenizer tokenizer = new TextProvider().tokenizer(config).orElseThrow();

    assertEquals(3, tokenizer.size());
    assertArrayEquals(new int[] {1, 2, 0}, tokenizer.tokens("text_input", "Cat \u00fcber the"));
    assertArrayEquals(" \u00fcber".getBytes(StandardCharsets.UTF_8), tokenizer.bytes(2, false));
    assertArrayEquals("Cat".getBytes(StandardCharsets.UTF_8), tokenizer.bytes(1, true));
    assertTrue(
        assertThrows(DataException.class, () -> tokenizer.tokens("text_input", "the\ndog"))
            .getMessage()
            .startsWith("text_input:2: \"dog\" is not in " + words));
  }

  @Test
  void shouldNameAnUnknownWordWithoutAReplacementToken() {
    Path words = write("words", "a\nb\n");
    Path file = write("a.txt", "a b\nb c a\n");

    assertEquals(
        file
            + ":2: \"c\" is not in "
            + words
            + ", which has no token <unk> either; add one of them there, or name the token that"
            + " stands for unknown words in option unknown",
        refusal(file, Split.TRAIN, Map.of("length", 2, "vocabulary", words.toString())));
    Dataset train =
        open(
            file, Split.TRAIN, Map.of("length", 2, "vocabulary", words.toString(), "unknown", "a"));
    assertArrayEquals(new float[] {1, 1}, window(train, 1));
    assertEquals(0, train.label(1));
  }

  @Test
  void shouldRefuseAnInvalidVocabulary() {
    Path file = write("a.txt", "a b a b");
    assertVocabulary("a\n\nb\n", ":2: is empty, expected one token without white space", file);
    assertVocabulary("a\nb c\n", ":2: holds \"b c\", expected one token", file);
    assertVocabulary("a\nb\na\n", ":3: \"a\" is on line 1 already, expected each token once", file);
    assertVocabulary("a\n", ": has 1 tokens, expected at least 2", file);
    assertVocabulary("", ": has 0 tokens, expected at least 2", file);
    Path binary = SampleFiles.write(folder.resolve("binary"), new byte[] {'a', '\n', (byte) 0xFF});
    assertTrue(
        refusal(file, Split.TRAIN, Map.of("length", 2, "vocabulary", binary.toString()))
            .contains("binary:2: found the byte 0xff, byte 3 of the file, which is not UTF-8"));
    assertTrue(
        assertThrows(
                DataException.class,
                () ->
                    new TextProvider()
                        .check(
                            SampleFiles.in("text", file, Map.of("vocabulary", "missing")),
                            Split.TRAIN))
            .getMessage()
            .startsWith("missing: there is no such file, expected a vocabulary"));
  }

  @Test
  void shouldRefuseATextThatIsShorterThanAWindow() {
    Path empty = write("empty.txt", "");
    Path small = write("small.txt", "abcde");
    write("train.txt", "abcde");
    write("test.txt", "abc");

    assertEquals(
        empty
            + ": the training part has 0 of 0 tokens, expected at least 65: a window of 64"
            + " (data.length) and the token after it; data.testShare says how much is for testing",
        refusal(empty, Split.TRAIN, Map.of()));
    assertTrue(
        refusal(small, Split.TRAIN, Map.of("length", 4)).contains("4 of 5 tokens, expected at"));
    assertEquals(
        folder.resolve("test.txt")
            + ": the test part has 3 of 3 tokens, expected at least 4: a window of 3 (data.length)"
            + " and the token after it",
        refusal(folder, Split.TEST, Map.of("length", 3)));
    assertEquals(1, open(folder, Split.TEST, Map.of("length", 2)).size());
  }

  @Test
  void shouldReportTheMissingPart() {
    Path nothing = folder.resolve("nothing");

    assertTrue(refusal(nothing, Split.TRAIN, Map.of()).contains("no such folder"));
    assertTrue(refusal(folder, Split.TRAIN, Map.of()).contains("has no .txt or .md file"));
    assertEquals(
        "data set 'text': predict is \"all\", expected one of next, each",
        assertThrows(
                SettingsException.class, () -> open(folder, Split.TRAIN, Map.of("predict", "all")))
            .getMessage());
    assertThrows(SettingsException.class, () -> open(folder, Split.TRAIN, Map.of("length", 0)));
  }

  private void assertVocabulary(String words, String expected, Path file) {
    Path vocabulary = write("words", words);
    String found =
        refusal(file, Split.TRAIN, Map.of("length", 2, "vocabulary", vocabulary.toString()));
    assertTrue(found.startsWith(vocabulary + expected), found);
  }

  private Path write(String name, String text) {
    return SampleFiles.write(folder.resolve(name), text.getBytes(StandardCharsets.UTF_8));
  }

  private static Dataset open(Path place, Split split, Map<String, Object> options) {
    return new TextProvider().open(SampleFiles.in("text", place, options), split);
  }

  private static String refusal(Path place, Split split, Map<String, Object> options) {
    return assertThrows(DataException.class, () -> open(place, split, options)).getMessage();
  }

  private static Map<String, Object> with(Map<String, Object> options, String key, Object value) {
    Map<String, Object> changed = new HashMap<>(options);
    changed.put(key, value);
    return changed;
  }

  private static float[] window(Dataset dataset, int index) {
    float[] features = new float[dataset.shape().get(0)];
    dataset.read(index, features, 0);
    return features;
  }
}
