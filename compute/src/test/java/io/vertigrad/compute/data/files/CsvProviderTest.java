package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.SampleFiles.gzip;
import static io.vertigrad.compute.data.files.SampleFiles.write;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.Proxy;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CsvProviderTest {

  @TempDir private Path folder;

  @Test
  void shouldTakeTheFirstColumnAsLabelWhenNoOptionIsGiven() {
    train("3,0.5,-1\n\n9, 2 ,1e1\n");

    Dataset train = open(Split.TRAIN, Map.of());

    assertEquals(2, train.size());
    assertEquals(List.of(2), train.shape());
    assertEquals(10, train.classes());
    assertEquals(3, train.label(0));
    assertEquals(9, train.label(1));
    assertArrayEquals(new float[] {0.5f, -1}, sample(train, 0));
    assertArrayEquals(new float[] {2, 10}, sample(train, 1));
  }

  @Test
  void shouldReadSamplesForPredictionWithOrWithoutTargets() {
    Map<String, Object> options = Map.of("targets", List.of(3, 1), "scale", 2);
    write(folder.resolve("values.csv"), "0.5,-1\n1,2\n".getBytes(StandardCharsets.UTF_8));
    write(folder.resolve("whole.csv"), "unread,0.5,,-1\n".getBytes(StandardCharsets.UTF_8));
    write(folder.resolve("three.csv"), "0,0,0\n".getBytes(StandardCharsets.UTF_8));

    Dataset values = asked("values.csv", options);
    Dataset whole = asked("whole.csv", options);

    assertEquals(2, values.size());
    assertArrayEquals(new float[] {1, -2}, sample(values, 0));
    assertArrayEquals(new float[] {2, 4}, sample(values, 1));
    assertArrayEquals(new float[] {1, -2}, sample(whole, 0), "targets are not read");
    assertEquals(
        folder.resolve("three.csv")
            + ":1: 3 columns, expected 2, the values of a sample, or 4 with what the model tells in"
            + " column 3, 1",
        assertThrows(DataException.class, () -> asked("three.csv", options)).getMessage());
  }

  private Dataset asked(String file, Map<String, Object> options) {
    return new CsvProvider()
        .unlabelled(
            new DataConfig("csv", Optional.empty(), Optional.empty(), options),
            folder.resolve(file),
            List.of(2));
  }

  @Test
  void shouldFollowEveryOptionWhenGiven() {
    String text = "\uFEFFa,b,c,d,class\r\n255,0,51,102,1\r\n";
    write(folder.resolve("csv/test.csv.gz"), gzip(text.getBytes(StandardCharsets.UTF_8)));
    Map<String, Object> options =
        Map.of(
            "label",
            5,
            "classes",
            2,
            "scale",
            1 / 255.0,
            "shape",
            List.of(1, 2, 2),
            "header",
            true);

    Dataset test = open(Split.TEST, options);

    assertEquals(List.of(1, 2, 2), test.shape());
    assertEquals(2, test.classes());
    assertEquals(1, test.label(0));
    assertArrayEquals(new float[] {1, 0, 0.2f, 0.4f}, sample(test, 0), 1e-6f);
  }

  @Test
  void shouldIgnoreAByteOrderMarkWhenTheFirstLineIsASample() {
    train("\uFEFF4,1\n");

    assertEquals(4, open(Split.TRAIN, Map.of()).label(0));
  }

  @Test
  void shouldRefuseNormalizationsOfImages() {
    train("3,0.5,-1\n");

    assertEquals(
        "data set 'csv': normalization is \"unit\", expected one of raw, standard",
        assertThrows(
                SettingsException.class, () -> open(Split.TRAIN, Map.of("normalization", "unit")))
            .getMessage());
  }

  @Test
  void shouldNameLineAndColumnWhenACellIsNoNumber() {
    Path path = train("1,2,3\n1,2,x\n");
    assertEquals(path + ":2: column 3 is \"x\", expected a number", refusal(Map.of()));

    train("label,a,b\n1,2,3\n");
    assertEquals(
        path
            + ":1: column 2 is \"a\", expected a number; "
            + "if line 1 holds names, set option header to true",
        refusal(Map.of()));

    train("1,2,3\n1,Infinity,3\n");
    assertEquals(path + ":2: column 2 is \"Infinity\", expected a number", refusal(Map.of()));
  }

  @Test
  void shouldReadQuotesAndTheirEscapesWhenCellsHoldSeparators() {
    train("\"3\",\"0.5\", \"-1\" \n\"the \"\"label\"\",\n or so\",1,2\n");

    assertEquals(
        folder.resolve("train.csv")
            + ":2: column 1, the label, is \"the \"label\",\n or so\", expected a whole number from 0"
            + " to 9 (option classes); labels are names of classes if the first one is a word",
        refusal(Map.of()));

    train("\"name, the \"\"label\"\"\nof it\",a,b\n\"3\",\"0.5\", \"-1\" \n");
    Dataset train = open(Split.TRAIN, Map.of("header", true));

    assertEquals(1, train.size());
    assertEquals(3, train.label(0));
    assertArrayEquals(new float[] {0.5f, -1}, sample(train, 0));
  }

  @ParameterizedTest
  @ValueSource(strings = {";", "\t", "|", " ", "#", ":"})
  void shouldReadOtherSeparatorsAndQuotesWhenNamed(String separator) {
    train(String.join(separator, "3", "'0.5'", "-1\n") + String.join(separator, "'4'", "1", "2"));

    Dataset train = open(Split.TRAIN, Map.of("separator", separator, "quote", "'"));

    assertEquals(List.of(2), train.shape());
    assertEquals(4, train.label(1));
    assertArrayEquals(new float[] {0.5f, -1}, sample(train, 0));
  }

  @Test
  void shouldReadMoreColumnsThanTheLibraryTakesByDefault() {
    train("1" + ",0.5".repeat(150_528) + "\n");

    assertEquals(List.of(150_528), open(Split.TRAIN, Map.of()).shape());
  }

  @Test
  void shouldNameTheLineWhenQuotesAreWrong() {
    Path path = train("1,2\n\n3,\"4\n5,6\n");
    assertEquals(
        path
            + ":3: Unclosed quoted field at end of input (record starting at line 3); expected"
            + " values separated by ',', '\"' around those that hold it, doubled inside",
        refusal(Map.of()));

    train("1,\"2\"x\n");
    String refusal = refusal(Map.of());
    assertTrue(refusal.startsWith(path + ":1: Unexpected character after closing quote"), refusal);
  }

  @Test
  void shouldNameTheSeparatorWhenALineIsOneColumn() {
    Path path = train("1;2;3\n");

    assertEquals(
        path
            + ":1: 1 column, expected the label and at least one value separated by ','; if the"
            + " file has another separator, set option separator",
        refusal(Map.of()));
  }

  @Test
  void shouldNameTheOptionWhenSeparatorOrQuoteIsUnusable() {
    train("1,2\n");

    assertEquals(
        "data set 'csv': separator is \", \", expected one character that is neither of a number"
            + " nor a line break",
        setting(Map.of("separator", ", ")));
    assertEquals(
        "data set 'csv': separator is \"\\n\", expected one character that is neither of a number"
            + " nor a line break",
        setting(Map.of("separator", "\n")));
    assertEquals(
        "data set 'csv': quote is the separator too, expected another character",
        setting(Map.of("separator", "|", "quote", "|")));
  }

  @Test
  void shouldNameTheLineWhenColumnsAreMissing() {
    Path path = train("1,2,3\n1,2\n");

    assertEquals(path + ":2: 2 columns, expected 3 as before", refusal(Map.of()));
  }

  @Test
  void shouldNameTheLabelWhenItIsOutOfRange() {
    Path path = train("1,2\n3,2\n");
    assertEquals(
        path
            + ":2: column 1, the label, is \"3\", "
            + "expected a whole number from 0 to 2 (option classes)",
        refusal(Map.of("classes", 3)));

    train("0.5,2\n");
    assertEquals(
        path
            + ":1: column 1, the label, is \"0.5\", "
            + "expected a whole number from 0 to 9 (option classes)",
        refusal(Map.of()));
  }

  @Test
  void shouldNameTheShapeWhenTheColumnsDoNotFitIt() {
    Path path = train("1,2,3,4\n");

    assertEquals(
        path + ":1: 4 columns, expected 5: the label and shape [1, 2, 2]",
        refusal(Map.of("shape", List.of(1, 2, 2))));
    assertEquals(
        path + ":1: 4 columns, expected the label in column 9 and at least one value",
        refusal(Map.of("label", 9)));
  }

  @Test
  void shouldRefuseAnEmptyOrMissingFile() {
    Path path = train("\n");
    assertEquals(path + ": holds no sample, expected one on each line", refusal(Map.of()));

    String missing =
        assertThrows(DataException.class, () -> open(Split.TEST, Map.of())).getMessage();
    assertEquals(
        folder
            + ": has no test.csv or test.csv.gz, neither directly nor in csv/; "
            + "name one file, or the folder with train.csv and test.csv, with --data, or test on a share"
            + " of train.csv (data.testShare)",
        missing);
  }

  @Test
  void shouldNameTheOptionWhenTheShapeIsNone() {
    train("1,2\n");

    assertEquals(
        "data set 'csv': shape has 0.0, expected whole numbers from 1 with a product up to 1000000",
        assertThrows(
                SettingsException.class, () -> open(Split.TRAIN, Map.of("shape", List.of(0, 3))))
            .getMessage());
    assertThrows(
        SettingsException.class,
        () -> open(Split.TRAIN, Map.of("shape", List.of(100_000, 100_000))));
  }

  @Test
  void shouldReadValuesFromTheColumnsThatTargetsName() {
    train("1,0.5,-1,20\n2,-2.5,3,40\n");

    Dataset train =
        open(Split.TRAIN, Map.of("targets", List.of(4, 2), "scale", 0.1, "normalization", "raw"));

    assertEquals(Targets.values(2), train.targets());
    assertEquals(2, train.classes());
    assertEquals(List.of(2), train.shape());
    assertArrayEquals(new float[] {0.2f, 0.3f}, sample(train, 1), 1e-6f);
    float[] targets = new float[3];
    train.readTargets(1, targets, 1);
    assertArrayEquals(new float[] {0, 40, -2.5f}, targets, "in the order named, not scaled");
    Batch batch = SequentialBatches.all(train, 2).iterator().next();
    assertEquals(2, batch.count());
    assertArrayEquals(new float[] {20, 0.5f, 40, -2.5f}, batch.targets());
    assertArrayEquals(
        new float[] {40, -2.5f}, batch.part(1, 2, new float[2], List.of(2)).targets());
  }

  @Test
  void shouldStandardiseTargetsByTheTrainingRowsAndAnswerInTheirUnit() {
    Path file =
        prices(
            IntStream.range(0, 40)
                .mapToObj(i -> i + "," + (1_790_000_000_000L + 2 * (i % 2)) + ",7\n")
                .collect(Collectors.joining("", "x,price,same\n", "")));
    Map<String, Object> options = Map.of("targets", List.of("price", "same"), "testShare", 0.5);

    Dataset train = ofFile(file, Split.TRAIN, options, Map.of());
    Dataset test = ofFile(file, Split.TEST, options, Map.of());
    DataConfig config = SampleFiles.in("csv", file, options).fitted(test.fitted());
    List<TargetColumn> columns = new CsvProvider().targetColumns(config);

    assertEquals(train.fitted(), test.fitted());
    double sum = 0;
    float[] values = new float[2];
    for (int i = 0; i < train.size(); i++) {
      train.readTargets(i, values, 0);
      sum += values[0];
      assertEquals(1, Math.abs(values[0]), 0.5, "differences of a large number are kept");
      assertEquals(0, values[1], "a constant is 0");
    }
    assertEquals(0, sum, 1e-3);
    assertEquals(List.of("price", "same"), columns.stream().map(TargetColumn::name).toList());
    assertEquals(7, columns.get(1).value(0));
    test.readTargets(0, values, 0);
    assertEquals(0, columns.get(0).value(values[0]) % 2, 1e-3);
    assertEquals(
        "targets column 2 (\"price\"), column 3 (\"same\"), 1 inputs, 2 real values",
        new CsvProvider().describe(config, test));
  }

  @Test
  void shouldScoreInTheUnitOfEachTarget() {
    Model network =
        (Model)
            Proxy.newProxyInstance(
                Model.class.getClassLoader(),
                new Class<?>[] {Model.class},
                (proxy, method, arguments) ->
                    method.getName().equals("probabilities")
                        ? new float[] {0, 1, 0.5f, -1}
                        : method.getReturnType() == int.class ? 0 : null);
    List<TargetColumn> columns =
        List.of(new TargetColumn("price", 400_000, 100_000), new TargetColumn("rooms", 4, 2));
    Model model = new StandardisedModel(network, columns);
    float[] targets = {0.3f, 1, 0.1f, 0};
    Batch batch = new Batch(2, new float[2], new int[0], targets, List.of(1), 0);

    Score score = model.score(batch, 0);

    assertArrayEquals(new float[] {400_000, 6, 450_000, 2}, model.probabilities(batch, 2));
    assertEquals((0.09 + 0.16 + 1) / 4, score.loss(), 1e-6, "in standard deviations");
    assertEquals("price", score.errors().get(0).name());
    assertEquals(Math.sqrt((9e8 + 16e8) / 2), score.errors().get(0).rmse(), 0.01);
    assertEquals(35_000, score.errors().get(0).mae(), 0.01);
    assertEquals("RMSE of price 35,355 (MAE 35,000), of rooms 1.414 (MAE 1.000)", score.text(""));
    assertEquals(score.errors().get(1), score.plus(score).errors().get(1));
  }

  @Test
  void shouldSayWhichColumnIsTheLabelWhenNoneIsNamed() {
    Path file = prices("id,x,class\n1,2,a\n2,3,b\n3,4,a\n4,5,b\n");
    Map<String, Object> options = Map.of("header", true, "ignore", "class");
    Dataset train = ofFile(file, Split.TRAIN, options, Map.of());

    assertTrue(
        new CsvProvider()
            .describe(SampleFiles.in("csv", file, options), train)
            .startsWith(
                "label column 1 (\"id\"), because data.label is not set, 1 inputs, 4 classes: 1, 2"));
  }

  @Test
  void shouldReadLabelsOfZeroAndOne() {
    train("1,0,5\n0,1,6\n");

    Dataset train = open(Split.TRAIN, Map.of("labels", List.of(1, 2)));

    assertEquals(Targets.labels(2), train.targets());
    float[] labels = new float[2];
    train.readTargets(1, labels, 0);
    assertArrayEquals(new float[] {0, 1}, labels);
  }

  @Test
  void shouldNameTheColumnWhenATargetIsMalformed() {
    Path file = train("1,0,5\n0,0.5,6\n");

    assertEquals(
        file
            + ":2: column 2, a label, is \"0.5\", expected 0 or 1 (option labels; real values are"
            + " option targets)",
        refusal(Map.of("labels", List.of(1, 2))));
    train("1,nan,5\n");
    assertTrue(
        refusal(Map.of("targets", List.of(2)))
            .endsWith(
                "column 2 is \"nan\", expected a number"
                    + "; if line 1 holds names, set option header to true"));
    assertEquals(
        file + ":1: 3 columns, expected one of targets in column 4 and at least one value",
        refusal(Map.of("targets", List.of(4))));
    assertEquals(
        file
            + ":1: 3 columns, all of which option targets names, expected at least one value beside them",
        refusal(Map.of("targets", List.of(1, 2, 3))));
    assertEquals(
        file + ":1: 3 columns, expected 6: 2 targets and shape [2, 2]",
        refusal(Map.of("targets", List.of(1, 2), "shape", List.of(2, 2))));
  }

  @Test
  void shouldRefuseTargetsThatContradictEachOther() {
    train("1,2,3\n");

    assertEquals(
        "data set 'csv': labels is given beside targets, expected one of them: 0 and 1, or real"
            + " values",
        setting(Map.of("labels", List.of(1), "targets", List.of(2))));
    assertEquals(
        "data set 'csv': classes is given beside targets, expected one of them: a class, or the"
            + " columns of several targets",
        setting(Map.of("classes", 2, "targets", List.of(2))));
    assertEquals(
        "data set 'csv': targets has column 2 twice, expected each once",
        setting(Map.of("targets", List.of(2, 2))));
    assertEquals(
        "data set 'csv': targets has 0.0, expected columns, whole numbers from 1 to 1000000",
        setting(Map.of("targets", List.of(0))));
    assertEquals(
        "data set 'csv': targets is [], expected a number or a list of numbers",
        setting(Map.of("targets", List.of())));
  }

  private static final String PRICES =
      """
      id,size,colour,rooms,class
      1,10,red,1,dear
      2,20,blue,,cheap
      3,30,red,3,dear
      4,40,green,4,cheap
      5,50,blue,5,dear
      6,60,red,6,fair
      7,70,green,7,cheap
      8,80,blue,8,dear
      9,90,red,9,fair
      10,100,blue,10,cheap
      """;

  private static final Map<String, Object> OF_PRICES =
      Map.of(
          "label", "class",
          "ignore", "id",
          "categories", List.of("colour"),
          "missing", "mean",
          "testShare", 0.2);

  @Test
  void shouldTrainAndTestOnSharesOfOneFileWhoseColumnsAreNamed() {
    Path file = prices(PRICES);

    Dataset train = ofFile(file, Split.TRAIN, OF_PRICES, Map.of());
    Dataset test = ofFile(file, Split.TEST, OF_PRICES, Map.of());

    assertEquals(8, train.size());
    assertEquals(2, test.size());
    assertEquals(List.of("cheap", "dear", "fair"), train.classNames());
    assertEquals(train.classNames(), test.classNames());
    assertEquals(3, train.classes());
    assertEquals(List.of(5), train.shape(), "size, three colours, rooms");
    assertEquals(List.of("cheap", "dear", "fair"), names(file, OF_PRICES));
    int[] inTest = TestShare.split(10, 0.2, 1, Split.TEST);
    int[] inTraining = TestShare.split(10, 0.2, 1, Split.TRAIN);
    assertEquals(
        IntStream.range(0, 10).boxed().toList(),
        IntStream.concat(IntStream.of(inTest), IntStream.of(inTraining)).sorted().boxed().toList());
    double mean = IntStream.of(inTraining).map(i -> 10 * (i + 1)).average().orElseThrow();
    double variance =
        IntStream.of(inTraining)
            .mapToDouble(i -> Math.pow(10 * (i + 1) - mean, 2))
            .average()
            .orElseThrow();
    for (int i = 0; i < test.size(); i++) {
      double size = 10 * (inTest[i] + 1);
      assertEquals((size - mean) / Math.sqrt(variance), sample(test, i)[0], 1e-6);
    }
    for (int i = 0; i < train.size(); i++) {
      if (inTraining[i] == 1) {
        assertArrayEquals(
            new float[] {1, 0, 0, 0},
            new float[] {
              sample(train, i)[1], sample(train, i)[2], sample(train, i)[3], sample(train, i)[4]
            },
            "blue, and the mean in the place of the rooms that are missing");
      }
    }
  }

  @Test
  void shouldChooseOtherTestRowsWithAnotherSeedOnly() {
    assertArrayEquals(new int[] {8, 9}, TestShare.split(10, 0.2, 1, Split.TEST));
    assertFalse(
        Arrays.equals(
            TestShare.split(1000, 0.2, 1, Split.TEST), TestShare.split(1000, 0.2, 2, Split.TEST)));
    assertEquals(1, TestShare.split(2, 0.001, 1, Split.TEST).length);
    assertEquals(1, TestShare.split(2, 0.999, 1, Split.TRAIN).length);
  }

  @Test
  void shouldPrepareLinesAndFilesAsTheTrainingRowsWhenAModelIsAsked() {
    Path file = prices(PRICES);
    Dataset train = ofFile(file, Split.TRAIN, OF_PRICES, Map.of());
    Map<String, Object> fitted =
        new JsonObject(new JsonObject(new TreeMap<>(train.fitted())).encode()).getMap();
    int[] rows = TestShare.split(10, 0.2, 1, Split.TRAIN);
    int third = Arrays.binarySearch(rows, 2);
    float[] expected = sample(train, third);
    Path other = write(folder.resolve("a.csv"), "colour,more,rooms,size\nred,x,3,30\n".getBytes());
    Path bare = write(folder.resolve("b.csv"), "30,red,3\n".getBytes());

    assertArrayEquals(expected, sample(line("30,red,3", fitted), 0));
    assertArrayEquals(expected, sample(line("99,30,red,3", fitted), 0), "without the label");
    assertArrayEquals(expected, sample(line("99,30,red,3,?", fitted), 0), "a whole line");
    assertArrayEquals(expected, sample(unlabelled(other, fitted), 0), "by name");
    assertArrayEquals(expected, sample(unlabelled(bare, fitted), 0), "without a header");
    assertEquals(
        0, sample(line("30,red,", fitted), 0)[4], 1e-6, "the mean in the place of missing rooms");
    assertEquals(
        "\"30,pink,3\": column 2 is \"pink\", expected one of the words of the training: blue,"
            + " green, red",
        refused(() -> line("30,pink,3", fitted)));
    assertEquals(
        "\"30\": 1 columns, expected 3, the values of a sample (size, colour, rooms), or 5 with what"
            + " the model tells in column 5",
        refused(() -> line("30", fitted)));
    Path lacking = write(folder.resolve("c.csv"), "colour,size\nred,30\n".getBytes());
    assertEquals(
        lacking
            + ":1: has no column \"rooms\", expected those of the training: id, size, colour, rooms,"
            + " class; line 1 holds colour, size",
        refused(() -> unlabelled(lacking, fitted)));
    Dataset evaluated =
        ofFile(prices(PRICES.replace("10,100,blue,10,cheap\n", "")), Split.TEST, OF_PRICES, fitted);
    assertEquals(train.classNames(), evaluated.classNames());
    assertEquals(train.fitted().toString(), evaluated.fitted().toString());
  }

  @Test
  void shouldRefuseMissingValuesUnlessAReplacementIsConfigured() {
    Path file = prices("a,b,class\n1,NA,x\n2,3,y\n3,4,x\n");
    Map<String, Object> named = Map.of("label", "class");

    assertEquals(
        file
            + ":2: column 2 (\"b\") is \"NA\", a missing value, expected a number; option missing fills"
            + " missing values, with \"mean\" or a number",
        refused(() -> ofFile(file, Split.TRAIN, named, Map.of())));
    Map<String, Object> filled = Map.of("label", "class", "missing", -1, "normalization", "raw");
    Dataset train = ofFile(file, Split.TRAIN, filled, Map.of());
    Dataset test = ofFile(file, Split.TEST, filled, Map.of());
    float sum = 0;
    for (int i = 0; i < train.size(); i++) {
      sum += sample(train, i)[1];
    }
    assertEquals(6, sum + sample(test, 0)[1]);
    assertEquals(
        "data set 'csv': missing is \"zero\", expected refuse, mean or a number",
        assertThrows(
                SettingsException.class,
                () -> ofFile(file, Split.TRAIN, Map.of("missing", "zero"), Map.of()))
            .getMessage());
  }

  @Test
  void shouldReportInvalidNamedColumns() {
    Path file = prices("a,b,class\n1,x,u\n2,3,v\n");

    assertEquals(
        file
            + ":1: has no column \"clas\" (option label), expected one of its columns: a, b, class",
        refused(() -> ofFile(file, Split.TRAIN, Map.of("label", "clas"), Map.of())));
    assertEquals(
        file
            + ":2: column 2 (\"b\") is \"x\", expected a number; option categories names columns of"
            + " words",
        refused(() -> ofFile(file, Split.TRAIN, Map.of("label", "class"), Map.of())));
    assertEquals(
        "data set 'csv': header is false, but columns are named, expected true or columns by number",
        assertThrows(
                SettingsException.class,
                () -> ofFile(file, Split.TRAIN, Map.of("label", "a", "header", false), Map.of()))
            .getMessage());
    Path same = prices("a,class\n1,u\n2,u\n");
    assertEquals(
        same + ": every label is \"u\", expected at least two classes in column 2 (\"class\")",
        refused(() -> ofFile(same, Split.TRAIN, Map.of("label", "class"), Map.of())));
    Path real = prices("a,price\n1,2.5\n2,3.5\n");
    assertEquals(
        real
            + ":2: column 2 (\"price\"), the label, is \"2.5\", expected a word or a whole number; real"
            + " values are option targets",
        refused(() -> ofFile(real, Split.TRAIN, Map.of("label", "price"), Map.of())));
  }

  @Test
  void shouldTakeClassesThatAreWordsFromTheTrainingFile() {
    train("pear,1\napple,2\nfig,3\n");
    write(folder.resolve("test.csv"), "fig,4\npear,5\n".getBytes());

    Dataset test = open(Split.TEST, Map.of());

    assertEquals(List.of("apple", "fig", "pear"), test.classNames());
    assertEquals(1, test.label(0));
    assertEquals(2, test.label(1));
    Path wrong = write(folder.resolve("test.csv"), "fig,4\nplum,5\n".getBytes());
    assertEquals(
        wrong
            + ":2: column 1, the label, is \"plum\", expected one of the classes of the training:"
            + " apple, fig, pear",
        refused(() -> open(Split.TEST, Map.of())));
  }

  @Test
  void shouldKeepValuesAndClassesAsTheyWereWhenNoNewOptionIsGiven() {
    train("2,0.1,7\n0,1e-3,9\n");

    Dataset train = open(Split.TRAIN, Map.of("scale", 0.3));

    assertEquals(List.of(), train.classNames());
    assertEquals(10, train.classes());
    assertArrayEquals(new float[] {0.1f * 0.3f, 7 * 0.3f}, sample(train, 0), 0);
  }

  @ParameterizedTest
  @CsvSource({
    "'2D,3D', '2D,3D'",
    "'2d,1d,1f', '1d,1f,2d'",
    "'1.0,1,x', '1,1.0,x'",
    "'007,7,10', '007,7,10'",
    "'10,9,-1', '-1,9,10'",
    "'1e3,0x1p3,5', '0x1p3,1e3,5'",
    "'1.10,1.1,none', '1.1,1.10,none'"
  })
  void shouldKeepLabelsAsTheyAreWritten(String labels, String classes) {
    String text =
        IntStream.range(0, 12)
            .mapToObj(i -> i + "," + labels.split(",")[i % labels.split(",").length] + "\n")
            .collect(Collectors.joining("", "x,label\n", ""));

    Dataset train = ofFile(prices(text), Split.TRAIN, Map.of("label", "label"), Map.of());

    assertEquals(List.of(classes.split(",")), train.classNames());
  }

  @Test
  void shouldRefuseAnotherSpellingOfALabelInTheTestFile() {
    train("x,2\n1,3\n2,4\n");
    Path test = write(folder.resolve("test.csv"), "1.0,4\n".getBytes());

    assertEquals(
        test
            + ":1: column 1, the label, is \"1.0\", expected one of the classes of the training: 1, 2,"
            + " x",
        refused(() -> open(Split.TEST, Map.of())));
  }

  @Test
  void shouldGiveLabelsOfTheTestFileTheClassesOfTheTraining() {
    train("x,2\n1,3\n2,4\n");
    write(folder.resolve("test.csv"), "2,4\n1,4\n".getBytes());

    Dataset test = open(Split.TEST, Map.of());

    assertEquals(List.of("1", "2", "x"), test.classNames());
    assertEquals(1, test.label(0), "not class 2: labels of the training are names");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0x1p3", "7d", "3F", "NaN,", "1_000", "2024-01-31", "true", "١"})
  void shouldRefuseInputsThatAreNoDecimalNumbers(String cell) {
    train("1,%s\n".formatted(cell.replace(",", "")));

    String refused = refusal(Map.of("missing", "refuse"));

    assertTrue(refused.contains(":1: column 2 is \"" + cell.replace(",", "") + "\", "), refused);
  }

  @Test
  void shouldRefuseNumbersBeyondTheRangeOfFloats() {
    Path file = train("1,1e39\n");

    assertEquals(
        file + ":1: column 2 is \"1e39\", expected a number in the range of float32",
        refusal(Map.of()));
    train("1,1e38\n");
    assertEquals(
        file + ": column 2 is 1.0E38, which is Infinity as an input, expected the range of float32",
        refusal(Map.of("scale", 1e6)));
    train("1e400,1\n");
    assertTrue(refusal(Map.of()).contains("the label, is \"1e400\", expected a whole number"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"1790000000", "1790000000000", "1790000000000000", "0"})
  void shouldStandardiseInDoublePrecision(String start) {
    long first = Long.parseLong(start);
    String text =
        IntStream.range(0, 40)
            .mapToObj(i -> (first + 50 * (i % 2)) + "," + (i % 2 == 0 ? "early" : "late") + "\n")
            .collect(Collectors.joining("", "t,class\n", ""));
    Path file = prices(text);

    Dataset train = ofFile(file, Split.TRAIN, Map.of("label", "class"), Map.of());

    float[] ofLine = sample(line(Long.toString(first + 50), train, Map.of("label", "class")), 0);
    for (int i = 0; i < train.size(); i++) {
      assertEquals(train.label(i) == 0 ? -1 : 1, sample(train, i)[0], 0.2);
      if (train.label(i) == 1) {
        assertArrayEquals(ofLine, sample(train, i), 0);
      }
    }
  }

  @Test
  void shouldWarnOfDistinctValuesThatBecomeOneFloat() {
    Path file = train("0,16777216,0.5\n1,16777217,0.25\n0,16777216.0,0.75\n");

    assertEquals(
        List.of(
            file
                + ": column 2: 16777216 and 16777217 become the same float32, 16777216; normalization"
                + " standard keeps them apart"),
        warnings(folder, Map.of()));
    assertEquals(List.of(), warnings(folder, Map.of("normalization", "standard")));
    train("0,1.00000000012345\n1,1.00000000012346\n1,2\n");
    assertEquals(List.of(), warnings(folder, Map.of()), "rounding that no model can see");
    train("0,1.00000000012345\n1,1.00000000012346\n");
    assertEquals(1, warnings(folder, Map.of()).size(), "the whole range of the column");
    train("x,1790000000000000001\ny,1790000000000000002\n");
    assertEquals(
        List.of(
            file
                + ": column 2: 1790000000000000001 and 1790000000000000002 become the same float64,"
                + " 1790000000000000000"),
        warnings(folder, Map.of("normalization", "standard")));
    train("0,1790000000,1\n1,1790000050,2\n");
    assertEquals(List.of(), warnings(folder, Map.of("targets", 2)), "standardised as doubles");
    Map<String, Object> raw = Map.of("targets", 2, "normalization", "raw");
    assertEquals(1, warnings(folder, raw).size(), "raw targets are float32");
  }

  @Test
  void shouldRefuseOtherEncodingsWithLineAndByte() {
    byte[] latin = "t\u00e4xt,class\n1,f\u00fcr\n2,neu\n".getBytes(StandardCharsets.ISO_8859_1);
    Path file = write(folder.resolve("prices.csv"), latin);
    String expected =
        "which is not UTF-8, expected UTF-8, which `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEWFILE`"
            + " makes of it; name its own encoding where it is not WINDOWS-1252";
    assertEquals(
        file + ":1: found the byte 0xe4, byte 2 of the file, " + expected,
        refused(() -> ofFile(file, Split.TRAIN, Map.of("label", 2), Map.of())));
    String ascii = "x,class\n1,new\n2,";
    write(file, (ascii + "f\u00fcr\n").getBytes(StandardCharsets.ISO_8859_1));
    assertEquals(
        file + ":3: found the byte 0xfc, byte 18 of the file, " + expected,
        refused(() -> ofFile(file, Split.TRAIN, Map.of("label", 2), Map.of())));
    write(file, (ascii + "f\u00fc").getBytes(StandardCharsets.ISO_8859_1));
    assertTrue(
        refused(() -> new CsvProvider().warnings(SampleFiles.in("csv", file, Map.of("label", 2))))
            .startsWith(file + ":3: found the byte 0xfc, byte 18 of"));
    write(file, "x,class\n1,f\u00fcr\n2,neu\n".getBytes(StandardCharsets.UTF_16LE));
    assertEquals(
        file
            + ":1: is UTF-16LE, expected UTF-8, which `iconv -f UTF-16LE -t UTF-8 FILE > NEWFILE` makes of it",
        refused(() -> ofFile(file, Split.TRAIN, Map.of("label", 2), Map.of())));
  }

  @Test
  void shouldReadTextWithAByteOrderMark() {
    String text = "class,x\nf\u00e4r,1\nf\u00fcr \ud83d\ude00,2\nf\u00e4r,3\n";
    for (Charset encoding : List.of(StandardCharsets.UTF_8, StandardCharsets.UTF_16LE)) {
      Path file = write(folder.resolve("prices.csv"), ("\ufeff" + text).getBytes(encoding));
      assertEquals(
          List.of("f\u00e4r", "f\u00fcr \ud83d\ude00"), names(file, Map.of("label", "class")));
    }
  }

  @Test
  void shouldWarnOfWordsThatLookAlike() {
    Path file =
        prices(
            "x,w,class\n1,a\u00a0b,k\u00fchl\n2,a b,ku\u0308hl\n3,a b,k\u00fchl\n4,a b,neu\u0000\n");
    assertEquals(
        List.of(
            file
                + ": column 2 (\"w\"): \"a b\" (3 rows) and \"a\u00a0b\" (with U+00A0; 1 rows) look alike, but are 2"
                + " words; write them in one way if they are one",
            file
                + ": column 3 (\"class\"), the label: \"ku\u0308hl\" (with U+0308; 1 rows) and \"k\u00fchl\""
                + " (with U+00FC; 2 rows) look alike, but are 2 words; write them in one way if they are one",
            file
                + ": column 3 (\"class\"), the label: \"neu\\u0000\" (with U+0000; 1 rows) has a character that"
                + " is not seen; remove it if it is not meant"),
        warnings(file, Map.of("label", "class", "categories", "w")));
    prices("gro\u0308\u00dfe,class\n1,a\n2,b\n");
    assertTrue(
        refused(() -> ofFile(file, Split.TRAIN, Map.of("label", "gr\u00f6\u00dfe"), Map.of()))
            .endsWith(
                "; one of them looks the same, but has other characters: copy it from there"));
  }

  @Test
  void shouldWarnOfLabelsThatNameRows() {
    Path file =
        prices(
            IntStream.range(0, 30)
                .mapToObj(i -> "id" + i + "," + i % 7 + "\n")
                .collect(Collectors.joining("", "id,x\n", "")));
    assertEquals(
        List.of(
            file
                + ": column 1 (\"id\"), the label, has 30 values in 30 rows, which names rows rather than classes;"
                + " option label names another column, and option targets columns of real values"),
        warnings(file, Map.of("label", "id")));
  }

  @Test
  void shouldWarnOfLabelsAndColumnsThatAreProbablyMistakes() {
    Path file = prices("x,class\n1,1.0\n1,1\n1,NA\n1,x\n");

    assertEquals(
        List.of(
            file
                + ": column 1 (\"x\") has one value only, so other values cannot be scaled later;"
                + " option ignore leaves it out",
            file
                + ": column 2 (\"class\"), the label, is \"1.0\" in line 2 and \"1\" in line 3: two"
                + " classes, because labels stay as they are written",
            file
                + ": column 2 (\"class\"), the label, is \"NA\" in line 4, which is a class of its"
                + " own, not a missing value"),
        warnings(file, Map.of("label", "class")));
  }

  @Test
  void shouldWarnWhenLineOneContradictsOptionHeader() {
    Path file = prices("1,2.5,3.5\n0,1.5,7\n1,3,4\n");

    assertEquals(
        List.of(file + ": line 1 is not a sample (option header), but holds numbers: 1, 2.5, 3.5"),
        warnings(file, Map.of("header", true)));
    prices("label,0,1\n0,1.5,7\n1,3,4\n");
    assertEquals(List.of(), warnings(file, Map.of("header", true)), "columns that are counted");
    prices("size,class\nbig,a\nsmall,b\nbig,b\n");
    assertEquals(
        List.of(
            file
                + ": line 1 is a sample, but none of its values stands in another line; if it holds"
                + " names, set option header to true"),
        warnings(file, Map.of("label", 2, "categories", 1)));
  }

  private static List<String> warnings(Path data, Map<String, Object> options) {
    return new CsvProvider().warnings(SampleFiles.in("csv", data, options));
  }

  @Test
  void shouldReadDecimalCommasWhenTheOptionSaysSo() {
    Path file = prices("a;b;class\n3,14;-,5e1;x\n2;1,0;y\n0;0;y\n");
    Map<String, Object> options =
        Map.of(
            "label",
            "class",
            "separator",
            ";",
            "decimal",
            ",",
            "normalization",
            "raw",
            "testShare",
            0.4);

    Dataset train = ofFile(file, Split.TRAIN, options, Map.of());

    assertArrayEquals(new float[] {3.14f, -50}, sample(line("3,14;-50", train, options), 0));
    assertEquals(
        "\"3.14;1\": column 1 is \"3.14\", expected a number; if '.' is its decimal mark, set option"
            + " decimal to \".\"",
        refused(() -> line("3.14;1", train, options)));
    assertEquals(
        file
            + ":2: column 1 (\"a\") is \"3,14\", expected a number; if ',' is its decimal mark, set"
            + " option decimal to \",\"",
        refused(
            () -> ofFile(file, Split.TRAIN, Map.of("label", "class", "separator", ";"), Map.of())));
    assertEquals(
        "data set 'csv': decimal is \",\", the separator too, expected another one, such as"
            + " data.separator \";\"",
        setting(Map.of("decimal", ",")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "label"})
  void shouldFindColumnsOfTheTestFileByTheirNames(String key) {
    Map<String, Object> options =
        key.equals("header") ? Map.of("header", true) : Map.of("label", "class", "classes", 2);
    train("class,a,b\n0,10,20\n1,11,21\n");
    write(
        folder.resolve("test.csv"),
        "\uFEFFmore, \"b\" ,class,a \r\n9,20,0,10\r\n9,21,1,11\r\n"
            .getBytes(StandardCharsets.UTF_8));

    Dataset test = open(Split.TEST, options);

    assertEquals(2, test.size());
    assertArrayEquals(new float[] {10, 20}, sample(test, 0));
    assertEquals(1, test.label(1));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "0,0,0 | :1: holds 0, 0, 0, none of which is a column of the training; expected a first line"
            + " that names class, a, b",
        "class,a,c | :1: has no column \"b\", expected those of the training: class, a, b; line 1"
            + " holds class, a, c",
        "a,b | :1: has no column \"class\", expected those of the training: class, a, b; line 1 holds"
            + " a, b",
        "class,a,b,b | :1: column \"b\" stands twice, here or in the training, expected its name once"
            + " or the training's first line: class, a, b",
        "CLASS,A,B | :1: holds CLASS, A, B, none of which is a column of the training; expected a"
            + " first line that names class, a, b"
      })
  void shouldRefuseATestFileWhoseFirstLineIsNotTheHeader(String line, String refused) {
    train("class,a,b\n0,10,20\n1,11,21\n");
    Path test =
        write(
            folder.resolve("test.csv"),
            (line + "\n" + "1,".repeat(line.split(",").length - 1) + "1\n").getBytes());

    assertEquals(
        test + refused, refused(() -> open(Split.TEST, Map.of("header", true))), "by number");
    assertEquals(
        test + refused,
        refused(() -> open(Split.TEST, Map.of("label", "class", "classes", 2))),
        "by name");
  }

  @Test
  void shouldRefuseAHeaderWhereTheTrainingFileHasNone() {
    train("0,10,20\n1,11,21\n");
    Path test = write(folder.resolve("test.csv"), "class,a,b\n0,1,2\n".getBytes());

    assertEquals(
        test
            + ":1: column 2 is \"a\", expected a number; the training file has no names in line 1, so"
            + " no other may have them",
        refused(() -> open(Split.TEST, Map.of())));
    write(test, "0,1\n".getBytes());
    assertEquals(
        test + ":1: 2 columns, expected 3 as in training",
        refused(() -> open(Split.TEST, Map.of())));
  }

  @Test
  void shouldAcceptRepeatedNamesOnlyFromTheSameHeader() {
    train("class,a,a\n0,10,20\n1,11,21\n");
    Path test = write(folder.resolve("test.csv"), "class,a,a\n0,1,2\n".getBytes());
    assertArrayEquals(new float[] {1, 2}, sample(open(Split.TEST, Map.of("header", true)), 0), 0);

    write(test, "a,class\n1,0\n".getBytes());

    assertTrue(
        refused(() -> open(Split.TEST, Map.of("header", true))).contains("\"a\" stands twice"));
  }

  @Test
  void shouldRefuseARepeatedHeader() {
    Path file = prices("colour,class\nred,a\ncolour,class\nblue,b\n");

    assertEquals(
        file + ":3: holds the names of line 1 again, expected a sample",
        refused(
            () ->
                ofFile(
                    file,
                    Split.TRAIN,
                    Map.of("label", "class", "categories", "colour"),
                    Map.of())));
  }

  private static Dataset line(String line, Dataset train, Map<String, Object> options) {
    return new CsvProvider()
        .unlabelled(
            new DataConfig("csv", Optional.empty(), Optional.empty(), options)
                .fitted(new JsonObject(new JsonObject(train.fitted()).encode()).getMap()),
            line,
            train.shape());
  }

  private Path prices(String text) {
    return write(folder.resolve("prices.csv"), text.getBytes(StandardCharsets.UTF_8));
  }

  private static Dataset ofFile(
      Path file, Split split, Map<String, Object> options, Map<String, Object> fitted) {
    return new CsvProvider().open(SampleFiles.in("csv", file, options).fitted(fitted), split);
  }

  private static List<String> names(Path file, Map<String, Object> options) {
    return new CsvProvider().classNames(SampleFiles.in("csv", file, options));
  }

  private Dataset line(String line, Map<String, Object> fitted) {
    return new CsvProvider().unlabelled(asked(fitted), line, List.of(5));
  }

  private Dataset unlabelled(Path file, Map<String, Object> fitted) {
    return new CsvProvider().unlabelled(asked(fitted), file, List.of(5));
  }

  /** Returns the configuration as in a saved model, without the folder of the data. */
  private static DataConfig asked(Map<String, Object> fitted) {
    return new DataConfig("csv", Optional.empty(), Optional.empty(), OF_PRICES).fitted(fitted);
  }

  private static String refused(Executable work) {
    return assertThrows(DataException.class, work).getMessage();
  }

  private Path train(String text) {
    return write(folder.resolve("train.csv"), text.getBytes(StandardCharsets.UTF_8));
  }

  private Dataset open(Split split, Map<String, Object> options) {
    return new CsvProvider().open(SampleFiles.in("csv", folder, options), split);
  }

  private String refusal(Map<String, Object> options) {
    return assertThrows(DataException.class, () -> open(Split.TRAIN, options)).getMessage();
  }

  private String setting(Map<String, Object> options) {
    return assertThrows(SettingsException.class, () -> open(Split.TRAIN, options)).getMessage();
  }

  private static float[] sample(Dataset dataset, int index) {
    float[] values = new float[dataset.shape().stream().reduce(1, Math::multiplyExact)];
    dataset.read(index, values, 0);
    return values;
  }
}
