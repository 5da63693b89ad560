/** The data set {@code stream}: events of files, the bus and Kafka. */
module io.vertigrad.streams {
  requires transitive io.vertigrad.compute;
  requires com.fasterxml.jackson.core;
  // Of kafka.clients, an automatic module, which cannot declare them.
  requires java.management;
  requires java.security.jgss;
  requires java.security.sasl;
  requires kafka.clients;
  requires org.slf4j;

  exports io.vertigrad.streams;

  uses io.vertigrad.streams.EventSource;

  provides io.vertigrad.compute.data.DatasetProvider with
      io.vertigrad.streams.internal.StreamProvider;
  provides io.vertigrad.streams.EventSource with
      io.vertigrad.streams.internal.FileSource,
      io.vertigrad.streams.internal.BusSource,
      io.vertigrad.streams.internal.KafkaSource;
}
