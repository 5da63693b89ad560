/** Models, engines, optimizers and data sets as small interfaces. */
module io.vertigrad.compute {
  requires transitive io.vertigrad.codecs;
  requires com.fasterxml.jackson.core;
  requires com.google.protobuf;
  requires de.siegmar.fastcsv;
  requires java.desktop;
  requires java.net.http;
  requires org.apache.commons.text;
  requires org.slf4j;

  exports io.vertigrad.compute;
  exports io.vertigrad.compute.data;
  exports io.vertigrad.compute.data.files;
  exports io.vertigrad.compute.formats;
  exports io.vertigrad.compute.optimizer;
  exports io.vertigrad.compute.pipeline;
  exports io.vertigrad.compute.settings;

  uses io.vertigrad.compute.Engine;
  uses io.vertigrad.compute.data.DatasetProvider;

  provides io.vertigrad.compute.data.DatasetProvider with
      io.vertigrad.compute.data.digits.DigitsProvider,
      io.vertigrad.compute.data.shapes.ShapesProvider,
      io.vertigrad.compute.data.files.MnistProvider,
      io.vertigrad.compute.data.files.Cifar10Provider,
      io.vertigrad.compute.data.files.CsvProvider,
      io.vertigrad.compute.data.files.ImagesProvider,
      io.vertigrad.compute.data.files.TextProvider;
}
